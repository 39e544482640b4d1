"""Whole sequences, such as days: windows that begin at one time of the day or week and never slide."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from mclstm.data.clock import PERIODS, parse_time, since_start, step_length
from mclstm.data.windows import Tensors, Windows
from mclstm.errors import ConfigError, DataError

__all__ = ["Rhythm", "Sequences", "inside_sequences", "sequence_begins", "sequences"]


class Rhythm(NamedTuple):
    """When sequences begin and end: each "day" or "week", times as `parse_time` reads them.

    end: the last step, on the next day where it is earlier than begin; None: the step before the next begins
    """

    each: str = "day"
    begin: str = "00:00"
    end: str | None = None

    def __str__(self) -> str:
        return f"{self.each} from {self.begin}" + ("" if self.end is None else f" to {self.end}")


class Sequences(NamedTuple):
    """The whole sequences of a period, as windows that are scored from their first step."""

    windows: Windows
    left_out: int  # sequences that touch the period and lack inputs or lie partly outside


def sequences(
    data: Tensors, time: pd.DatetimeIndex, period: tuple[int, int], rhythm: Rhythm, *, observed: bool
) -> Sequences:
    """All sequences that lie in the period with all their inputs; with `observed` they hold a target too.

    time: the dates of the data · period: its first step and the step after its last
    """
    starts, length = _starts(time, rhythm)
    starts = starts[(starts < period[1]) & (starts + length > period[0])]
    inside = starts[(starts >= period[0]) & (starts + length <= period[1])]
    steps = inside[:, np.newaxis] + np.arange(length)  # (n, length)
    whole = data.covered[:, steps].all(-1)  # (sites, n)
    left_out = len(data.covered) * len(starts) - int(whole.sum())
    if observed:
        whole &= torch.isfinite(data.y).any(-1).numpy()[:, steps].any(-1)
    site, at = np.nonzero(whole)
    if not site.size:
        need = "all inputs and an observation" if observed else "all inputs"
        raise DataError(
            f"no whole {rhythm} with {need} lies between {time[period[0]]} and {time[period[1] - 1]}. "
            "Choose a longer period, or other times in sequences."
        )
    start = inside[at]
    where = Windows(site.astype(np.int64), start, start, start, start + length, length, length, every=1)
    return Sequences(where, left_out)


def inside_sequences(time: pd.DatetimeIndex, rhythm: Rhythm) -> NDArray[np.bool_]:
    """Which steps belong to a sequence, (time,).

    >>> inside_sequences(pd.date_range("2024-01-01", periods=5, freq="6h"), Rhythm(begin="06:00")).tolist()
    [True, True, True, True, True]
    """
    starts, length = _starts(time, rhythm)
    steps = (starts[:, np.newaxis] + np.arange(length)).ravel()
    inside = np.zeros(len(time), dtype=bool)
    inside[steps[(steps >= 0) & (steps < len(time))]] = True
    return inside


def sequence_begins(time: pd.DatetimeIndex, rhythm: Rhythm) -> NDArray[np.bool_]:
    """Which steps are the first of a sequence, (time,)."""
    starts, _ = _starts(time, rhythm)
    begins = np.zeros(len(time), dtype=bool)
    begins[starts[starts >= 0]] = True
    return begins


def _starts(time: pd.DatetimeIndex, rhythm: Rhythm) -> tuple[NDArray[np.int64], int]:
    """The first steps of all sequences that touch the data, the first maybe before it; and their length."""
    period, step = PERIODS[rhythm.each], step_length(time)
    if not step or period % step or period == step:
        raise ConfigError(
            f"sequences: a {rhythm.each} does not hold several whole steps of the data. Change each."
        )
    begin = parse_time(rhythm.begin, rhythm.each)
    end = begin - step if rhythm.end is None else parse_time(rhythm.end, rhythm.each)
    first = int(since_start(time[:1], rhythm.each)[0])
    for name, moment in (("begin", begin), ("end", end)):
        if (moment - first) % step:
            raise ConfigError(
                f"sequences.{name}: no step lies at {getattr(rhythm, name)}; the first is {time[0]}, "
                f"then every {pd.Timedelta(step)}. Choose one of its times."
            )
    cycle, length = period // step, (end - begin) % period // step + 1
    offset = (begin - first) % period // step - cycle
    return np.arange(offset, len(time), cycle, dtype=np.int64), length
