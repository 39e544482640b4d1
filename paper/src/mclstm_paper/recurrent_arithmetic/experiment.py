"""Recurrent arithmetic: which models add up two subsets over ten steps so that it holds over a hundred."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from torch import Tensor

from mclstm.jobs.execution import Job, Result, Work, finished_by
from mclstm.jobs.monitor import Watch
from mclstm.report.results import Claim, Row
from mclstm_paper.arithmetic.learning import (
    ahead,
    arithmetic_jobs,
    arithmetic_rows,
    in_parts,
    problem,
    restored_by,
)
from mclstm_paper.arithmetic.models import RECURRENT, RECURRENT_VARIANTS, recurrent_recipe
from mclstm_paper.arithmetic.printed import RECURRENT as PAPER
from mclstm_paper.arithmetic.subsets import OPERATIONS
from mclstm_paper.arithmetic.success import beats, reaches, solves, thresholds, trivial_rows
from mclstm_paper.arithmetic.tables import success_tables
from mclstm_paper.arithmetic.tuned import TUNED_UPDATES
from mclstm_paper.experiment import Drawing, Experiment, Options, scale
from mclstm_paper.protocols import Protocol, switched
from mclstm_paper.recurrent_arithmetic.matrices import PANELS, gate_matrices
from mclstm_paper.recurrent_arithmetic.reading import (
    as_json,
    learned,
    sentences,
    task_in_words,
    worth_reading,
)
from mclstm_paper.recurrent_arithmetic.task import RecurrentArithmetic
from mclstm_paper.seeds.loop import train
from mclstm_paper.seeds.one_member import one_member
from mclstm_paper.seeds.outcome import outcome

__all__ = ["EXPERIMENT", "LEARN", "learn"]

NAME = "recurrent-arithmetic"
SEEDS, UPDATES, SHORT = 100, 2_000_000, 500_000
QUICK = (5, 5_000)
# Solves all in the few updates of a quick look, where the others are not half way.
QUICK_TOO = "mclstm-tuned"
TUNED = {
    "addition": 0.99,
    "subtraction": 0.95,
    "multiplication": 0.90,
}  # what `mclstm-tuned` is meant to reach
SETS = ("validation", "test")


def learn(
    folder: Path,
    watch: Watch,
    goal: int,
    *,
    model: str,
    operation: str,
    protocol: Protocol,
    seeds: list[int],
    learning_rate: float | None,
    evaluate_every: int,
) -> Result:
    """A job: members learn an operation on sequences of ten, are chosen on other tens, tested on hundreds."""
    task = RecurrentArithmetic(operation, seeds, protocol=protocol)
    recipe = recurrent_recipe(model, operation, protocol)
    limits, drawn = thresholds(NAME, operation), ahead(task.trains, len(seeds))

    def batches(update: int) -> tuple[tuple[Tensor, ...], Tensor]:
        x, a, y = drawn(update)
        return (x, a), y

    members = train(
        folder,
        watch,
        goal,
        problem(model, recipe, seeds, batches, errors_of(task, evaluate_every), limits[protocol], task),
        members=len(seeds),
        learning_rate=learning_rate or recipe.learning_rate,
        evaluate_every=evaluate_every,
    )
    return outcome(members, limits)


LEARN = Work(NAME, learn, formerly=("mclstm.experiments.recurrent_arithmetic.learn",))


def errors_of(
    task: RecurrentArithmetic, every: int
) -> Callable[[Callable[..., Tensor], int], dict[str, Tensor]]:
    """Validation and test error of every member; sets that stay the same are made once."""
    fixed = None if task.fresh else {name: task.evaluation(name) for name in SETS}

    def errors(network: Callable[..., Tensor], update: int) -> dict[str, Tensor]:
        sets = fixed or {name: task.evaluation(name, update // every) for name in SETS}
        return {name: in_parts(network, (x, a), y) for name, (x, a, y) in sets.items()}

    return errors


def jobs(options: Options) -> list[Job]:
    """One job for every model, operation and block of seeds."""

    def budget(model: str, operation: str) -> tuple[int, int]:
        short = switched("recurrent arithmetic: short subtraction", options.protocol)
        paper = SHORT if short and model == "mclstm" and operation == "subtraction" else UPDATES
        if model == "mclstm-tuned":  # its rate falls: a part of its schedule would be another one
            return scale(options, (QUICK[0], TUNED_UPDATES), (SEEDS, TUNED_UPDATES))
        return scale(options, QUICK, (SEEDS, paper))

    models, variants = dict(RECURRENT), dict(RECURRENT_VARIANTS)
    if options.profile == "quick":
        models[QUICK_TOO] = variants.pop(QUICK_TOO)
    return arithmetic_jobs(NAME, options, LEARN, models, variants, budget, recurrent_recipe)


def rows(options: Options, results: Mapping[str, Result]) -> list[Row]:
    """The rows of the jobs."""
    return arithmetic_rows(jobs(options), results, PAPER, recurrent_recipe)


def trivial(options: Options) -> list[Row]:
    """The mean target of the training sequences, and the sum in float32, on hundreds of steps."""
    seeds = list(range(options.first_seed, options.first_seed + scale(options, QUICK, (SEEDS, 0))[0]))
    made = []
    for operation in OPERATIONS:
        task = RecurrentArithmetic(operation, seeds, protocol=options.protocol)
        x, _, y = task.evaluation("test")
        for model, found in {"constant": task.constant(y), "exact": task.exact(x)}.items():
            errors = (found.double() - y.double()).square().mean(dim=(1, 2))
            made += trivial_rows(model, operation, options.protocol, errors, thresholds(NAME, operation))
    return made


def claims(found: Sequence[Row]) -> list[Claim]:
    """The paper's comparisons: its rates, and the rivals it names."""
    rates = [claim for operation in OPERATIONS for claim in reaches(found, "mclstm", operation)]
    rates += [
        claim for operation, aim in TUNED.items() for claim in solves(found, "mclstm-tuned", operation, aim)
    ]
    rivals = {"addition": "nau", "subtraction": "nau", "multiplication": "nmu"}
    return rates + [c for where, rival in rivals.items() for c in beats(found, "mclstm", rival, where)]


def figures(options: Options, results: Mapping[str, Result], root: Path) -> Drawing:
    """What the cells of one member for each operation accumulate, with its gates and redistribution."""
    readable = [job for job in jobs(options) if job.parameters["model"].startswith("mclstm")]
    read: dict[str, Any] = {}
    for (model, operation), members in finished_by(readable, results, "model", "operation").items():
        job, member, unsolved = worth_reading(members, results, options.protocol)
        seeds = job.parameters["seeds"]
        recipe = recurrent_recipe(model, operation, options.protocol)
        found = learned(one_member(recipe, seeds, member, root / job.name), operation, seeds[member])
        read[f"{model}, {operation}"] = {
            "seed": seeds[member],
            "seeds": sum(len(one.parameters["seeds"]) for one in members),
            "solved": not unsolved,
            "task": task_in_words(operation, seeds[member]),
            "sentences": [*unsolved, *sentences(found, operation)],
            **as_json(found),
        }
    return {}, read


def redrawn(found: Sequence[Row], reading: Mapping[str, Any]) -> dict[str, Figure]:
    """The matrices of all that was read, operations in their order; variants in a figure of their own."""
    drawn: dict[str, dict[str, dict[str, Any]]] = {}
    for model in (*RECURRENT, *RECURRENT_VARIANTS):
        for operation in OPERATIONS:
            one = reading.get(f"{model}, {operation}")
            if one is not None:
                figure = drawn.setdefault(
                    "recurrent-weights" if model in RECURRENT else "variants-weights", {}
                )
                title = f"{model}, {one['task']}" + ("" if one["solved"] else ", not solved")
                figure[title] = {name: np.array(one[name]) for name in PANELS}
    return {name: gate_matrices(rows) for name, rows in drawn.items()}


EXPERIMENT = Experiment(
    name=NAME,
    models=tuple(RECURRENT),
    variants=tuple(RECURRENT_VARIANTS),
    jobs=jobs,
    rows=rows,
    restored=restored_by(recurrent_recipe),
    trivial=trivial,
    claims=claims,
    table=success_tables,
    hears=("settings", "block", "rates", "add"),
    figures=figures,
    redrawn=redrawn,
    every_job=True,
)
