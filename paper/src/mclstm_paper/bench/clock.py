"""Fair timing: all candidates in turns, so that what the machine does meanwhile happens to all of them."""

import gc
import math
import random
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

__all__ = ["clock_of", "interleaved"]

Call = Callable[[], object]
Clock = Callable[[], float]
Name = TypeVar("Name", bound=Hashable)
WARM_UP = 2  # calls: the first loads libraries and touches memory, the second tells how long one takes


def clock_of(threads: int) -> Clock:
    """CPU time of the process for one thread, which others on the machine hardly change; else wall time.

    >>> clock_of(1) is time.process_time, clock_of(2) is time.perf_counter
    (True, True)
    """
    return time.process_time if threads == 1 else time.perf_counter


def interleaved(
    calls: Mapping[Name, Call], repeats: int, clock: Clock, shortest: float = 0.0
) -> dict[Name, list[float]]:
    """Seconds a call of every candidate, one number a round.

    After a warm-up every round calls all candidates, each round in another order. A call quicker than
    `shortest` seconds is repeated within its turn, so that the clock's own steps do not matter.

    >>> times = interleaved({"sum": lambda: sum(range(100)), "nothing": lambda: None}, 3, time.perf_counter)
    >>> [len(values) for values in times.values()], min(times["sum"]) > 0
    ([3, 3], True)
    """
    counts = {name: _often(call, clock, shortest) for name, call in calls.items()}
    times: dict[Name, list[float]] = {name: [] for name in calls}
    order, chance = list(calls), random.Random(0)
    for _ in range(repeats):
        chance.shuffle(order)
        with _no_garbage():
            for name in order:
                times[name].append(_seconds(calls[name], counts[name], clock))
    return times


@contextmanager
def _no_garbage() -> Iterator[None]:
    """Python collects its garbage before, not during: nobody pays for another candidate's."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _often(call: Call, clock: Clock, shortest: float) -> int:
    once = [_seconds(call, 1, clock) for _ in range(WARM_UP)][-1]
    return max(1, math.ceil(shortest / once)) if once > 0 else 1


def _seconds(call: Call, count: int, clock: Clock) -> float:
    start = clock()
    for _ in range(count):
        call()
    return (clock() - start) / count
