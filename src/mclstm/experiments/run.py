"""Running an experiment: its jobs, then what is left of them: results, tables, figures."""

import json
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from mclstm.errors import CheckpointError, ConfigError
from mclstm.experiments.experiment import Experiment, Options
from mclstm.experiments.jobs import kept_results, run_jobs
from mclstm.report.arithmetic import claims_table
from mclstm.report.results import Row, merged, save_results
from mclstm.report.style import rendered
from mclstm.training.atomic import make_folder, write_bytes_atomic, write_text_atomic
from mclstm.training.cost import total
from mclstm.training.journal import without_nan

__all__ = ["EXPERIMENTS", "Made", "experiment", "run"]

# name: the module with its EXPERIMENT
EXPERIMENTS: dict[str, str] = {
    "addition": "mclstm.experiments.addition",
    "recurrent-arithmetic": "mclstm.experiments.recurrent_arithmetic",
    "static-arithmetic": "mclstm.experiments.static_arithmetic",
    "mnist-sum": "mclstm.experiments.mnist_sum.experiment",
    "hydrology": "mclstm.experiments.hydrology.members",
    "hydrology-variants": "mclstm.experiments.hydrology.variants",
    "hydrology-ablation": "mclstm.experiments.hydrology.ablation",
}
TRIVIAL = ("constant", "exact")  # in every table, so that nobody takes a trivial score for learning


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
    options = options._replace(root=folder / "jobs")
    jobs, clock = asked.jobs(options), Clock()
    place = folder if kept is None else (kept / asked.file).parent if asked.file else kept / name

    require_no_loss(place, asked, options)

    def after() -> None:
        if asked.every_job:
            write(asked, options, asked.rows(options, kept_results(jobs, options.root)), place, clock.lap())

    results = run_jobs(jobs, options.root, workers=workers, quiet=quiet, after=after)
    rows = asked.rows(options, results) + asked.trivial(options)
    files = write(asked, options, rows, place, clock.lap())
    figures, reading = asked.figures(options, results, folder / "jobs")
    drawn = []
    for title, figure in figures.items():
        for form in ("svg", "png"):
            drawn.append((kept / name if kept else folder) / f"{options.protocol}-{title}.{form}")
            write_bytes_atomic(drawn[-1], rendered(figure, form))
    if reading:
        path = place / f"{options.protocol}-reading.json"
        whole = (read(path) or {}) | reading  # of operations that are not asked for now as well
        write_text_atomic(path, json.dumps(without_nan(whole), indent=1, allow_nan=False) + "\n")
    table = tables(asked, folder, files)
    return Made(folder, table, files, drawn)


class Clock:
    """Seconds since it was asked last."""

    def __init__(self) -> None:
        self.last = time.monotonic()

    def lap(self) -> float:
        before, self.last = self.last, time.monotonic()
        return self.last - before


def require_no_loss(place: Path, asked: Experiment, options: Options) -> None:
    """Refuse to put a quick look in the place of results at the paper's scale."""
    path = place / f"{Path(asked.file).stem if asked.file else options.protocol}.json"
    old = read(path)
    if old is not None and old.get("profile") == "paper" and options.profile != "paper":
        raise ConfigError(f"{path} holds results at the paper's scale. Choose another folder with --results.")


def write(
    asked: Experiment, options: Options, rows: Sequence[Row], place: Path, seconds: float
) -> dict[Path, dict[str, Any]]:
    """The rows in their files: those of the table, and those of variants beside it."""
    files = {}
    trivial = [row for row in rows if row["model"] in TRIVIAL]
    for suffix, models in (("", asked.models), ("-variants", asked.variants)):
        mine = [row for row in rows if row["model"] in models]
        if mine:
            mine += trivial
            name = Path(asked.file).stem if asked.file else options.protocol
            path = place / f"{name}{suffix}.json"
            files[path] = saved(path, asked, options, mine, seconds)
    return files


def saved(
    path: Path, asked: Experiment, options: Options, rows: Sequence[Row], seconds: float
) -> dict[str, Any]:
    """Put rows into a result file, in the order of the table; claims are made anew of all rows in it."""
    old = read(path)
    if old is not None and old.get("profile") != options.profile:
        old = None  # a quick look and the paper's scale do not share a table
    together = asked.judged(merged(old["rows"] if old else [], rows))
    order = [*asked.models, *asked.variants, *TRIVIAL]
    together.sort(key=lambda row: order.index(row["model"]) if row["model"] in order else len(order))
    claims = asked.claims(together)
    if asked.shared and old is not None:
        mine = {claim["claim"] for claim in claims}
        claims = [claim for claim in old["claims"] if claim["claim"] not in mine] + claims
    spent = seconds + (old["made"]["wall_seconds"] if old else 0.0)
    return save_results(
        path,
        asked.name,
        options.profile,
        together,
        spent,
        protocol=options.protocol,
        claims=claims,
        provenance=costs(asked, options, rows, old["made"].get("jobs", {}) if old else {}),
    )


def costs(asked: Experiment, options: Options, rows: Sequence[Row], old: Mapping[str, Any]) -> dict[str, Any]:
    """What the jobs of a file cost: of the models of these rows as it is now, of the others as it was."""
    names, again = [*asked.models, *asked.variants], {row["model"] for row in rows}
    kept = {name: cost for name, cost in old.items() if model_of(name, names) not in again}
    found = {job.name: total(options.root / job.name) for job in asked.jobs(options)}
    new = {n: cost for n, cost in found.items() if cost["sessions"] and model_of(n, names) in again}
    return kept | new


def model_of(job: str, models: Sequence[str]) -> str:
    """The model whose name the folder of a job has, the longest of several; nothing for references.

    >>> model_of("last/mclstm-tuned-3", ["mclstm", "lstm", "mclstm-tuned"]), model_of("reference/0", ["lstm"])
    ('mclstm-tuned', '')
    """
    return max((model for model in models if f"/{model}" in f"/{job}"), key=len, default="")


def read(path: Path) -> dict[str, Any] | None:
    if not path.exists():
        return None
    try:
        content: dict[str, Any] = json.loads(path.read_text())
    except ValueError as error:
        raise CheckpointError(f"{path} is not JSON: {error}. Restore it, or remove it.") from error
    return content


def tables(asked: Experiment, folder: Path, files: Mapping[Path, dict[str, Any]]) -> str:
    """The rows as Markdown and as CSV beside the jobs; the Markdown is given back."""
    make_folder(folder)
    parts = []
    for content in files.values():
        parts.append(asked.table(content["rows"]))
        if content["claims"]:
            parts.append(claims_table(content["claims"]))
    text = "\n\n".join(parts)
    every = [row for content in files.values() for row in content["rows"]]
    write_text_atomic(folder / "table.md", text + "\n")
    flat = pd.DataFrame(every).drop(columns="values")
    write_text_atomic(folder / "table.csv", flat.to_csv(index=False))
    return text
