"""Running an experiment: its jobs, then what is left of them: results, tables, figures."""

import json
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from mclstm.errors import ConfigError
from mclstm.jobs.execution import Job, Result, kept_results, run_jobs
from mclstm.jobs.locks import alone
from mclstm.report.figures import save
from mclstm.report.results import Row, as_much, extents, read_results
from mclstm.training.atomic import make_folder, write_text_atomic
from mclstm.training.journal import without_nan
from mclstm_paper.arithmetic.tables import claims_table
from mclstm_paper.experiment import Experiment, Options, require_heard
from mclstm_paper.recurrent_arithmetic.reading import contradicted
from mclstm_paper.result_files import TRIVIAL, held, require_no_loss, write

__all__ = ["EXPERIMENTS", "Made", "experiment", "run"]

# name: the module with its EXPERIMENT
EXPERIMENTS: dict[str, str] = {
    "addition": "mclstm_paper.addition.experiment",
    "recurrent-arithmetic": "mclstm_paper.recurrent_arithmetic.experiment",
    "static-arithmetic": "mclstm_paper.static_arithmetic.experiment",
    "mnist-sum": "mclstm_paper.mnist_sum.experiment",
    "hydrology": "mclstm_paper.hydrology.experiment",
    "hydrology-variants": "mclstm_paper.hydrology.variants",
    "hydrology-ablation": "mclstm_paper.hydrology.ablation",
}


class Made(NamedTuple):
    """What a run left: the folder of its tables and figures, and the content of its result files."""

    folder: Path
    table: str
    results: dict[Path, dict[str, Any]]
    figures: list[Path]


def experiment(name: str) -> Experiment:
    """An experiment by name.

    >>> experiment("addition").models[0]
    'mclstm'
    """
    if name not in EXPERIMENTS:
        raise ConfigError(f"There is no experiment {name!r}. Choose from {', '.join(EXPERIMENTS)}.")
    found: Experiment = import_module(EXPERIMENTS[name]).EXPERIMENT
    return found


def run(
    name: str, options: Options, out: Path, *, kept: Path | None = None, workers: int = 1, quiet: bool = False
) -> Made:
    """Do what is left of an experiment's jobs, and make results, tables and figures of all that is finished.

    out: where the jobs lie, `<out>/<name>/<profile>-<protocol>/`. kept: where result files go, by default the
    same folder. Rows of models that are not asked for now stay in the result files as they are.
    """
    asked, folder = experiment(name), out / name / f"{options.profile}-{options.protocol}"
    clock = Clock()
    place = folder if kept is None else (kept / asked.file).parent if asked.file else kept / name
    require_heard(asked, options)
    old = held(place, asked, options)
    options = options._replace(root=folder / "jobs", cuts=borders(old) if options.add else frozenset())
    jobs = asked.jobs(options)
    require_no_loss(old, options, jobs)

    elsewhere = finished_elsewhere(asked, options, jobs, old)
    here = [job for job in jobs if job.name not in elsewhere]
    trivial = asked.trivial(options)

    def after() -> None:
        if asked.every_job:
            rows = asked.rows(options, elsewhere | kept_results(here, options.root))
            write(asked, options, rows + trivial, place, clock.lap(), partial=True)

    results = run_jobs(here, options.root, workers=workers, quiet=quiet, after=after)
    rows = asked.rows(options, elsewhere | results) + trivial
    files = write(asked, options, rows, place, clock.lap())
    figures, found = asked.figures(options, results, folder / "jobs")
    others = all(content.get("profile") == options.profile for content in old.values())
    every = [row for content in files.values() for row in content["rows"]]
    found = {name: one for name, one in found.items() if not contradicted(name, one, every)}
    reading = readings(place / f"{options.protocol}-reading.json", found, others)
    figures |= asked.redrawn(every, reading)
    home = kept / name if kept else folder
    drawn = [
        path for of, figure in figures.items() for path in save(figure, home, f"{options.protocol}-{of}")
    ]
    return Made(folder, tables(asked, folder, files, not_written(rows, every)), files, drawn)


def finished_elsewhere(
    asked: Experiment, options: Options, jobs: Sequence[Job], old: Mapping[Path, dict[str, Any]]
) -> dict[str, Result]:
    """The results of jobs that the files hold and whose folders are not here, by name; if asked for."""
    if not options.add:
        return {}
    rows = [r for content in old.values() if content["profile"] == options.profile for r in content["rows"]]
    missing = [job for job in jobs if not (options.root / job.name).exists()]
    found = {job.name: asked.restored(job, rows) for job in missing}
    return {name: result for name, result in found.items() if result is not None}


def borders(old: Mapping[Path, dict[str, Any]]) -> frozenset[int]:
    """The seeds where those that files hold of a model begin, and where they end: no job has both kinds."""
    rows = [row for content in old.values() for row in content["rows"]]
    held_of = {frozenset(row["seeds"]) for row in rows if "seeds" in row}
    return frozenset(
        {s for seeds in held_of for s in seeds if s - 1 not in seeds}
        | {s + 1 for seeds in held_of for s in seeds if s + 1 not in seeds}
    )


def readings(path: Path, found: Mapping[str, Any], others: bool) -> dict[str, Any]:
    """What code read in the weights, in its file; with `others`, what earlier commands read stays there."""
    if not found:
        return {}
    with alone(path.parent):
        whole = ((read_results(path) or {}) if others else {}) | dict(found)
        write_text_atomic(path, json.dumps(without_nan(whole), indent=1, allow_nan=False) + "\n")
    return whole


class Clock:
    """Seconds since it was asked last."""

    def __init__(self) -> None:
        self.last = time.monotonic()

    def lap(self) -> float:
        before, self.last = self.last, time.monotonic()
        return self.last - before


def not_written(made: Sequence[Row], kept: Sequence[Row]) -> list[str]:
    """A sentence on every model and setting of which the files kept what another command wrote meanwhile."""
    mine, theirs = extents(made), extents(kept)
    more = [key for key in mine if key[0] not in TRIVIAL and not as_much(mine[key], theirs[key])]
    return [
        f"The result file holds more of {model} ({setting}) than this command made, and keeps it; the jobs "
        "of this command stay in its folder."
        for model, setting in more
    ]


def tables(
    asked: Experiment, folder: Path, files: Mapping[Path, dict[str, Any]], notes: Sequence[str]
) -> str:
    """The rows as Markdown and as CSV beside the jobs; the Markdown is given back, and notes under it."""
    make_folder(folder)
    parts = []
    for content in files.values():
        parts.append(asked.table(content["rows"]))
        if content["claims"]:
            parts.append(claims_table(content["claims"]))
    text = "\n\n".join([*parts, *notes])
    every = [row for content in files.values() for row in content["rows"]]
    write_text_atomic(folder / "table.md", text + "\n")
    flat = pd.DataFrame(every).drop(columns="values")
    write_text_atomic(folder / "table.csv", flat.to_csv(index=False))
    return text
