"""The result files of an experiment: what they hold already, what a command may replace, who writes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mclstm.errors import ConfigError
from mclstm.jobs.execution import Job
from mclstm.jobs.locks import alone
from mclstm.report.results import Row, merged, read_results, save_results
from mclstm.training.atomic import make_folder
from mclstm.training.cost import total
from mclstm_paper.arithmetic.subsets import OPERATIONS
from mclstm_paper.experiment import Experiment, Options

__all__ = ["TRIVIAL", "held", "require_no_loss", "write"]

TRIVIAL = ("constant", "exact")  # in every table, so that nobody takes a trivial score for learning
Content = dict[str, Any]


def paths(place: Path, asked: Experiment, options: Options) -> dict[Path, tuple[str, ...]]:
    """The files of the paper's table and of the variants beside it, with the models of each."""
    name = Path(asked.file).stem if asked.file else options.protocol
    return {place / f"{name}.json": asked.models, place / f"{name}-variants.json": asked.variants}


def held(place: Path, asked: Experiment, options: Options) -> dict[Path, Content]:
    """What the files hold, of those that are there."""
    found = {path: read_results(path) for path in paths(place, asked, options)}
    return {path: content for path, content in found.items() if content is not None}


def require_no_loss(old: Mapping[Path, Content], options: Options, jobs: Sequence[Job]) -> None:
    """Refuse to put a quick look, or fewer seeds or updates, in the place of what the files hold."""
    for path, content in old.items():
        if content.get("profile") == "paper" and options.profile != "paper":
            raise ConfigError(
                f"{path} holds results at the paper's scale. Choose another folder with --results."
            )
        if content.get("profile") == options.profile == "paper":
            for row in content["rows"]:
                require_as_much(path, row, jobs)


def require_as_much(path: Path, row: Row, jobs: Sequence[Job]) -> None:
    """Refuse jobs that would replace a row by one of fewer seeds or updates."""
    mine = [job for job in jobs if makes(job, row)]
    if not mine or not row.get("seeds"):
        return
    planned = {seed for job in mine for seed in job.parameters["seeds"]}
    fewer = set(row["seeds"]) - planned
    if fewer or min(job.goal for job in mine) < row.get("trained", 0):
        raise ConfigError(
            f"{path} holds {row['model']} ({row['setting']}) with {len(row['seeds'])} seeds from "
            f"{min(row['seeds'])} and {row['trained']:,} updates, of which this command would leave less. "
            "Ask for these seeds and as many updates (finished jobs are passed over), or choose another "
            "folder with --results."
        )


def makes(job: Job, row: Row) -> bool:
    """Whether a row is made of a job: its model, and its operation where jobs have one."""
    model, operation = job.parameters.get("model"), job.parameters.get("operation", row["setting"])
    return bool((model, operation) == (row["model"], row["setting"]))


def write(
    asked: Experiment,
    options: Options,
    rows: Sequence[Row],
    place: Path,
    seconds: float,
    partial: bool = False,
) -> dict[Path, Content]:
    """The rows in their files: those of the table, and those of variants beside it.

    partial: these are of some of the jobs, and replace nothing that has more seeds; nor does anything at
    the paper's scale, where another command may have written since this one began
    """
    files = {}
    trivial = [row for row in rows if row["model"] in TRIVIAL]
    make_folder(place)
    with alone(place):  # another command may be adding its rows
        for path, models in paths(place, asked, options).items():
            mine = [row for row in rows if row["model"] in models]
            if mine:
                files[path] = saved(path, asked, options, mine + trivial, seconds, partial)
    return files


def saved(
    path: Path, asked: Experiment, options: Options, rows: Sequence[Row], seconds: float, partial: bool
) -> Content:
    """Put rows into a result file, in the order of the table; claims are made anew of all rows in it."""
    old = read_results(path)
    if old is not None and old.get("profile") != options.profile:
        old = None  # a quick look and the paper's scale do not share a table
    every = merged(old["rows"] if old else [], rows, careful=partial or options.profile == "paper")
    used = [row for row in rows if any(row is one for one in every)]
    together = asked.judged(every)
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
        provenance=costs(asked, options, used, old["made"].get("jobs", {}) if old else {}),
    )


def costs(asked: Experiment, options: Options, rows: Sequence[Row], old: Mapping[str, Any]) -> dict[str, Any]:
    """What the jobs of a file cost: those that made these rows as it is now, the others as it was."""
    names, again = [*asked.models, *asked.variants], {(row["model"], row["setting"]) for row in rows}
    jobs = [job.name for job in asked.jobs(options) if made_by(job.name, names, again)]
    found = {name: total(options.root / name) for name in jobs}
    new = {name: cost for name, cost in found.items() if cost["sessions"]}
    new |= {name: old[name] for name in jobs if name in old and name not in new}  # finished elsewhere
    # Or there in blocks of another size, which have other names.
    elsewhere = {subject(name, names) for name in jobs if options.add and name not in new}
    kept = {n: c for n, c in old.items() if not made_by(n, names, again) or subject(n, names) in elsewhere}
    return kept | new


def subject(job: str, models: Sequence[str]) -> tuple[str, ...]:
    """The model of a job, and its operation if its folder names one.

    >>> subject("nau/addition/seeds-0-9", ["nau"])
    ('nau', 'addition')
    """
    return (model_of(job, models), *(part for part in job.split("/") if part in OPERATIONS))


def made_by(job: str, models: Sequence[str], rows: set[tuple[str, str]]) -> bool:
    """Whether a job made some of these rows (model, setting): by its folder, which may name an operation.

    >>> made_by("nau/addition/seeds-0-9", ["nau"], {("nau", "subtraction")})
    False
    >>> made_by("nau/seeds-0-9", ["nau"], {("nau", "seq length")})
    True
    """
    model, *named = subject(job, models)
    settings = {setting for name, setting in rows if name == model}
    return bool(settings & set(named)) if named else bool(settings)


def model_of(job: str, models: Sequence[str]) -> str:
    """The model whose name the folder of a job has, the longest of several; nothing for references.

    >>> model_of("last/mclstm-tuned-3", ["mclstm", "lstm", "mclstm-tuned"]), model_of("reference/0", ["lstm"])
    ('mclstm-tuned', '')
    """
    return max((model for model in models if f"/{model}" in f"/{job}"), key=len, default="")
