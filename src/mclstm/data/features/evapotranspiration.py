"""Potential evapotranspiration as an auxiliary, computed from temperature, date and latitude.

Hargreaves and Samani (1985), with the extraterrestrial radiation of FAO-56 (Allen et al. 1998, equations 21
to 25 and 52). It needs no measured radiation, which some products average over the day, others over daylight.
"""

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from mclstm.data.units import TEMPERATURES, convert, parse
from mclstm.errors import DataError

__all__ = ["PET", "extraterrestrial", "hargreaves", "with_pet"]

PET = "pet"
SOLAR = 0.0820  # MJ m-2 min-1
MM = 0.408  # mm of water that 1 MJ m-2 evaporates


def extraterrestrial(latitude: NDArray[np.float64], day: NDArray[np.int64]) -> NDArray[np.float64]:
    """Ra = 1440/π Gs d (ω sin φ sin δ + cos φ cos δ sin ω), MJ m-2 day-1: sunshine above the clouds.

    latitude: φ in degrees north, (site,) · day: of the year, (time,) -> (site, time)

    Example 8 of FAO-56, 20° south on the 3rd of September:

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

    tmax, tmin: degC · radiation: Ra in MJ m-2 day-1, any one shape

    Example 20 of FAO-56, July in Lyon:

    >>> hargreaves(np.array(26.6), np.array(14.8), np.array(40.55)).round(1).item()
    5.0
    """
    warm = np.maximum((tmax + tmin) / 2 + 17.8, 0.0)
    return 0.0023 * warm * np.sqrt(np.maximum(tmax - tmin, 0.0)) * MM * radiation


def with_pet(series: xr.Dataset, tmax: str, tmin: str, latitude: float | str) -> xr.Dataset:
    """The series with `pet`, mm/day, as an auxiliary; its two temperatures are among its auxiliaries.

    latitude: degrees north, or the attribute that holds it
    """
    if PET in series:
        raise DataError(f"the data already has a column {PET!r}. Rename it, or remove data.pet.")
    if series.attrs.get("step") not in ("D", ""):  # one row alone has no step
        raise DataError(
            f"data.pet is computed for days, but the data has steps of {series.attrs['step']}. "
            "Remove data.pet, or give daily data."
        )
    if isinstance(latitude, str) and latitude not in series:
        raise DataError(f"data.pet: the data has no attribute {latitude!r}. Give latitude in degrees north.")
    north = series[latitude].to_numpy() if isinstance(latitude, str) else np.array([latitude])
    if not (np.abs(north) <= 90).all():
        raise DataError(f"data.pet: {latitude} is no latitude at every site. Give degrees from -90 to 90.")
    days = pd.DatetimeIndex(series["time"].to_numpy()).day_of_year.to_numpy(np.int64)
    radiation = extraterrestrial(np.broadcast_to(north, series.sizes["site"]).astype(np.float64), days)
    values = hargreaves(_celsius(series, tmax), _celsius(series, tmin), radiation)
    about = {"role": "aux", "units": "mm/day", "source": f"Hargreaves of {tmax}, {tmin} and latitude"}
    return series.assign({PET: (("site", "time"), values, about)})


def _celsius(series: xr.Dataset, name: str) -> NDArray[np.float64]:
    """A temperature in degC; one without a unit is taken to be."""
    values: NDArray[np.float64] = series[name].to_numpy()
    unit = str(series[name].attrs.get("units", ""))
    if unit and parse(unit).amount not in TEMPERATURES:
        raise DataError(f"data.pet needs temperatures, but {name} is in {unit}. Name another column.")
    return convert(values, unit, "degC", role="aux") if unit else values
