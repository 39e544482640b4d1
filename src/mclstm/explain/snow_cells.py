"""Which cells hold snow: chosen by correlation with observed snow in one period, scored in another."""

from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = [
    "Period", "SnowSum", "best_sums", "by_temperature", "calendar", "cell_correlations", "correlation",
    "snow_sums", "usual",
]  # fmt: skip

Floats = NDArray[np.float64]
LARGEST = 4  # cells in a sum: the paper's figure has four
MOST = 2_000_000  # sums to try; where there are more, the best sum of one cell fewer is extended


class Period(NamedTuple):
    """The storage of one site in a period, and the snow of the same days."""

    days: pd.DatetimeIndex
    storage: Floats  # (T, K)
    swe: Floats  # (T,) snow water equivalent, NaN where unknown

    def known(self) -> "Period":
        """The days on which both are known."""
        known = np.isfinite(self.swe) & np.isfinite(self.storage).all(1)
        return Period(self.days[known], self.storage[known], self.swe[known])


class SnowSum(NamedTuple):
    """Cells whose sum follows the snow best in the period of the choice, and its score in another period."""

    cells: tuple[int, ...]
    chosen: float  # correlation in the period of the choice; too high, because it is the best of many
    held_out: float  # correlation in the other period: the one to report
    anomaly: float  # held_out after subtracting the usual value of the date from both series


def correlation(a: Floats, b: Floats) -> float:
    """Pearson's r of two series (T,); NaN where one does not vary.

    >>> correlation(np.array([1.0, 2.0, 4.0]), np.array([2.0, 4.0, 8.0]))
    1.0
    """
    x, y = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((x**2).sum() * (y**2).sum()))
    return float((x * y).sum() / scale) if scale > 0 else float("nan")


def cell_correlations(period: Period) -> Floats:
    """Pearson's r of every cell with the snow, (K,)."""
    here = period.known()
    return np.array([correlation(column, here.swe) for column in here.storage.T])


def best_sums(period: Period, largest: int = LARGEST) -> list[tuple[tuple[int, ...], float]]:
    """The sum with the highest correlation for 1 ... `largest` cells, and that correlation.

    r = sum_k cov(c_k, swe) / (sd(swe) sqrt(sum_kl cov(c_k, c_l))), from one covariance matrix for all sums.
    Where there are too many sums, a cell is added to the best smaller sum.
    """
    here = period.known()
    cells = here.storage.shape[1]
    columns = np.column_stack([here.storage, here.swe])
    covariance = np.atleast_2d(np.cov(columns, rowvar=False, ddof=0))
    sums: list[tuple[tuple[int, ...], float]] = []
    for size in range(1, min(largest, cells) + 1):
        if comb(cells, size) <= MOST:
            tried = np.array(list(combinations(range(cells), size)))
        else:
            before = sums[-1][0]
            tried = np.array([(*before, cell) for cell in range(cells) if cell not in before])
        r = _correlations(tried, covariance)
        best = int(np.nanargmax(r)) if np.isfinite(r).any() else 0
        sums.append((tuple(sorted(int(cell) for cell in tried[best])), float(r[best])))
    return sums


def _correlations(tried: NDArray[np.int64], covariance: Floats) -> Floats:
    """Correlation (sums,) of the sums of cells, tried (sums, cells), with snow, last in covariance."""
    with_snow = covariance[-1, tried].sum(1)
    variance = np.zeros(len(tried))
    for first in range(tried.shape[1]):
        for second in range(tried.shape[1]):
            variance += covariance[tried[:, first], tried[:, second]]
    scale = np.sqrt(np.maximum(variance, 0.0) * covariance[-1, -1])
    r: Floats = np.divide(with_snow, scale, out=np.full(len(tried), np.nan), where=scale > 0)
    return r


def snow_sums(choose: Period, score: Period, largest: int = LARGEST) -> list[SnowSum]:
    """Sums of 1 ... `largest` cells, chosen in one period and scored in another that shares no day."""
    if choose.days.intersection(score.days).size:
        raise ValueError("The period of the choice and the held-out period share days. Separate them.")
    past, held = choose.known(), score.known()
    unusual = held.swe - usual(past.days, past.swe, held.days)
    sums = []
    for cells, r in best_sums(choose, largest):
        before, after = (part.storage[:, list(cells)].sum(1) for part in (past, held))
        anomaly = correlation(after - usual(past.days, before, held.days), unusual)
        sums.append(SnowSum(cells, r, correlation(after, held.swe), anomaly))
    return sums


def calendar(choose: Period, score: Period) -> float:
    """The correlation of the usual snow of the date with the snow: what a sum of cells must exceed."""
    past, held = choose.known(), score.known()
    return correlation(usual(past.days, past.swe, held.days), held.swe)


def usual(days: pd.DatetimeIndex, values: Floats, other_days: pd.DatetimeIndex) -> Floats:
    """The mean of values (T,) by day of the year, looked up for other days: (N,).

    >>> past = pd.to_datetime(["2001-01-01", "2001-01-02", "2002-01-01", "2002-01-02"])
    >>> usual(past, np.array([1.0, 4.0, 3.0, 6.0]), pd.to_datetime(["2003-01-01"])).tolist()
    [2.0]
    """
    mean = pd.Series(values).groupby(days.day_of_year).mean().reindex(range(1, 367))
    known = mean.interpolate(limit_direction="both").to_numpy(np.float64)
    return np.asarray(known[other_days.day_of_year.to_numpy() - 1], dtype=np.float64)


def by_temperature(temperature: Floats, series: dict[str, Floats], width: float = 2.0) -> pd.DataFrame:
    """Mean daily change of each series (T,) by class of temperature (T,), and the number of days per class.

    A class is `width` degrees wide and named by its middle; a change belongs to the later of its two days.

    >>> t = np.array([-5.0, -5.0, 5.0, 5.0])
    >>> by_temperature(t, {"snow": np.array([0.0, 4.0, 3.0, 1.0])})["snow"].tolist()
    [4.0, -1.5]
    """
    change = pd.DataFrame({name: np.diff(values) for name, values in series.items()})
    middle = (np.floor(temperature[1:] / width) + 0.5) * width
    groups = change.groupby(pd.Series(middle, name="temperature"))
    return groups.mean().assign(days=groups.size())
