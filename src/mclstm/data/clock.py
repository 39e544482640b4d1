"""Times of the day and of the week: how they are written, and which steps of a time axis they are."""

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mclstm.errors import ConfigError

__all__ = ["PERIODS", "at_times", "parse_duration", "parse_slot", "parse_time", "since_start", "step_length"]

SECOND = 1_000_000_000  # nanoseconds
PERIODS = {"day": 86_400 * SECOND, "week": 7 * 86_400 * SECOND}
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
UNITS = {"s": SECOND, "min": 60 * SECOND, "h": 3600 * SECOND, "d": PERIODS["day"]}
DURATION = re.compile(rf"(\d+(?:\.\d+)?) ?({'|'.join(UNITS)})")
TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?")


def parse_time(text: str, each: str = "day") -> int:
    """Nanoseconds from the start of the day, or for each="week" from Monday 00:00.

    >>> parse_time("04:30") / SECOND / 3600, parse_time("Tue 04:30", "week") / SECOND / 3600
    (4.5, 28.5)
    """
    weekday, _, time = text.rpartition(" ") if each == "week" else ("", "", text)
    match = TIME.fullmatch(time)
    day = weekday.lower() or WEEKDAYS[0]
    if match is None or day not in WEEKDAYS:
        example = "Mon 04:00" if each == "week" else "04:00"
        raise ValueError(f"{text!r} is no time of a {each}. Write it as {example!r}, in quotes.")
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((WEEKDAYS.index(day) * 24 + hours) * 3600 + minutes * 60 + seconds) * SECOND


def parse_slot(text: str) -> tuple[int, int]:
    """First and last time of a slot in nanoseconds of the day: "06:00" alone, or "06:00-06:10".

    >>> [time // SECOND // 60 for time in parse_slot("06:00-06:10")]
    [360, 370]
    """
    first, _, last = text.partition("-")
    begin, end = parse_time(first.strip()), parse_time((last or first).strip())
    if end < begin:
        raise ValueError(
            f"{text!r} ends before it begins. Write the earlier time first, in two slots if need be."
        )
    return begin, end


def parse_duration(text: str) -> float:
    """A duration in nanoseconds.

    >>> parse_duration("30min") / SECOND
    1800.0
    """
    match = DURATION.fullmatch(text) if isinstance(text, str) else None
    if match is None or not float(match[1]):
        raise ValueError(f"{str(text)[:40]!r} is no duration above zero. Write it as 30min, 2h or 1.5d.")
    return float(match[1]) * UNITS[match[2]]


def since_start(time: pd.DatetimeIndex, each: str) -> NDArray[np.int64]:
    """Nanoseconds of every step since the start of its day or week, (time,).

    >>> since_start(pd.DatetimeIndex(["2024-01-02 01:00"]), "week").item() / SECOND / 3600
    25.0
    """
    # The first of January 1970 was a Thursday.
    shift = 3 * PERIODS["day"] if each == "week" else 0
    within: NDArray[np.int64] = (time.as_unit("ns").asi8 + shift) % PERIODS[each]
    return within


def at_times(time: pd.DatetimeIndex, slots: Sequence[str]) -> NDArray[np.bool_]:
    """Which steps lie in one of the slots, (time,); a slot that holds no step is refused.

    >>> at_times(pd.date_range("2024-01-01", periods=4, freq="6h"), ["06:00", "12:00-18:00"]).tolist()
    [False, True, True, True]
    """
    within = since_start(time, "day")
    chosen = np.zeros(len(time), dtype=bool)
    for slot in slots:
        first, last = parse_slot(slot)
        steps = (within >= first) & (within <= last)
        if not steps.any():
            raise ConfigError(
                f"scored: no step of the data lies at {slot!r}. Give times at which there is one."
            )
        chosen |= steps
    return chosen


def step_length(time: pd.DatetimeIndex) -> int:
    """The length of a step in nanoseconds; 0 where there is no step or steps differ, such as months."""
    lengths = np.diff(time.as_unit("ns").asi8[:1000])
    return int(lengths[0]) if len(lengths) and (lengths == lengths[0]).all() else 0
