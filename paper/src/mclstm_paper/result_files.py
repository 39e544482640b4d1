"""The result files of an experiment: what they hold, what a command may replace, and how it writes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mclstm.errors import ConfigError
from mclstm.jobs.job import Job, alone
from mclstm.training.atomic import make_folder
from mclstm.training.cost import total
from mclstm_paper.experiment import Experiment
from mclstm_paper.options import Options, Plan
from mclstm_paper.results import Row, merge_rows, read_results, save_results

__all__ = ["TRIVIAL", "Content", "read_files", "require_counted", "require_no_loss", "result_file", "write"]

TRIVIAL = ("constant", "exact")  # in every table, so that nobody takes a trivial score for learning
Content = dict[str, Any]


def result_file(task: Experiment, protocol: str, suffix: str = "") -> str:
    """The path of a result file inside the folder of results; the suffix is "-variants" for variants."""
    path = Path(task.file.format(protocol=protocol) or f"{task.name}/{protocol}.json")
    return str(path.with_stem(path.stem + suffix))


def paths(place: Path, task: Experiment, options: Options) -> dict[Path, tuple[str, ...]]:
    """The files of the paper's table and of the variants in a folder, with the models of each."""
    table, variants = (Path(result_file(task, options.protocol, suffix)).name for suffix in ("", "-variants"))
    return {place / table: task.models, place / variants: task.variants}


def read_files(place: Path, task: Experiment, options: Options) -> dict[Path, Content]:
    """The content of those files that exist."""
    contents = {path: read_results(path) for path in paths(place, task, options)}
    return {path: content for path, content in contents.items() if content is not None}


def require_no_loss(old: Mapping[Path, Content], options: Options, jobs: Sequence[Job]) -> None:
    """Refuse to replace rows of the files by a quick look, or by fewer seeds or updates."""
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
            f"{min(row['seeds'])} and {row['trained']:,} updates. This command would leave less of them. "
            "Ask for these seeds and as many updates (finished jobs are passed over), or choose another "
            "folder with --results."
        )


def require_counted(path: Path, old: Sequence[Row], new: Sequence[Row]) -> None:
    """Refuse rows of another recipe that claim to be the same scoring of the test as those of the file."""
    before = {(row["model"], row.get("scorings")): row["recipe"] for row in old if "recipe" in row}
    for row in new:
        known = before.get((row["model"], row.get("scorings")))
        if "recipe" in row and known not in (None, row["recipe"]):
            raise ConfigError(
                f"{path} holds scoring {row['scorings']} of {row['model']} with another recipe ({known}; now "
                f"{row['recipe']}). Raise the number of the scoring with the recipe."
            )


def makes(job: Job, row: Row) -> bool:
    """Whether a row comes from a job: same model, and same operation where jobs have one."""
    model, operation = job.parameters.get("model"), job.parameters.get("operation", row["setting"])
    return bool((model, operation) == (row["model"], row["setting"]))


def write(
    task: Experiment, plan: Plan, rows: Sequence[Row], place: Path, seconds: float, partial: bool = False
) -> dict[Path, Content]:
    """Write the rows of the table and those of the variants, each into their file.

    partial: whether jobs are still missing. Partial rows replace nothing that has more seeds. At the paper's
    scale no rows do, since another command may have written in the meantime.
    """
    files = {}
    trivial = [row for row in rows if row["model"] in TRIVIAL]
    make_folder(place)
    with alone(place):  # another command may be adding its rows
        for path, models in paths(place, task, plan.options).items():
            mine = [row for row in rows if row["model"] in models]
            if mine:
                files[path] = save(path, task, plan, mine + trivial, seconds, partial)
    return files


def save(
    path: Path, task: Experiment, plan: Plan, rows: Sequence[Row], seconds: float, partial: bool
) -> Content:
    """Put rows into a result file, in the order of the table; claims are made again from all its rows."""
    profile = plan.options.profile
    old = read_results(path)
    if old is not None and old.get("profile") != profile:
        old = None  # a quick look and the paper's scale do not share a table
    require_counted(path, old["rows"] if old else [], rows)
    both = merge_rows(old["rows"] if old else [], rows, careful=partial or profile == "paper")
    used = [row for row in rows if any(row is one for one in both)]
    whole = task.complete_rows(both)
    order = [*task.models, *task.variants, *TRIVIAL]
    whole.sort(key=lambda row: order.index(row["model"]) if row["model"] in order else len(order))
    claims = task.claims(whole)
    if task.shares_file and old is not None:
        mine = {claim["claim"] for claim in claims}
        claims = [claim for claim in old["claims"] if claim["claim"] not in mine] + claims
    return save_results(
        path,
        task.name,
        profile,
        whole,
        seconds + (old["made"]["wall_seconds"] if old else 0.0),
        protocol=plan.options.protocol,
        claims=claims,
        provenance=costs(task, plan, used, old["made"].get("jobs", {}) if old else {}),
    )


def costs(task: Experiment, plan: Plan, rows: Sequence[Row], old: Mapping[str, Any]) -> dict[str, Any]:
    """What the jobs of a file cost: measured now for the jobs of these rows, as before for the others."""
    replaced = {(row["model"], row["setting"]) for row in rows}
    jobs = [job.name for job in task.jobs(plan) if made_by(job.name, task, replaced)]
    totals = {name: total(plan.jobs_dir / name) for name in jobs}
    # A job that was stopped has a cost, too, but made no row yet.
    over = {name for name in jobs if (plan.jobs_dir / name / "result.json").is_file()}
    measured = {name for name in over if totals[name]["sessions"]}
    new = {name: old[name] for name in jobs if name in old}  # finished elsewhere, or measured before
    new |= {name: totals[name] for name in jobs if name in measured or (name in over and name not in old)}
    # Or finished elsewhere in blocks of another size, whose folders have other names.
    elsewhere = {subject(name, task) for name in jobs if plan.options.add and name not in new}
    stay = {
        name: cost
        for name, cost in old.items()
        if not made_by(name, task, replaced) or subject(name, task) in elsewhere
    }
    return stay | new


def subject(job: str, task: Experiment) -> tuple[str, ...]:
    """The model of a job, and its setting if its folder names one: "nau/addition/seeds-0-9"."""
    model = model_of(job, [*task.models, *task.variants])
    return (model, *(part for part in job.split("/") if part in task.settings))


def made_by(job: str, task: Experiment, rows: set[tuple[str, str]]) -> bool:
    """Whether a job made some of these rows (model, setting); its folder may name words of a setting."""
    model, *named = subject(job, task)
    settings = [f" {setting.replace(',', '')} " for name, setting in rows if name == model]
    return any(f" {name} " in setting for name in named for setting in settings) if named else bool(settings)


def model_of(job: str, models: Sequence[str]) -> str:
    """The model that the folder of a job names, the longest of several; "" for reference networks.

    >>> model_of("last/mclstm-tuned-3", ["mclstm", "lstm", "mclstm-tuned"]), model_of("reference/0", ["lstm"])
    ('mclstm-tuned', '')
    """
    return max((model for model in models if f"/{model}" in f"/{job}"), key=len, default="")
