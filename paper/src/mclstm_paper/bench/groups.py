"""The groups of rows a bench has, and the jobs they fall into."""

from collections.abc import Callable, Sequence

from mclstm_paper.bench import passes, small
from mclstm_paper.bench.job import Job, Measured
from mclstm_paper.bench.sizes import SCALES, Scale

__all__ = ["GROUPS", "jobs_of", "measure"]

# Name: the parts that have a process each.
GROUPS: dict[str, Callable[[Scale], Sequence[str]]] = {
    "paper": lambda scale: ["all"],
    "table": lambda scale: ["all"],
    "small": lambda scale: list(scale.tasks),
    "single": lambda scale: ["all"],
    "memory": lambda scale: [
        *(f"{name}, T = {scale.paper.T}" for name in passes.PAPER),
        *(f"{name}, T = {scale.long_steps}" for name in ("mclstm-native", "mclstm-torch")),
    ],
    "growth": lambda scale: [*scale.sweeps, "E"],
}
# On every number of threads that is asked for; the others on the lowest.
THREADED = ("paper", "table")

MEASURES: dict[str, Callable[[Job], Measured]] = {
    "paper": passes.paper,
    "table": passes.table,
    "small": small.small,
    "single": passes.single,
    "memory": passes.memory,
    "growth": lambda job: small.member_growth(job) if job.part == "E" else passes.growth(job),
}


def jobs_of(groups: Sequence[str], threads: Sequence[int], profile: str, repeats: int | None) -> list[Job]:
    """Everything to do, in the order of GROUPS.

    >>> [job.threads for job in jobs_of(["paper", "single"], [1, 2], "quick", None)]
    [1, 2, 1]
    """
    scale = SCALES[profile]
    often = scale.repeats if repeats is None else repeats
    return [
        Job(group, part, count, profile, often)
        for group, parts in GROUPS.items()
        if group in groups
        for count in (threads if group in THREADED else [min(threads)])
        for part in parts(scale)
    ]


def measure(job: Job) -> Measured:
    """Do one job, in this process."""
    return MEASURES[job.group](job)
