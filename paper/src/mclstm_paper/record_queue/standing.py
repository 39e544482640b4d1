"""How far the long runs are: which of their jobs are left, and how long those will take."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from mclstm.errors import ConfigError
from mclstm.jobs.job import Job, finished_result
from mclstm.jobs.monitor import progress_of
from mclstm.training.cost import total
from mclstm_paper.experiment import Experiment
from mclstm_paper.hydrology.keeping import kept_seeds
from mclstm_paper.options import Options
from mclstm_paper.record_queue.long_runs import LongRun, Places, options_of
from mclstm_paper.registry import experiment
from mclstm_paper.result_files import Content, result_file, subject
from mclstm_paper.runner import Planned, planned

__all__ = ["Folders", "Standing", "planned_run", "standing"]

SEEDS = re.compile(r"seeds-(\d+)-(\d+)")


class Folders(NamedTuple):
    """Where jobs, result files and kept weights are."""

    out: Path
    results: Path
    weights: Path


class Standing(NamedTuple):
    """How far a long run is."""

    run: LongRun
    jobs: list[Job]  # all of them; none where they are not known yet
    left: list[Job]
    hours: float  # of a core, for those that are left
    waits: str = ""  # what is missing before any of it can run
    folder: Path = Path()  # of its jobs


def standing(run: LongRun, places: Places, folders: Folders) -> Standing:
    """The jobs of a run that are neither finished here nor held by a result file or by kept weights."""
    options = options_of(run, places)
    if options is None:
        return Standing(run, [], [], run.hours, f"needs {' and '.join(run.data)}")
    try:
        whole = planned_run(run, options, folders)
    except ConfigError as error:
        known = has_results(run, options, folders)  # elsewhere, with the run that it begins with
        return Standing(run, [], [], 0.0 if known else run.hours, "" if known else str(error))
    jobs_dir = whole.plan.jobs_dir
    packed = kept_seeds(folders.weights, run.name) if run.weights else set()
    if not (run.weights or options.add) and held(whole):
        return Standing(run, whole.jobs, [], 0.0, folder=jobs_dir)
    left = [
        job for job in whole.jobs if finished_result(job, jobs_dir) is None and seed_of(job) not in packed
    ]
    return Standing(run, whole.jobs, left, hours_of(left, whole, run), folder=jobs_dir)


def planned_run(run: LongRun, options: Options, folders: Folders) -> Planned:
    """What its command would do; members that a recipe scores leave the result files alone."""
    results = None if run.weights else folders.results / run.results
    return planned(run.experiment, options, folders.out, results)


def has_results(run: LongRun, options: Options, folders: Folders) -> bool:
    """Whether there is a result file of its experiment."""
    file = result_file(experiment(run.experiment), options.protocol)
    return (folders.results / run.results / file).is_file()


def seed_of(job: Job) -> int | None:
    """The seed in the config of a job; None where a job has several or none."""
    seed: int | None = job.parameters.get("config", {}).get("training", {}).get("seed")
    return seed


def held(whole: Planned) -> bool:
    """Whether the result files name every job as one that made their rows, on whatever machine.

    With `add` the rows themselves tell: a job of the same name may have made fewer updates.
    """
    named = {name for content in whole.old.values() for name in content["made"].get("jobs", {})}
    return {job.name for job in whole.jobs} <= named


def hours_of(left: Sequence[Job], whole: Planned, run: LongRun) -> float:
    """Core-hours of the jobs that are left, by what jobs of their models cost; else as expected."""
    rates, count = dict(measured(whole)), len(whole.jobs)
    seconds = 0.0
    for job in left:
        rate = rates.get(subject(job.name, whole.task))
        needed = run.hours * 3600 / count if rate is None else rate * amount(job.name, job.goal)
        progress = progress_of(whole.plan.jobs_dir / job.name)
        seconds += needed * (1 - (progress["done"] / max(progress["total"], 1) if progress else 0))
    return seconds / 3600


def measured(whole: Planned) -> Iterator[tuple[tuple[str, ...], float]]:
    """CPU seconds per seed and update by model and setting; where a job is one run, of a run."""
    every: dict[tuple[str, ...], list[float]] = {}
    for content in whole.old.values():
        for name, seconds in recorded(content, whole.task):
            every.setdefault(subject(name, whole.task), []).append(seconds)
    for job in whole.jobs:
        cost = total(whole.plan.jobs_dir / job.name)["cpu_seconds"]
        if cost is not None and finished_result(job, whole.plan.jobs_dir) is not None:
            every.setdefault(subject(job.name, whole.task), []).append(cost / amount(job.name, job.goal))
    return ((key, median(values)) for key, values in every.items())


def recorded(content: Content, task: Experiment) -> Iterator[tuple[str, float]]:
    """Jobs of a result file with their CPU seconds per seed and update."""
    for name, cost in content["made"].get("jobs", {}).items():
        if cost.get("cpu_seconds") is not None:
            yield name, cost["cpu_seconds"] / amount(name, trained(content["rows"], subject(name, task)))


def trained(rows: Sequence[Mapping[str, Any]], about: tuple[str, ...]) -> int:
    """The updates of a model's rows; 1 where they name none, because a job is then a whole run."""
    mine = [row for row in rows if row["model"] == about[0] and set(about[1:]) <= {row["setting"]}]
    return max([row.get("trained", 1) for row in mine], default=1) or 1


def amount(name: str, goal: int) -> int:
    """Seeds times updates of a job.

    >>> amount("nau/addition/seeds-0-19", goal=1000), amount("hybrid-3", goal=1)
    (20000, 1)
    """
    seeds = SEEDS.search(name)
    return goal * (int(seeds[2]) - int(seeds[1]) + 1 if seeds else 1)
