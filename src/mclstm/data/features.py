"""Auxiliary inputs computed from others: season, time of day and week, trailing means, evapotranspiration.

They steer the gates like every auxiliary input and add no mass.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from mclstm.data.clock import PERIODS, day_of_year, season, step_length, time_of_step
from mclstm.data.series import names
from mclstm.data.units import TEMPERATURES, convert, parse
from mclstm.errors import DataError

__all__ = [
    "PET", "SEASON", "antecedent_names", "celsius", "clock_names", "extraterrestrial", "hargreaves",
    "in_celsius", "require_latitudes", "trailing_mean", "with_antecedent", "with_clock", "with_pet",
    "with_season",
]  # fmt: skip

SEASON = ("season_sine", "season_cosine")
PET = "pet"
WEEKEND = "weekend"
SOLAR = 0.0820  # MJ m-2 min-1
MM = 0.408  # mm of water that 1 MJ m-2 evaporates


def with_season(series: xr.Dataset) -> xr.Dataset:
    """The series with sin and cos of 2π (day of year) / 365.25 as auxiliary inputs of every site.

    >>> time = pd.date_range("2001-01-01", periods=2)
    >>> plain = xr.Dataset(coords={"site": ("site", ["A"]), "time": ("time", time)})
    >>> sorted(with_season(plain).data_vars)
    ['season_cosine', 'season_sine']
    """
    taken = [name for name in SEASON if name in series]
    if taken:
        raise DataError(f"the data already has a column {taken[0]!r}. Rename it, or turn day_of_year off.")
    series = series.copy()
    for name, wave in zip(SEASON, season(series["time"].to_numpy()), strict=True):
        values = np.repeat(wave[np.newaxis], series.sizes["site"], axis=0)
        series[name] = (("site", "time"), values, {"role": "aux", "units": "1", "source": "day of year"})
    return series


def clock_names(time_of_day: int, time_of_week: int, weekend: bool) -> list[str]:
    """The names of the inputs that tell the time, in the order in which a model sees them.

    >>> clock_names(1, 0, weekend=True)
    ['day_sine_1', 'day_cosine_1', 'weekend']
    """
    counts = {"day": time_of_day, "week": time_of_week}
    waves = [
        f"{each}_{wave}_{n}"
        for each, count in counts.items()
        for n in range(1, count + 1)
        for wave in ("sine", "cosine")
    ]
    return [*waves, WEEKEND] if weekend else waves


def with_clock(series: xr.Dataset, time_of_day: int, time_of_week: int, weekend: bool) -> xr.Dataset:
    """The series with sin and cos of 2π n t / P, n = 1 ... N, for a day and a week P, and the weekend.

    >>> time = pd.date_range("2001-01-01", periods=3, freq="6h")
    >>> plain = xr.Dataset(coords={"site": ("site", ["A"]), "time": ("time", time)})
    >>> with_clock(plain, 1, 0, weekend=False).day_sine_1.to_numpy().round(3).tolist()
    [[0.0, 1.0, 0.0]]
    """
    times = pd.DatetimeIndex(series["time"].to_numpy())
    for each, count in (("day", time_of_day), ("week", time_of_week)):
        if count:
            _require_resolved(times, each, count)
    columns = time_of_step(series["time"].to_numpy(), time_of_day, time_of_week, weekend)
    added = {}
    for name, values in zip(clock_names(time_of_day, time_of_week, weekend), columns, strict=True):
        if name in series:
            raise DataError(f"the data already has a column {name!r}. Rename it, or change {_key(name)}.")
        everywhere = np.repeat(values[np.newaxis], series.sizes["site"], axis=0)
        added[name] = (("site", "time"), everywhere, {"role": "aux", "units": "1", "source": "time"})
    return series.assign(added)


def _key(name: str) -> str:
    return WEEKEND if name == WEEKEND else f"time_of_{name.split('_')[0]}"


def _require_resolved(times: pd.DatetimeIndex, each: str, count: int) -> None:
    """Refuse harmonics that the steps cannot tell apart: count of them need 2 count + 1 steps in a period."""
    step = step_length(times)
    steps = PERIODS[each] // step if step else 0
    if len(times) > 1 and steps < 2 * count + 1:
        raise DataError(
            f"time_of_{each}: {count} needs {2 * count + 1} steps in a {each} or more; the data has {steps}. "
            "Choose fewer harmonics, or leave it out."
        )


def antecedent_names(columns: Iterable[str], steps: Sequence[int]) -> list[str]:
    """The names of the trailing means, in the order in which a model sees them.

    >>> antecedent_names(["rain"], [7, 30])
    ['rain_mean_7', 'rain_mean_30']
    """
    return [f"{column}_mean_{many}" for column in columns for many in steps]


def trailing_mean(values: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """m_t = mean of the values present among x_{t-n+1} ... x_t.

    values: (site, time), NaN where there is none -> (site, time), NaN at the same places

    >>> trailing_mean(np.array([[np.nan, 1.0, 3.0, 5.0]]), 2).tolist()
    [[nan, 1.0, 2.0, 4.0]]
    """
    present = np.isfinite(values)
    total, count = (
        np.cumsum(np.pad(part, ((0, 0), (1, 0))), axis=1, dtype=np.float64)
        for part in (np.where(present, values, 0.0), present)
    )
    first = np.maximum(np.arange(values.shape[1]) + 1 - steps, 0)
    with np.errstate(invalid="ignore"):
        mean = (total[:, 1:] - total[:, first]) / (count[:, 1:] - count[:, first])
    return np.where(present, mean, np.nan)


def with_antecedent(series: xr.Dataset, steps: Sequence[int]) -> xr.Dataset:
    """The series with trailing means of its mass and auxiliary inputs as further auxiliary inputs.

    The gates of an MC-LSTM see the shares of its stores, not how much they hold. Means over weeks and months
    tell them how wet it was.
    """
    added = {}
    for column in [*names(series, "mass"), *names(series, "aux")]:
        values, units = series[column].to_numpy(), series[column].attrs["units"]
        for many, name in zip(steps, antecedent_names([column], steps), strict=True):
            if name in series:
                raise DataError(f"the data already has a column {name!r}. Rename it, or change antecedent.")
            about = {"role": "aux", "units": units, "source": f"mean of {column} over {many} steps"}
            added[name] = (("site", "time"), trailing_mean(values, many), about)
    return series.assign(added)


def extraterrestrial(latitude: NDArray[np.float64], day: NDArray[np.int64]) -> NDArray[np.float64]:
    """Ra = 1440/π Gs d (ω sin φ sin δ + cos φ cos δ sin ω), MJ m-2 day-1: sunshine above the clouds.

    latitude: φ in degrees north, (site,) · day: of the year, (time,) -> (site, time)

    FAO-56 (Allen et al. 1998), equations 21 to 25. Its example 8, 20° south on the 3rd of September:

    >>> extraterrestrial(np.array([-20.0]), np.array([246])).round(1).item()
    32.2
    """
    angle = 2 * np.pi * day / 365
    distance, declination = 1 + 0.033 * np.cos(angle), 0.409 * np.sin(angle - 1.39)
    phi = np.deg2rad(latitude)[:, np.newaxis]
    # Beyond the polar circles the sun may not rise, or not set.
    sunset = np.arccos(np.clip(-np.tan(phi) * np.tan(declination), -1.0, 1.0))
    upright = sunset * np.sin(phi) * np.sin(declination)
    slanted = np.cos(phi) * np.cos(declination) * np.sin(sunset)
    result: NDArray[np.float64] = 1440 / np.pi * SOLAR * distance * (upright + slanted)
    return np.maximum(result, 0.0)


def hargreaves(
    tmax: NDArray[np.float64], tmin: NDArray[np.float64], radiation: NDArray[np.float64]
) -> NDArray[np.float64]:
    """PET = 0.0023 (T + 17.8) √(Tmax - Tmin) 0.408 Ra, mm/day, T the mean of both; never below 0.

    tmax, tmin: degC · radiation: Ra in MJ m-2 day-1, all of one shape

    Hargreaves and Samani (1985). It needs no measured radiation, which some products average over the day and
    others over daylight. Example 20 of FAO-56, July in Lyon:

    >>> hargreaves(np.array(26.6), np.array(14.8), np.array(40.55)).round(1).item()
    5.0
    """
    warm = np.maximum((tmax + tmin) / 2 + 17.8, 0.0)
    return 0.0023 * warm * np.sqrt(np.maximum(tmax - tmin, 0.0)) * MM * radiation


def with_pet(series: xr.Dataset, tmax: str, tmin: str, latitude: float | str) -> xr.Dataset:
    """The series with `pet`, mm/day, as an auxiliary input; the two temperatures are auxiliary inputs too.

    latitude: degrees north, or the attribute that holds it
    """
    if PET in series:
        raise DataError(f"the data already has a column {PET!r}. Rename it, or remove data.pet.")
    if series.attrs.get("step") not in ("D", ""):  # one row alone has no step
        step = series.attrs["step"]
        raise DataError(f"data.pet needs days, but the data has steps of {step}. Remove data.pet.")
    if isinstance(latitude, str) and latitude not in series:
        raise DataError(f"data.pet: the data has no attribute {latitude!r}. Give latitude in degrees north.")
    north = series[latitude].to_numpy() if isinstance(latitude, str) else np.array([latitude])
    everywhere = np.broadcast_to(require_latitudes(north, latitude), series.sizes["site"])
    radiation = extraterrestrial(everywhere, day_of_year(series["time"].to_numpy()))
    values = hargreaves(celsius(series, tmax), celsius(series, tmin), radiation)
    about = {"role": "aux", "units": "mm/day", "source": f"Hargreaves of {tmax}, {tmin} and latitude"}
    return series.assign({PET: (("site", "time"), values, about)})


def require_latitudes(north: NDArray[np.float64], name: float | str) -> NDArray[np.float64]:
    """The latitudes themselves, (site,); refused where one is not between the poles."""
    if not (np.abs(north) <= 90).all():
        raise DataError(f"data.pet: {name} is no latitude at every site. Give degrees from -90 to 90.")
    return north.astype(np.float64)


def celsius(series: xr.Dataset, name: str) -> NDArray[np.float64]:
    """A temperature in degC; without a unit it is taken to be in degC."""
    return in_celsius(series[name].to_numpy(), str(series[name].attrs.get("units", "")), name)


def in_celsius(values: NDArray[np.float64], unit: str, name: str) -> NDArray[np.float64]:
    """Values of any shape in a unit of temperature, or in none, as degC; `name` is for the message.

    >>> in_celsius(np.array([273.15]), "K", "tmax").tolist()
    [0.0]
    """
    if unit and parse(unit).amount not in TEMPERATURES:
        raise DataError(f"data.pet needs temperatures, but {name} is in {unit}. Name another column.")
    converted: NDArray[np.float64] = convert(values, unit, "degC", role="aux") if unit else values
    return converted
