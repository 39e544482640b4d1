"""The mean annual cycle of series, such as a model's losses and potential evapotranspiration, compared."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mclstm.explain.snow_cells import correlation

__all__ = ["CycleMatch", "annual_cycle", "by_month", "compare", "whole_years", "yearly_sum"]

# Days per month, averaged over leap years, January first.
DAYS = pd.Series([31, 28.25, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], index=range(1, 13))


class CycleMatch(NamedTuple):
    """How well one annual cycle follows another, the reference."""

    r: float  # Pearson's, of the twelve monthly means; NaN where one does not vary
    ratio: float  # yearly sum / yearly sum of the reference
    peak: int  # month of the highest mean, 1 is January
    reference_peak: int


def whole_years(days: pd.DatetimeIndex) -> slice:
    """The slice of days that makes up complete years, counted from the first day; empty below one year.

    A part of a year would give some months more weight in the mean than others.

    >>> whole_years(pd.date_range("1989-10-01", "1992-03-31"))
    slice(0, 730, None)
    """
    years = 0
    while len(days) and days[-1] >= days[0] + pd.DateOffset(years=years + 1) - pd.Timedelta(days=1):
        years += 1
    return slice(0, int(days.searchsorted(days[0] + pd.DateOffset(years=years))) if years else 0)


def by_month(days: pd.DatetimeIndex, series: dict[str, NDArray[np.float64]]) -> pd.DataFrame:
    """The mean of each series (T,) in the twelve months, October first as in the water year.

    >>> days = pd.date_range("2001-01-01", "2001-12-31")
    >>> by_month(days, {"snow": days.month.to_numpy(float)})["snow"].head(2).to_dict()
    {10: 10.0, 11: 11.0}
    """
    mean = pd.DataFrame(series, index=days).groupby(days.month).mean()
    order = [*range(10, 13), *range(1, 10)]
    return mean.reindex(order).rename_axis("month")


def annual_cycle(daily: pd.DataFrame) -> pd.DataFrame:
    """Daily means of every column by month, October first, over whole years and days where all are known.

        mean_m = (1 / n_m) sum_{t in month m} x_t

    daily: one column per series, sorted days as index, mm/day. A month without any such day is NaN.

    >>> days = pd.date_range("2001-01-01", "2002-06-30")
    >>> cycle = annual_cycle(pd.DataFrame({"pet": days.month * 1.0}, index=days))
    >>> cycle["pet"].tolist()
    [10.0, 11.0, 12.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
    """
    known = daily.iloc[whole_years(pd.DatetimeIndex(daily.index))].dropna()
    columns = {str(name): known[name].to_numpy(np.float64) for name in known}
    return by_month(pd.DatetimeIndex(known.index), columns)


def yearly_sum(cycle: pd.Series) -> float:
    """The sum of a mean year, sum_m days_m mean_m; cycle: twelve daily means by month.

    >>> yearly_sum(pd.Series(2.0, index=range(1, 13)))
    730.5
    """
    return float((DAYS * cycle).sum(skipna=False))


def compare(cycle: pd.Series, reference: pd.Series) -> CycleMatch:
    """Compare an annual cycle with a reference; both are twelve daily means by month, of the same days.

    >>> months = range(1, 13)
    >>> pet = pd.Series([1.0, 1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1], index=months)
    >>> compare(0.5 * pet, pet)
    CycleMatch(r=1.0, ratio=0.5, peak=7, reference_peak=7)
    """
    months = cycle.index.to_numpy()
    one, two = cycle.to_numpy(np.float64), reference.reindex(months).to_numpy(np.float64)
    total = yearly_sum(reference)
    ratio = yearly_sum(cycle) / total if total else float("nan")
    return CycleMatch(correlation(one, two), ratio, int(months[one.argmax()]), int(months[two.argmax()]))
