"""Simulations of other models, read from a folder of files and scored like a run (`--simulations`).

    <model>.nc                     variable `simulated` over (site, time), in any order; a unit is optional
    <model>.csv                    columns date, site, simulated; or date and `simulated.<site>` per site
    <site>_benchmark_models.nc     one variable per model over `index`, as Kratzert (2019) shares them

The first two are read by the readers of `data`. The predictions.nc of a run has the first form.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from mclstm.data.columns import listed, require_columns
from mclstm.data.findings import raise_first
from mclstm.data.readers import SUFFIXES, detect, load
from mclstm.data.readers.netcdf import open_netcdf, split_by_site
from mclstm.data.site_tables import Request, Table
from mclstm.data.units import factor
from mclstm.errors import DataError
from mclstm.evaluation.comparison import COMPARED, ModelScores
from mclstm.evaluation.metrics import score
from mclstm.evaluation.published_scores import MODEL_NAMES

__all__ = ["score_simulations"]

NAME = "simulated"
BY_SITE = "_benchmark_models.nc"
OBSERVED = "QObs"  # beside the models in those files


def score_simulations(folder: Path, observed: xr.DataArray) -> tuple[list[ModelScores], list[str]]:
    """The models of a folder, scored at every site they simulate completely, and notes on the other sites.

    observed: (site, time); simulations that state no unit are taken to be in its unit
    """
    sites = {str(site): row for row, site in enumerate(observed["site"].to_numpy())}
    days = pd.DatetimeIndex(observed["time"].to_numpy())
    rows: dict[str, dict[str, dict[str, float]]] = {}
    incomplete: dict[str, list[str]] = {}
    for model, table in _tables(folder, str(observed.attrs.get("units", "")), list(sites)):
        series = observed.isel(site=sites[table.site]).to_numpy()
        simulated = _during(table, days)
        if (np.isnan(simulated) & ~np.isnan(series)).any():
            incomplete.setdefault(model, []).append(table.site)
        else:
            rows.setdefault(model, {})[table.site] = score(simulated, series, COMPARED)
    if not rows:
        raise DataError(
            f"{folder} simulates no site of the runs on all their days. Name sites and dates as they do."
        )
    frames = {model: pd.DataFrame.from_dict(by_site, orient="index").rename_axis("site")
              for model, by_site in rows.items()}  # fmt: skip
    known = set(MODEL_NAMES.values())
    models = [ModelScores(name, (frame,), True if name in known else None) for name, frame in frames.items()]
    notes = [f"{model} lacks days of {len(gaps)} sites, which are left out: {listed(gaps)}."
             for model, gaps in incomplete.items()]  # fmt: skip
    for name, frame in frames.items():
        missing = [site for site in sites if site not in [*frame.index, *incomplete.get(name, [])]]
        if missing:
            notes.append(f"{name} lacks {len(missing)} of {len(sites)} sites: {listed(missing)}.")
    return models, notes


def _tables(folder: Path, unit: str, sites: list[str]) -> Iterator[tuple[str, Table]]:
    """The simulations of these sites with the names of their models, in the unit of the observations."""
    files = [file for file in sorted(folder.glob("*")) if file.suffix.lower() in SUFFIXES and file.is_file()]
    if not files:
        raise DataError(f"{folder} holds no .nc, .csv or .parquet file. Put one file per model into it.")
    for file in files:
        if file.name.endswith(BY_SITE):
            if file.name.removesuffix(BY_SITE) in sites:
                yield from _site_file(file)
            continue
        tables, stated_unit = _model_file(file)
        scale = float(factor(stated_unit or unit, unit))
        for table in tables:
            if table.site in sites:
                yield _model_name(file.stem), table._replace(values={NAME: scale * table.values[NAME]})


def _model_name(name: str) -> str:
    return MODEL_NAMES.get(name, name.lower().replace("_", "-"))


def _model_file(file: Path) -> tuple[list[Table], str]:
    """The sites of one model's file and the unit it states, if any."""
    request = Request(dynamic=(NAME,))
    if detect(file) != "netcdf":
        raw = load(file, "auto", request)
        raise_first(raw.findings)
        return raw.tables, raw.units.get(NAME, "")
    data = open_netcdf(file)
    require_columns(map(str, data.data_vars), [NAME], str(file))
    only = data[[NAME]]  # predictions of a run also have stores, with other dimensions
    raw = split_by_site(only, file, request)
    raise_first(raw.findings)
    return raw.tables, raw.units.get(NAME, "")


def _site_file(file: Path) -> Iterator[tuple[str, Table]]:
    """The models of one basin's file, in mm/day as all of them are."""
    (table,) = load(file, "netcdf", Request(time="index")).tables
    for column, values in table.values.items():
        if column != OBSERVED:
            site = file.name.removesuffix(BY_SITE)
            yield _model_name(column), table._replace(site=site, values={NAME: values})


def _during(table: Table, days: pd.DatetimeIndex) -> np.ndarray:
    """The simulation on these days, (T,), NaN where it has none."""
    if not table.times.is_unique:
        raise DataError(f"{table.file}, site {table.site} has a date twice. Keep one row per date.")
    return pd.Series(table.values[NAME], index=table.times).reindex(days).to_numpy(np.float64)
