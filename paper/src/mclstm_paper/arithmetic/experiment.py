"""Recurrent and static arithmetic as experiments, each from one description of what is its own."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from mclstm.errors import ConfigError
from mclstm.jobs.job import Job, Result, Work, finished_by
from mclstm.jobs.monitor import JobMonitor
from mclstm_paper.arithmetic.subsets import OPERATIONS
from mclstm_paper.arithmetic.success import solved_rows, trivial_rows
from mclstm_paper.arithmetic.success_tables import Printed, success_tables
from mclstm_paper.arithmetic.task import Task
from mclstm_paper.arithmetic.thresholds import Setting, thresholds
from mclstm_paper.arithmetic.training import errors_of, outcome, problem
from mclstm_paper.earlier_results import restored_outcome
from mclstm_paper.experiment import Experiment
from mclstm_paper.options import Options, Plan, chosen_models, other_rate, rate_folder, scale, seed_blocks
from mclstm_paper.protocols import Protocol
from mclstm_paper.results import Row
from mclstm_paper.seeds.recipes import Recipe
from mclstm_paper.seeds.training_loop import train

__all__ = ["Arithmetic", "experiment", "jobs", "learn"]

EVALUATE_EVERY = 1_000  # updates
Operations = Mapping[str, tuple[str, ...]]  # the operations of each model


class Budget(NamedTuple):
    """Seeds and updates of a model on an operation, by profile."""

    quick: tuple[int, int]
    paper: tuple[int, int]


class Arithmetic(NamedTuple):
    """What the experiments of neural arithmetic do not share."""

    name: str
    formerly: tuple[str, ...]  # names of its work in the job folders of earlier versions
    task: Callable[[str, Sequence[int], Protocol], Task]  # (operation, seeds, protocol) -> samples
    recipe: Callable[[str, str, Protocol], Recipe]  # (model, operation, protocol) -> how it is trained
    models: Operations  # those of the paper's table
    variants: Operations  # further models
    threshold: Setting  # the test for which the success thresholds are computed
    budget: Callable[[str, str, Protocol], Budget]  # (model, operation, protocol) -> seeds and updates
    printed: Mapping[str, Mapping[str, Printed]]  # the paper's numbers
    quick_too: tuple[str, ...] = ()  # variants that are part of the quick profile


def experiment(arithmetic: Arithmetic, **fields: Any) -> Experiment:
    """The experiment of a description. fields: those of `Experiment` that the slice has beside it."""
    return Experiment(
        name=arithmetic.name,
        models=tuple(arithmetic.models),
        variants=tuple(arithmetic.variants),
        jobs=partial(jobs, arithmetic),
        rows=partial(rows, arithmetic),
        result_from_rows=partial(result_from_rows, arithmetic),
        trivial=partial(trivial, arithmetic),
        table=success_tables,
        accepts=("settings", "block", "rates", "add"),
        saves_each_job=True,
        settings=tuple(OPERATIONS),
        expected=lambda protocol: arithmetic.printed,
        **fields,
    )


def learn(
    arithmetic: Arithmetic,
    folder: Path,
    monitor: JobMonitor,
    goal: int,
    *,
    model: str,
    operation: str,
    protocol: Protocol,
    seeds: list[int],
    learning_rate: float | None,  # None: the recipe's
    evaluate_every: int,
) -> Result:
    """The work of a job: members learn an operation and are tested on harder samples."""
    task, recipe = arithmetic.task(operation, seeds, protocol), arithmetic.recipe(model, operation, protocol)
    limits = thresholds(arithmetic.threshold, operation)
    members = train(
        folder,
        monitor,
        goal,
        problem(model, recipe, task, errors_of(task, evaluate_every), limits[protocol]),
        members=len(seeds),
        learning_rate=learning_rate or recipe.learning_rate,
        evaluate_every=evaluate_every,
    )
    return outcome(members, limits)


def jobs(arithmetic: Arithmetic, plan: Plan) -> list[Job]:
    """One job for every model, operation and block of seeds."""
    options, name = plan.options, arithmetic.name
    models, variants = dict(arithmetic.models), dict(arithmetic.variants)
    if options.profile == "quick":
        models |= {model: variants.pop(model) for model in arithmetic.quick_too}
    for setting in options.settings or ():
        if setting not in OPERATIONS:
            raise ConfigError(f"{name} has no setting {setting!r}. Choose from {', '.join(OPERATIONS)}.")
    operations, wanted = models | variants, options.settings or tuple(OPERATIONS)
    every = [
        job
        for model in chosen_models(name, tuple(models), tuple(variants), options)
        for operation in operations[model]
        if operation in wanted
        for job in jobs_of(arithmetic, plan, model, operation)
    ]
    if not every:
        able = "; ".join(f"{m}: {', '.join(operations[m])}" for m in options.models or ())
        raise ConfigError(f"{name} has no such operations of these models. Choose from {able}.")
    return every


def jobs_of(arithmetic: Arithmetic, plan: Plan, model: str, operation: str) -> list[Job]:
    """The jobs of a model on an operation, one for every block of seeds."""
    options, where = plan.options, f"{model}/{operation}"
    seeds, updates = scale(options, *arithmetic.budget(model, operation, options.protocol))
    usual = arithmetic.recipe(model, operation, options.protocol).learning_rate
    rate = other_rate(options, where, usual)
    work = Work(arithmetic.name, partial(learn, arithmetic), formerly=arithmetic.formerly)
    every = []
    for block in seed_blocks(plan, seeds):
        parameters = {
            "model": model,
            "operation": operation,
            "protocol": options.protocol,
            "seeds": block,
            "learning_rate": rate,
            "evaluate_every": EVALUATE_EVERY,
        }
        folder = f"{rate_folder(where, rate)}/seeds-{block[0]}-{block[-1]}"
        every.append(Job(folder, work, parameters, updates))
    return every


def rate_of(arithmetic: Arithmetic, job: Job) -> float:
    """The learning rate of a job."""
    model, operation, protocol = (job.parameters[name] for name in ("model", "operation", "protocol"))
    rate: float | None = job.parameters["learning_rate"]
    return rate or arithmetic.recipe(model, operation, protocol).learning_rate


def rows(arithmetic: Arithmetic, plan: Plan, results: Mapping[str, Result]) -> list[Row]:
    """The rows of all finished jobs; blocks of seeds are joined."""
    every = []
    groups = finished_by(jobs(arithmetic, plan), results, "model", "operation")
    for (model, operation), members in groups.items():
        paper = arithmetic.printed.get(model, {}).get(operation, (None, None))
        every += solved_rows(
            model,
            operation,
            plan.options.protocol,
            [results[job.name] for job in members],
            members[0].goal,
            paper,
            seeds=[seed for job in members for seed in job.parameters["seeds"]],
            learning_rate=rate_of(arithmetic, members[0]),
        )
    return every


def result_from_rows(arithmetic: Arithmetic, job: Job, rows: Sequence[Row]) -> Result | None:
    """The result of a job from the rows of a result file, None if they do not hold it."""
    return restored_outcome(job, rows, rate_of(arithmetic, job))


def trivial(arithmetic: Arithmetic, options: Options) -> list[Row]:
    """The mean training target, and the solution in float32, on the test samples."""
    every: list[Row] = []
    for operation in OPERATIONS:
        count, _ = scale(options, *arithmetic.budget("constant", operation, options.protocol))
        seeds = range(options.first_seed, options.first_seed + count)
        task = arithmetic.task(operation, seeds, options.protocol)
        (x, *_, target), limits = task.evaluation("test"), thresholds(arithmetic.threshold, operation)
        for model, y in {"constant": task.constant(target), "exact": task.exact(x)}.items():
            errors = (y.double() - target.double()).square().mean(dim=(1, 2))
            every += trivial_rows(model, operation, options.protocol, errors, limits)
    return every
