"""Times of the year, the week and the day: how they are written, which steps they are, what a model sees."""

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mclstm.errors import ConfigError

__all__ = [
    "PERIODS", "STEPS", "Dates", "at_times", "day_of_year", "parse_duration", "parse_slot", "parse_time",
    "season", "since_start", "step_length", "time_of_step",
]  # fmt: skip

Dates = NDArray[np.datetime64]
SECOND = 1_000_000_000  # nanoseconds
PERIODS = {"day": 86_400 * SECOND, "week": 7 * 86_400 * SECOND}
# The step of a series in words, by its name in pandas.
STEPS = {"D": "1 day", "h": "1 hour", "MS": "1 month", "ME": "1 month", "YS": "1 year", "YE": "1 year"}
YEAR = 365.25  # days
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


def since_start(time: pd.DatetimeIndex | Dates, each: str) -> NDArray[np.int64]:
    """Nanoseconds of every step since the start of its day or week, (time,).

    >>> since_start(pd.DatetimeIndex(["2024-01-02 01:00"]), "week").item() / SECOND / 3600
    25.0
    """
    # The first of January 1970 was a Thursday.
    shift = 3 * PERIODS["day"] if each == "week" else 0
    return (np.asarray(time, "M8[ns]").astype(np.int64) + shift) % PERIODS[each]


def day_of_year(time: Dates) -> NDArray[np.int64]:
    """1 on the first of January, (time,).

    >>> day_of_year(np.array(["2004-02-29 13:00"], "M8[ns]")).tolist()
    [60]
    """
    since = time.astype("M8[D]") - time.astype("M8[Y]").astype("M8[D]")
    day: NDArray[np.int64] = since.astype(np.int64) + 1
    return day


def season(time: Dates) -> list[NDArray[np.float64]]:
    """sin and cos of 2π (day of year) / 365.25, (time,) each.

    >>> [wave.round(3).tolist() for wave in season(np.array(["2001-04-01"], "M8[ns]"))]
    [[1.0], [0.005]]
    """
    hour = since_start(time, "day") // UNITS["h"]
    angle = 2 * np.pi * (day_of_year(time) + hour / 24) / YEAR
    return [np.sin(angle), np.cos(angle)]


def time_of_step(
    time: Dates, time_of_day: int, time_of_week: int, weekend: bool
) -> list[NDArray[np.float64]]:
    """sin and cos of 2π n t / P, n = 1 ... N, for a day and a week P; 1 at weekends. (time,) each.

    >>> noon = np.array(["2001-01-06 12:00"], "M8[ns]")
    >>> [column.round(3).tolist() for column in time_of_step(noon, 1, 0, weekend=True)]
    [[0.0], [-1.0], [1.0]]
    """
    columns: list[NDArray[np.float64]] = []
    for each, count in (("day", time_of_day), ("week", time_of_week)):
        angle = 2 * np.pi * since_start(time, each) / PERIODS[each]
        columns += [wave(n * angle) for n in range(1, count + 1) for wave in (np.sin, np.cos)]
    late = since_start(time, "week") >= 5 * PERIODS["day"]
    return [*columns, late.astype(np.float64)] if weekend else columns


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
