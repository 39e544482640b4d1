"""One measurement of a bench: what is measured, the clock, the peak memory, and the rows it yields."""

import gc
import math
import random
import time
import timeit
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from mclstm_paper.bench.ratios import Row
from mclstm_paper.bench.scales import SCALES, Scale, Sizes
from mclstm_paper.results import row

__all__ = ["Key", "Measurement", "Outcome", "clock_of", "interleaved", "one_row", "timed"]

Call = Callable[[], object]
Clock = Callable[[], float]
Key = tuple[str, str, Sizes]  # model, metric, sizes
Name = TypeVar("Name", bound=Hashable)

WARM_UP = 2  # calls: the first loads libraries and touches memory, the second tells how long one takes


class Measurement(NamedTuple):
    """What one process measures: a part of a group, its threads, its scale and how many rounds."""

    group: str
    part: str
    threads: int
    profile: str
    repeats: int

    @property
    def scale(self) -> Scale:
        return SCALES[self.profile]


class Outcome(NamedTuple):
    """The rows of a measurement, and the candidates that could not run."""

    rows: list[Row]
    missing: dict[str, str]  # candidate: reason


def timed(measurement: Measurement, calls: Mapping[Key, Call]) -> dict[Key, list[float]]:
    """Milliseconds of every call, one number per round, all interleaved."""
    clock, shortest = clock_of(measurement.threads), measurement.scale.shortest
    seconds = interleaved(calls, measurement.repeats, clock, shortest)
    return {key: [1e3 * value for value in values] for key, values in seconds.items()}


def one_row(
    measurement: Measurement,
    setting: str,
    key: Key,
    values: Iterable[float],
    paper: float | None = None,
    **more: Any,
) -> Row:
    """A row of the results with its median and quartiles, and what it was measured on."""
    (model, metric, sizes), (group, part, threads, *_) = key, measurement
    where = {"unit": "ms", "group": group, "part": part, "threads": threads, "sizes": sizes._asdict()}
    return row(setting, model, metric, list(values), paper, spread="quartiles") | where | more


def clock_of(threads: int) -> Clock:
    """CPU time of the process for one thread, because other processes hardly change it; else wall time.

    >>> clock_of(1) is time.process_time, clock_of(2) is time.perf_counter
    (True, True)
    """
    return time.process_time if threads == 1 else time.perf_counter


def interleaved(
    calls: Mapping[Name, Call], repeats: int, clock: Clock, shortest: float = 0.0
) -> dict[Name, list[float]]:
    """Seconds per call of every candidate, one number per round.

    Every round calls all candidates, each round in another order, so that a disturbance of the machine hits
    all of them. A call quicker than `shortest` seconds is repeated within its turn, so that the resolution
    of the clock does not matter. Warm-up calls are not counted.

    >>> times = interleaved({"sum": lambda: sum(range(100)), "nothing": lambda: None}, 3, time.perf_counter)
    >>> [len(values) for values in times.values()], min(times["sum"]) > 0
    ([3, 3], True)
    """
    counts = {name: _calls_per_turn(call, clock, shortest) for name, call in calls.items()}
    times: dict[Name, list[float]] = {name: [] for name in calls}
    order, chance = list(calls), random.Random(0)
    for _ in range(repeats):
        chance.shuffle(order)
        gc.collect()  # before, not during the calls: no candidate pays for the garbage of another
        for name in order:
            times[name].append(_seconds(calls[name], counts[name], clock))
    return times


def _calls_per_turn(call: Call, clock: Clock, shortest: float) -> int:
    once = [_seconds(call, 1, clock) for _ in range(WARM_UP)][-1]
    return max(1, math.ceil(shortest / once)) if once > 0 else 1


def _seconds(call: Call, count: int, clock: Clock) -> float:
    return timeit.Timer(call, timer=clock).timeit(count) / count  # it switches garbage collection off
