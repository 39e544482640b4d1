"""One piece of work of a bench, done by a process of its own, and what comes back from it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from mclstm.report.results import row
from mclstm_paper.bench.clock import clock_of, interleaved
from mclstm_paper.bench.rows import Row
from mclstm_paper.bench.sizes import SCALES, Scale, Sizes

__all__ = ["PRODUCT", "Job", "Key", "Measured", "one_row", "timed"]

PRODUCT = "matrix product"

Key = tuple[str, str, Sizes]  # model, metric, sizes


class Job(NamedTuple):
    """What to measure, on how many threads, at which scale, how often."""

    group: str
    part: str
    threads: int
    profile: str
    repeats: int

    @property
    def scale(self) -> Scale:
        return SCALES[self.profile]


class Measured(NamedTuple):
    """The rows of a job, and the candidates it had to do without."""

    rows: list[Row]
    missing: dict[str, str]  # candidate: reason


def timed(job: Job, calls: Mapping[Key, Callable[[], object]]) -> dict[Key, list[float]]:
    """Milliseconds of every call, one number a round, all interleaved."""
    found = interleaved(calls, job.repeats, clock_of(job.threads), job.scale.shortest)
    return {key: [1e3 * seconds for seconds in times] for key, times in found.items()}


def one_row(
    job: Job, setting: str, key: Key, values: Iterable[float], paper: float | None = None, **more: Any
) -> Row:
    """A row of the results with its median and quartiles, and what it was measured on."""
    model, metric, sizes = key
    measured = row(setting, model, metric, list(values), paper, spread="quartiles")
    where = {"group": job.group, "part": job.part, "threads": job.threads, "sizes": sizes._asdict()}
    return measured | {"unit": "ms"} | where | more
