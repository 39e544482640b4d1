"""The time of the year as two auxiliaries, for models that must know when snow melts or people travel."""

import numpy as np
import pandas as pd
import xarray as xr

from mclstm.errors import DataError

__all__ = ["SEASON", "with_season"]

SEASON = ("season_sine", "season_cosine")
DAYS = 365.25


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
    times = pd.DatetimeIndex(series["time"].to_numpy())
    angle = 2 * np.pi * (times.day_of_year + times.hour / 24).to_numpy(np.float64) / DAYS
    series = series.copy()
    for name, wave in zip(SEASON, (np.sin(angle), np.cos(angle)), strict=True):
        values = np.repeat(wave[np.newaxis], series.sizes["site"], axis=0)
        series[name] = (("site", "time"), values, {"role": "aux", "units": "1", "source": "day of year"})
    return series
