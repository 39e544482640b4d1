"""Process models as rivals: calibrated for each site on the training days, then run through all days."""

from typing import NamedTuple

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
from mclstm.models.process import PROCESS_MODELS
from mclstm.models.process.calibration import CALIBRATIONS
from mclstm.models.process.process_model import Forcing, flow, season_of

__all__ = ["Weather", "calibrated_flow", "weather_of"]

Floats = NDArray[np.float64]
YEAR = 365  # days before the training period that fill the stores


class Weather(NamedTuple):
    """What process models see, each (S, T); 0 where a site has no inputs."""

    precipitation: Floats  # mm/day
    temperature: Floats  # degC
    pet: Floats  # mm/day


def weather_of(series: xr.Dataset, tmax: str, tmin: str) -> Weather:
    """The weather of a series that has `pet`; all its masses are precipitation."""
    for name in [*names(series, "mass"), *names(series, "target")]:
        unit = str(series[name].attrs.get("units", ""))
        if unit and parse(unit) != parse("mm/day"):
            raise DataError(
                f"evaluation.against: process models need mm/day, but {name} is in {unit}. "
                "Convert it with data.target_unit or data.convert."
            )
    inside = covered(series).to_numpy()
    rain = sum(series[name].to_numpy() for name in names(series, "mass"))
    columns = (rain, (celsius(series, tmax) + celsius(series, tmin)) / 2, series[PET].to_numpy())
    return Weather(*(np.where(inside, column, 0.0) for column in columns))


def calibrated_flow(
    model: str,
    method: str,
    weather: Weather,
    observed: Floats,  # (S, T) mm/day, NaN where not observed
    time: pd.DatetimeIndex,  # (T,)
    train: NDArray[np.bool_],  # (T,)
) -> Floats:
    """The flow of all days, (S, T), with parameters of each site; NaN at sites whose flow never changes.

    Only observations of the training days are used. The year before them fills the stores.
    """
    known = np.where(train & np.isfinite(observed), observed, np.nan)
    taught = np.isfinite(known).any(1) & (np.nan_to_num(known, nan=-np.inf).max(1) > _lowest(known))
    result = np.full_like(observed, np.nan)
    if taught.any():
        forcing = _forcing(Weather(*(column[taught] for column in weather)), time)
        inside = np.flatnonzero(train)
        days = slice(max(0, inside[0] - YEAR), inside[-1] + 1)
        fit = CALIBRATIONS[method](
            PROCESS_MODELS[model],
            Forcing(*(column[days] for column in forcing)),
            _tensor(known[taught])[days],
        )
        with torch.no_grad():
            simulated = flow(PROCESS_MODELS[model], fit.parameters, forcing)
        result[taught] = simulated.T.double().numpy()
    return result


def _lowest(known: Floats) -> Floats:
    return np.nan_to_num(known, nan=np.inf).min(1)


def _forcing(weather: Weather, time: pd.DatetimeIndex) -> Forcing:
    rain, temperature, pet = (_tensor(column) for column in weather)
    season = season_of(_tensor(np.asarray(time.dayofyear, dtype=np.float64)[np.newaxis]))
    # South of the equator evapotranspiration is highest when it is winter in the north.
    north = torch.where((pet * season).sum(0) < 0, -1.0, 1.0)
    return Forcing(rain, temperature, pet, season * north)


def _tensor(columns: Floats) -> Tensor:
    """(S, T) -> (T, S) in float32: half the time of float64, and calibration needs no more digits."""
    return torch.tensor(columns.T, dtype=torch.float32)
