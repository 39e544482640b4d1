"""Runs an experiment: its jobs, then the result files, tables and figures that follow from them."""

import json
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from mclstm.jobs.execution import run_jobs
from mclstm.jobs.job import Job, Result, alone, finished_results
from mclstm.report.run_figures import save
from mclstm.training.atomic import make_folder, write_text_atomic
from mclstm.training.journal import without_nan
from mclstm_paper.experiment import Experiment, refuse_unused_options
from mclstm_paper.options import Options, Plan
from mclstm_paper.pages.sections import claims_table
from mclstm_paper.registry import experiment
from mclstm_paper.result_files import TRIVIAL, Content, read_files, require_no_loss, result_file, write
from mclstm_paper.results import Row, covers, extents, read_results

__all__ = ["Outcome", "Planned", "planned", "run", "save_so_far"]


class Outcome(NamedTuple):
    """What a run leaves: the folder of its tables and figures, and the content of its result files."""

    folder: Path
    table: str
    results: dict[Path, Content]
    figures: list[Path]


class Planned(NamedTuple):
    """What a command is about to do."""

    task: Experiment
    plan: Plan
    place: Path  # the folder of its result files
    old: Mapping[Path, Content]  # what they hold
    jobs: list[Job]  # all but those whose results they hold
    elsewhere: dict[str, Result]  # these results, by the name of the job


def planned(name: str, options: Options, out: Path, results_dir: Path | None) -> Planned:
    """The jobs of a command, and what result files hold of them; refuses to leave less in a file."""
    task = experiment(name)
    folder = out / name / f"{options.profile}-{options.protocol}"
    place = folder if results_dir is None else (results_dir / result_file(task, options.protocol)).parent
    refuse_unused_options(task, options)
    old = read_files(place, task, options)
    plan = Plan(options, folder / "jobs", seed_borders(old) if options.add else frozenset())
    jobs = task.jobs(plan)
    require_no_loss(old, options, jobs)
    elsewhere = finished_elsewhere(task, plan, jobs, old)
    return Planned(task, plan, place, old, [job for job in jobs if job.name not in elsewhere], elsewhere)


def run(
    name: str,
    options: Options,
    out: Path,
    *,
    results_dir: Path | None = None,
    workers: int = 1,
    executor: Executor | None = None,
    quiet: bool = False,
) -> Outcome:
    """Run the jobs that are not finished, and make results, tables and figures of all finished ones.

    out: jobs lie in `<out>/<name>/<profile>-<protocol>/`. results_dir: folder of the result files, by default
    the same one. Rows of models that were not asked for stay in the result files as they are.
    """
    clock = Clock()
    task, plan, place, old, here, elsewhere = planned(name, options, out, results_dir)
    trivial = task.trivial(options)

    def after() -> None:
        if task.saves_each_job:
            rows = task.rows(plan, elsewhere | finished_results(here, plan.jobs_dir))
            write(task, plan, rows + trivial, place, clock.lap(), partial=True)

    results = run_jobs(here, plan.jobs_dir, workers=workers, executor=executor, quiet=quiet, after=after)
    rows = task.rows(plan, elsewhere | results) + trivial
    files = write(task, plan, rows, place, clock.lap())
    every_row = [row for content in files.values() for row in content["rows"]]
    same_profile = all(content.get("profile") == options.profile for content in old.values())
    folder = plan.jobs_dir.parent
    figures_dir = results_dir / name if results_dir else folder
    figures = draw(task, plan, results, every_row, place, figures_dir, keep=same_profile)
    return Outcome(folder, tables(task, folder, files, not_written(rows, every_row)), files, figures)


def save_so_far(whole: Planned) -> None:
    """Write the rows of the jobs that are finished, and run none."""
    task, plan = whole.task, whole.plan
    if task.saves_each_job:
        rows = task.rows(plan, whole.elsewhere | finished_results(whole.jobs, plan.jobs_dir))
        if rows:
            write(task, plan, rows + task.trivial(plan.options), whole.place, 0.0, partial=True)


def draw(
    task: Experiment,
    plan: Plan,
    results: Mapping[str, Result],
    every_row: Sequence[Row],
    place: Path,
    figures_dir: Path,
    keep: bool,
) -> list[Path]:
    """Save the figures, and the readings of the weights beside the result files; the paths of the figures.

    keep: whether readings of earlier commands stay in the file
    """
    protocol = plan.options.protocol
    figures, readings = task.figures_of_jobs(plan, results)
    current = {name: read for name, read in readings.items() if not task.outdated(name, read, every_row)}
    every_reading = save_readings(place / f"{protocol}-reading.json", current, keep)
    figures |= task.figures_of_rows(every_row, every_reading)
    return [
        path for name, figure in figures.items() for path in save(figure, figures_dir, f"{protocol}-{name}")
    ]


def finished_elsewhere(
    task: Experiment, plan: Plan, jobs: Sequence[Job], old: Mapping[Path, Content]
) -> dict[str, Result]:
    """With --add: results of jobs that the files hold and that have no folder here, by job name."""
    if not plan.options.add:
        return {}
    profile = plan.options.profile
    rows = [row for content in old.values() if content["profile"] == profile for row in content["rows"]]
    missing = [job for job in jobs if not (plan.jobs_dir / job.name).exists()]
    results = {job.name: task.result_from_rows(job, rows) for job in missing}
    return {name: result for name, result in results.items() if result is not None}


def seed_borders(old: Mapping[Path, Content]) -> frozenset[int]:
    """The seeds where those in the files begin and end: a new job has none, or only seeds of the files."""
    rows = [row for content in old.values() for row in content["rows"]]
    by_row = {frozenset(row["seeds"]) for row in rows if "seeds" in row}
    return frozenset(
        {seed for seeds in by_row for seed in seeds if seed - 1 not in seeds}
        | {seed + 1 for seeds in by_row for seed in seeds if seed + 1 not in seeds}
    )


def save_readings(path: Path, readings: Mapping[str, Any], keep: bool) -> dict[str, Any]:
    """Write what code read in the weights; with `keep`, what earlier commands read stays in the file."""
    if not readings:
        return {}
    with alone(path.parent):
        whole = ((read_results(path) or {}) if keep else {}) | dict(readings)
        write_text_atomic(path, json.dumps(without_nan(whole), indent=1, allow_nan=False) + "\n")
    return whole


class Clock:
    """Seconds since the last look at it."""

    def __init__(self) -> None:
        self.last = time.monotonic()

    def lap(self) -> float:
        before, self.last = self.last, time.monotonic()
        return self.last - before


def not_written(rows: Sequence[Row], in_files: Sequence[Row]) -> list[str]:
    """A sentence on each model and setting of which another command wrote more in the meantime."""
    mine, theirs = extents(rows), extents(in_files)
    more = [key for key in mine if key[0] not in TRIVIAL and not covers(mine[key], theirs[key])]
    return [
        f"The result file holds more of {model} ({setting}) than this command made, and keeps it; the jobs "
        "of this command stay in its folder."
        for model, setting in more
    ]


def tables(task: Experiment, folder: Path, files: Mapping[Path, Content], notes: Sequence[str]) -> str:
    """Write the rows as Markdown and CSV beside the jobs; returns the Markdown, with the notes below it."""
    make_folder(folder)
    parts = []
    for content in files.values():
        parts.append(task.table(content["rows"]))
        if content["claims"]:
            parts.append(claims_table(content["claims"]))
    text = "\n\n".join([*parts, *notes])
    every_row = [row for content in files.values() for row in content["rows"]]
    write_text_atomic(folder / "table.md", text + "\n")
    flat = pd.DataFrame(every_row).drop(columns="values")
    write_text_atomic(folder / "table.csv", flat.to_csv(index=False))
    return text
