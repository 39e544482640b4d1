"""Any model from its simulations: a folder of files, scored against the observations of a run.

<model>.nc     variable `simulated` over (site, time), dimensions in any order, with a unit if it has one
<model>.csv    columns date, site, simulated; or date and one column `simulated.<site>` a site
<site>_benchmark_models.nc   a variable a model over `index`, as Kratzert (2019) shares them
The first two are read by the readers of `data`; our own predictions.nc has the first form.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from mclstm.data.checks.guess import listed, require_columns
from mclstm.data.finding import raise_first
from mclstm.data.readers import SUFFIXES, detect, load
from mclstm.data.readers.netcdf import open_netcdf, site_tables
from mclstm.data.tables import Request, Table
from mclstm.data.units import factor
from mclstm.errors import DataError
from mclstm.evaluation.benchmarks import ALIASES
from mclstm.evaluation.comparison import COMPARED, Scored
from mclstm.evaluation.metrics import score

__all__ = ["simulations"]

NAME = "simulated"
BY_SITE = "_benchmark_models.nc"
OBSERVED = "QObs"  # beside the models in those files


def simulations(folder: Path, observed: xr.DataArray) -> tuple[list[Scored], list[str]]:
    """The models of a folder, scored on every site they simulate completely, and notes on the others.

    observed: (site, time) with its unit, in which simulations are that state none
    """
    wanted = {str(site): row for row, site in enumerate(observed["site"].to_numpy())}
    days = pd.DatetimeIndex(observed["time"].to_numpy())
    rows: dict[str, dict[str, dict[str, float]]] = {}
    short: dict[str, list[str]] = {}
    for model, table in _tables(folder, str(observed.attrs.get("units", "")), list(wanted)):
        series = observed.isel(site=wanted[table.site]).to_numpy()
        simulated = _during(table, days)
        if (np.isnan(simulated) & ~np.isnan(series)).any():
            short.setdefault(model, []).append(table.site)
        else:
            rows.setdefault(model, {})[table.site] = score(simulated, series, COMPARED)
    if not rows:
        raise DataError(
            f"{folder} simulates no site of the runs on all their days. Name sites and dates as they do."
        )
    frames = {model: pd.DataFrame.from_dict(by_site, orient="index").rename_axis("site")
              for model, by_site in rows.items()}  # fmt: skip
    known = set(ALIASES.values())
    models = [Scored(name, (frame,), True if name in known else None) for name, frame in frames.items()]
    notes = [f"{model} lacks days of {len(sites)} sites, which are left out: {listed(sites)}."
             for model, sites in short.items()]  # fmt: skip
    return models, notes + [note for model in models for note in _absent(model, list(wanted), short)]


def _absent(model: Scored, sites: list[str], short: dict[str, list[str]]) -> list[str]:
    missing = [s for s in sites if s not in model.frames[0].index and s not in short.get(model.name, [])]
    return [f"{model.name} lacks {len(missing)} of {len(sites)} sites: {listed(missing)}."] if missing else []


def _tables(folder: Path, unit: str, sites: list[str]) -> Iterator[tuple[str, Table]]:
    """Every simulation of a wanted site, with the name of its model and one column, in the unit observed."""
    files = [file for file in sorted(folder.glob("*")) if file.suffix.lower() in SUFFIXES and file.is_file()]
    if not files:
        raise DataError(f"{folder} holds no .nc, .csv or .parquet file. Put one file a model into it.")
    for file in files:
        if file.name.endswith(BY_SITE):
            if file.name.removesuffix(BY_SITE) in sites:
                yield from _of_site(file)
            continue
        tables, own = _of_model(file)
        scale = float(factor(own or unit, unit))
        name = ALIASES.get(file.stem, file.stem.lower().replace("_", "-"))
        for table in tables:
            if table.site in sites:
                yield name, table._replace(values={NAME: scale * table.values[NAME]})


def _of_model(file: Path) -> tuple[list[Table], str]:
    """The sites of one model's file and the unit it states, if any."""
    request = Request(dynamic=(NAME,))
    if detect(file) != "netcdf":
        raw = load(file, "auto", request)
        raise_first(raw.findings)
        return raw.tables, raw.units.get(NAME, "")
    data = open_netcdf(file)
    require_columns(map(str, data.data_vars), [NAME], str(file))
    only = data[[NAME]]  # predictions of ours have stores beside it, with dimensions of their own
    tables, _, bad = site_tables(only, file, file.stem, request)
    raise_first(bad)
    return tables, str(only[NAME].attrs.get("units", ""))


def _of_site(file: Path) -> Iterator[tuple[str, Table]]:
    """The models of one basin's file, in mm/day as all of them are."""
    (table,) = load(file, "netcdf", Request(time="index")).tables
    for column, values in table.values.items():
        if column != OBSERVED:
            named = table._replace(site=file.name.removesuffix(BY_SITE), values={NAME: values})
            yield ALIASES.get(column, column.lower().replace("_", "-")), named


def _during(table: Table, days: pd.DatetimeIndex) -> np.ndarray:
    """The simulation on the given days, NaN where it has none."""
    if not table.times.is_unique:
        raise DataError(f"{table.file}, site {table.site} has a date twice. Keep one row a date.")
    return pd.Series(table.values[NAME], index=table.times).reindex(days).to_numpy(np.float64)
