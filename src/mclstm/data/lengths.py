"""Lengths of windows that fit a record: long enough for the stores to fill, short enough to leave windows."""

from typing import NamedTuple

import numpy as np
import pandas as pd

__all__ = ["Lengths", "window_lengths"]

YEAR, SCORED = 365, 180  # days: of a warm-up, and of the steps after it that a window teaches
DAY = 86_400e9  # nanoseconds
LONGEST = 2000  # steps of a warm-up: a year of hours would cost 24 times a year of days
SHORTEST = 12  # steps of a warm-up, where the record has four times as many


class Lengths(NamedTuple):
    """The steps of a warm-up and of a whole window."""

    warmup: int
    length: int


def window_lengths(time: pd.DatetimeIndex) -> Lengths:
    """A warm-up of a year, at most 2000 steps and a quarter of the record, and half as many steps to score.

    >>> window_lengths(pd.date_range("1979-01-01", "1984-12-31"))
    Lengths(warmup=365, length=545)
    >>> window_lengths(pd.date_range("2001-01-01", periods=200))
    Lengths(warmup=50, length=74)
    >>> window_lengths(pd.date_range("2001-01-01", periods=30_000, freq="h"))
    Lengths(warmup=2000, length=2986)
    """
    steps = np.abs(np.diff(time.as_unit("ns").asi8))
    year = YEAR * DAY / max(float(np.median(steps)), 1.0) if len(steps) else SHORTEST
    warmup = max(1, int(min(max(year, SHORTEST), LONGEST, len(time) // 4)))
    return Lengths(warmup, warmup + max(1, warmup * SCORED // YEAR))
