"""Process models as rivals: calibrated for each site on the training days, then run through all days."""

from functools import partial

import numpy as np
import pandas as pd
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from mclstm.data.features import PET, celsius
from mclstm.data.series import covered, names
from mclstm.data.units import parse
from mclstm.errors import DataError
from mclstm.evaluation.rivals import Record, Weather
from mclstm.models.process import PROCESS_MODELS
from mclstm.models.process.calibration import CALIBRATIONS
from mclstm.models.process.process_model import Forcing, flow, season_of

__all__ = ["PROCESS_RIVALS", "weather_of"]

Floats = NDArray[np.float64]
YEAR = 365  # days before the training period that fill the stores


def weather_of(series: xr.Dataset, tmax: str, tmin: str) -> Weather:
    """The weather of a series that has `pet` and one target; all its masses are precipitation."""
    outlets = names(series, "target")
    if len(outlets) != 1:
        raise DataError(f"evaluation.against: process models predict one target, not {', '.join(outlets)}.")
    for name in [*names(series, "mass"), *outlets]:
        unit = str(series[name].attrs.get("units", ""))
        if unit and parse(unit) != parse("mm/day"):
            raise DataError(
                f"evaluation.against: process models need mm/day, but {name} is in {unit}. "
                "Convert it with data.target_unit or data.convert."
            )
    rain = np.sum([series[name].to_numpy() for name in names(series, "mass")], axis=0)
    columns = (rain, (celsius(series, tmax) + celsius(series, tmin)) / 2, series[PET].to_numpy())
    return Weather(*(np.where(covered(series).to_numpy(), column, 0.0) for column in columns))


def process_rival(
    record: Record, train: NDArray[np.bool_], *, model: str, method: str, **search: int
) -> Floats:
    """The flow of a model with parameters of each site, (S, T, 1); NaN at sites whose flow never changes.

    Only observations of the training days, train (T,), are used. The year before them fills the stores.
    search: options of the calibration
    """
    if record.weather is None:
        raise DataError(f"{model} needs the weather of the record. Give its field weather.")
    observed = np.where(train, record.y[..., 0], np.nan)
    taught = np.array([len(np.unique(row[np.isfinite(row)])) > 1 for row in observed])
    result = np.full_like(record.y, np.nan)
    if not taught.any():
        return result
    forcing = _forcing(Weather(*(column[taught] for column in record.weather)), record.time)
    inside = np.flatnonzero(train)
    days = slice(max(0, inside[0] - YEAR), inside[-1] + 1)
    first = Forcing(*(column[days] for column in forcing))
    fit = CALIBRATIONS[method](PROCESS_MODELS[model], first, _tensor(observed[taught])[days], **search)
    with torch.no_grad():
        simulated = flow(PROCESS_MODELS[model], fit.parameters, forcing)
    result[taught, :, 0] = simulated.T.numpy()
    return result


def _forcing(weather: Weather, time: pd.DatetimeIndex) -> Forcing:
    rain, temperature, pet = (_tensor(column) for column in weather)
    season = season_of(_tensor(np.asarray(time.day_of_year, dtype=np.float64)[np.newaxis]))
    # South of the equator evapotranspiration is highest when it is winter in the north.
    north = torch.where((pet * season).sum(0) < 0, -1.0, 1.0)
    return Forcing(rain, temperature, pet, season * north)


def _tensor(columns: Floats) -> Tensor:
    """(S, T) -> (T, S) in float32: half the time of float64, and calibration needs no more digits."""
    return torch.tensor(columns.T, dtype=torch.float32)


PROCESS_RIVALS: dict[str, partial[Floats]] = {
    "hbv-gradient": partial(process_rival, model="hbv", method="gradient"),
    "hbv-evolution": partial(process_rival, model="hbv", method="evolution"),
    "sac-sma-gradient": partial(process_rival, model="sac-sma", method="gradient"),
    "sac-sma-evolution": partial(process_rival, model="sac-sma", method="evolution"),
}
