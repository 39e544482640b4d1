"""Which cells hold snow: correlated with snow water equivalent, chosen in one period, scored in another."""

from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = [
    "Period",
    "SnowSum",
    "best_sums",
    "calendar",
    "cell_correlations",
    "correlation",
    "snow_sums",
    "usual",
]

Floats = NDArray[np.float64]
LARGEST = 4  # cells in a sum: the paper's figure has four
MOST = 2_000_000  # sums tried one by one; beyond that the best of one cell fewer is extended


class Period(NamedTuple):
    """What the stores of one site held on given days, and the snow of the same days."""

    days: pd.DatetimeIndex
    storage: Floats  # (T, K)
    swe: Floats  # (T,), NaN where nobody knows

    def known(self) -> "Period":
        """The days on which both are known."""
        fine = np.isfinite(self.swe) & np.isfinite(self.storage).all(1)
        return Period(self.days[fine], self.storage[fine], self.swe[fine])


class SnowSum(NamedTuple):
    """Cells whose sum follows the snow best where they were chosen, and how well it does elsewhere."""

    cells: tuple[int, ...]
    chosen: float  # correlation in the period of the choice: the best of many, so too good
    held_out: float  # correlation in the other period: the one to report
    anomaly: float  # the same without what the date alone explains: more or less snow than usual on that day


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
    """For 1 ... `largest` cells the sum with the highest correlation, and that correlation.

    r = sum_k cov(c_k, swe) / (sd(swe) sqrt(sum_kl cov(c_k, c_l))), so that every sum is tried from one
    covariance matrix; where there are too many, a cell is added to the best smaller sum.
    """
    here = period.known()
    cells = here.storage.shape[1]
    moved = np.column_stack([here.storage, here.swe])
    covariance = np.atleast_2d(np.cov(moved, rowvar=False, ddof=0))
    found: list[tuple[tuple[int, ...], float]] = []
    for size in range(1, min(largest, cells) + 1):
        if comb(cells, size) <= MOST:
            tried = np.array(list(combinations(range(cells), size)))
        else:
            before = found[-1][0]
            tried = np.array([(*before, cell) for cell in range(cells) if cell not in before])
        r = _correlations(tried, covariance)
        best = int(np.nanargmax(r)) if np.isfinite(r).any() else 0
        found.append((tuple(sorted(int(cell) for cell in tried[best])), float(r[best])))
    return found


def _correlations(tried: NDArray[np.int64], covariance: Floats) -> Floats:
    """Correlation of each sum, tried (sums, cells), with the last variable of the covariance matrix."""
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
    found = []
    for cells, r in best_sums(choose, largest):
        before, after = (part.storage[:, list(cells)].sum(1) for part in (past, held))
        anomaly = correlation(after - usual(past.days, before, held.days), unusual)
        found.append(SnowSum(cells, r, correlation(after, held.swe), anomaly))
    return found


def calendar(choose: Period, score: Period) -> float:
    """The correlation that knowing the date alone gives: what is usual, learned and scored likewise."""
    past, held = choose.known(), score.known()
    return correlation(usual(past.days, past.swe, held.days), held.swe)


def usual(days: pd.DatetimeIndex, values: Floats, wanted: pd.DatetimeIndex) -> Floats:
    """The mean of the values (T,) of each day of the year, on other days (N,).

    >>> past = pd.to_datetime(["2001-01-01", "2001-01-02", "2002-01-01", "2002-01-02"])
    >>> usual(past, np.array([1.0, 4.0, 3.0, 6.0]), pd.to_datetime(["2003-01-01"])).tolist()
    [2.0]
    """
    mean = pd.Series(values).groupby(days.day_of_year).mean().reindex(range(1, 367))
    known = mean.interpolate(limit_direction="both").to_numpy(np.float64)
    return np.asarray(known[wanted.day_of_year.to_numpy() - 1], dtype=np.float64)
