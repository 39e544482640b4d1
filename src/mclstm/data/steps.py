"""The time step of dates, inferred from the dates themselves, with gaps or without."""

import numpy as np
import pandas as pd
from pandas.tseries.frequencies import to_offset

__all__ = ["aligned", "grid", "is_regular", "step_of"]

CALENDAR = ("MS", "ME", "QS", "YS", "YE")  # steps that are not a fixed length of time
DAY = 86_400_000_000_000  # nanoseconds
LONGEST_GRID = 20_000_000  # steps; a typo in a year must not fill the memory


def step_of(times: pd.DatetimeIndex) -> str | None:
    """The pandas frequency that all dates follow, or None. The dates are sorted and unique.

    >>> step_of(pd.DatetimeIndex(["2001-01-01", "2001-01-02", "2001-01-03", "2001-01-07"]))
    'D'
    """
    if len(times) < 2:
        return None
    lengths = np.diff(times.as_unit("ns").asi8)
    step = int(lengths[0])
    if (lengths != step).any():
        usual, counts = np.unique(lengths, return_counts=True)
        step = int(usual[np.argmax(counts)])
    if (lengths % step == 0).all():
        days, rest = divmod(step, DAY)
        if not rest:
            return "D" if days == 1 else f"{days}D"
        return str(to_offset(pd.Timedelta(step, unit="ns")).freqstr)
    for frequency in CALENDAR:
        if times.isin(pd.date_range(times[0], times[-1], freq=frequency)).all():
            return frequency
    return None


def is_regular(times: pd.DatetimeIndex, step: str | None = None) -> bool:
    """Whether the dates rise without a gap by one fixed step (by `step`, if named); False when in doubt."""
    lengths = np.diff(times.as_unit("ns").asi8)
    if not len(lengths) or lengths[0] <= 0 or (lengths != lengths[0]).any():
        return False
    return step is None or step_of(times[:2]) == step


def grid(first: pd.Timestamp, last: pd.Timestamp, step: str) -> pd.DatetimeIndex:
    """Every date from first to last; empty when there would be absurdly many."""
    if step not in CALENDAR and _between(first, last) // _length(first, step) > LONGEST_GRID:
        return pd.DatetimeIndex([])
    return pd.date_range(first, last, freq=step).as_unit("ns")


def aligned(first: pd.Timestamp, other: pd.Timestamp, step: str) -> bool:
    """Whether two dates lie a whole number of fixed steps apart; calendar steps always do."""
    return step in CALENDAR or _between(first, other) % _length(first, step) == 0


def _between(first: pd.Timestamp, last: pd.Timestamp) -> int:
    return int(last.as_unit("ns").value) - int(first.as_unit("ns").value)


def _length(first: pd.Timestamp, step: str) -> int:
    """A fixed step in nanoseconds."""
    one, two = pd.date_range(first, periods=2, freq=step).as_unit("ns").asi8
    return int(two) - int(one)
