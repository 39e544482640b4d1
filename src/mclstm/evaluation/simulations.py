"""Any model from its simulations: a folder with one file a model, scored against the observations of a run.

<model>.nc     variable `simulated` over (site, time), dimensions in any order, with a unit if it has one
<model>.csv    columns date, site, simulated; or date and one column `simulated.<site>` a site
The folder is read by the readers of `data`; our own predictions.nc has the same form.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from mclstm.data.finding import raise_first
from mclstm.data.guess import listed
from mclstm.data.readers import SUFFIXES, load
from mclstm.data.tables import Request, Table
from mclstm.data.units import factor
from mclstm.errors import DataError
from mclstm.evaluation.benchmarks import ALIASES
from mclstm.evaluation.comparison import COMPARED, Scored
from mclstm.evaluation.metrics import score

__all__ = ["simulations"]

NAME = "simulated"


def simulations(folder: Path, observed: xr.DataArray) -> tuple[list[Scored], list[str]]:
    """The models of a folder, scored on every site they have, and a note for each that lacks some."""
    files = [file for file in sorted(folder.glob("*")) if file.suffix.lower() in SUFFIXES and file.is_file()]
    if not files:
        raise DataError(f"{folder} holds no .nc, .csv or .parquet file. Put one file a model into it.")
    models, notes = [], []
    for file in files:
        frame = _scores(file, observed)
        name = ALIASES.get(file.stem, file.stem.lower().replace("_", "-"))
        missing = [str(site) for site in observed["site"].to_numpy() if str(site) not in frame.index]
        if missing:
            notes.append(f"{file.name} lacks {len(missing)} sites: {listed(missing)}.")
        models.append(Scored(name, (frame,), True if file.stem in ALIASES else None))
    return models, notes


def _scores(file: Path, observed: xr.DataArray) -> pd.DataFrame:
    raw = load(file, "auto", Request(dynamic=(NAME,)))
    raise_first(raw.findings)
    unit = str(observed.attrs.get("units", ""))
    scale = float(factor(raw.units.get(NAME, unit), unit))
    days = pd.DatetimeIndex(observed["time"].to_numpy())
    wanted = {str(site): row for row, site in enumerate(observed["site"].to_numpy())}
    rows = {}
    for table in raw.tables:
        if table.site in wanted:
            series = observed.isel(site=wanted[table.site]).to_numpy()
            rows[table.site] = score(scale * _during(table, days, series, file), series, COMPARED)
    if not rows:
        raise DataError(f"{file} holds none of the sites of the runs. Name sites as the runs do.")
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("site")


def _during(table: Table, days: pd.DatetimeIndex, observed: np.ndarray, file: Path) -> np.ndarray:
    """The simulation on the given days; every day that is observed must be simulated."""
    if not table.times.is_unique:
        raise DataError(f"{file}, site {table.site} has a date twice. Keep one row a date.")
    found = pd.Series(table.values[NAME], index=table.times).reindex(days).to_numpy(np.float64)
    missing = np.isnan(found) & ~np.isnan(observed)
    if missing.any():
        raise DataError(
            f"{file}, site {table.site} lacks {missing.sum()} days that are scored, the first of them "
            f"{days[missing][0].date()}. Give every day of the period."
        )
    return found
