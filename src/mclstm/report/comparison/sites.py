"""What the report needs of a run beyond its predictions: places, attributes, stores of single sites."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import xarray as xr

from mclstm.config import Config
from mclstm.data.readers import load
from mclstm.data.tables import Request
from mclstm.data.windows import span, tensors
from mclstm.errors import DataError
from mclstm.evaluation.simulate import simulate
from mclstm.from_config import open_run, read_series, warmup_of
from mclstm.training.state import load_weights

__all__ = ["PET", "PLACE", "attributes", "choosing_split", "periods_of", "temperature"]

PLACE = {"gauge_lat": "lat", "gauge_lon": "lon"}  # as CAMELS and Caravan call them
PET = "pet_mean"  # mm/day, as both call it


def attributes(config: Config, data: Path | None) -> pd.DataFrame:
    """Columns lat, lon and pet_mean by site, those that the run's data has."""
    own = config.data
    request = Request(
        dynamic=tuple(own.mass), static=(*PLACE, PET), time=own.time, site=own.site, sites=tuple(own.sites),
        date_format=own.date_format, separator=own.separator, decimal=own.decimal, attributes=own.attributes,
    )  # fmt: skip
    table = load(data or Path(own.path), own.reader, request).attributes
    kept = [name for name in (*PLACE, PET) if name in table.columns]
    numbers = {PLACE.get(name, name): pd.to_numeric(table[name], errors="coerce") for name in kept}
    return pd.DataFrame(numbers, index=table.index)


def choosing_split(config: Config) -> str:
    """The period in which cells are chosen: never the one they are scored in."""
    return "train" if config.periods.validation is None else "validation"


def periods_of(path: Path, sites: list[str], splits: list[str], data: Path | None) -> list[xr.Dataset]:
    """The stores of a few sites in several periods, simulated anew: (site, time, cell) each.

    The temperature, where the data has one in degC, is added as `temperature` (site, time).
    """
    run = open_run(path)
    load_weights(run.folder.weights(), run.model, run.model_hash)
    chosen = run.config.data.model_copy(update={"sites": sites} | ({"path": str(data)} if data else {}))
    config = run.config.model_copy(update={"data": chosen})
    series = read_series(config, require_target=False)
    prepared = tensors(series, run.moments, torch.float32)
    found = []
    for split in splits:
        period = config.periods.pair(split)
        if period is None:
            raise DataError(f"{path} has no period {split}. Choose another, or add it to its config.")
        where = span(series, period, split)
        result = simulate(run.model, prepared, series, where, warmup_of(config)).predictions
        warmth = temperature(series.isel(time=slice(*where)), run.config.data.aux)
        found.append(result if warmth is None else result.assign(temperature=(("site", "time"), warmth)))
    return found


def temperature(series: xr.Dataset, aux: Sequence[str]) -> np.ndarray | None:
    """The mean of all auxiliaries in degC, (site, time), or None: of daily extremes it is the daily mean.

    aux: those to look at, for the mean of last month, if it is one, is not today's temperature
    """
    warm = [name for name in aux if series[name].attrs.get("units") == "degC"]
    return np.mean([series[name].to_numpy() for name in warm], axis=0) if warm else None
