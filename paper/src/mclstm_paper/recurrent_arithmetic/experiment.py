"""Recurrent arithmetic: which models add up two subsets over ten steps so that it holds over a hundred."""

from collections.abc import Mapping, Sequence
from typing import Any

from mclstm.jobs.job import Result, finished_by
from mclstm_paper.arithmetic.experiment import Arithmetic, Budget, experiment, jobs
from mclstm_paper.arithmetic.subsets import OPERATIONS
from mclstm_paper.arithmetic.success import beats, reaches, solves
from mclstm_paper.arithmetic.thresholds import Setting
from mclstm_paper.experiment import Drawing
from mclstm_paper.options import Plan
from mclstm_paper.protocols import Protocol
from mclstm_paper.recurrent_arithmetic.gate_matrices import weight_figures
from mclstm_paper.recurrent_arithmetic.gate_reading import outdated, reading, worth_reading
from mclstm_paper.recurrent_arithmetic.models import RECURRENT, RECURRENT_VARIANTS, recurrent_recipe
from mclstm_paper.recurrent_arithmetic.page import BLOCKS, HEADLINES, SUMMARY
from mclstm_paper.recurrent_arithmetic.printed import PRINTED
from mclstm_paper.recurrent_arithmetic.switches import SHORT_SUBTRACTION, SWITCHES
from mclstm_paper.recurrent_arithmetic.task import RecurrentArithmetic
from mclstm_paper.recurrent_arithmetic.tuned import TUNED_UPDATES
from mclstm_paper.results import Claim, Row
from mclstm_paper.seeds.training_loop import one_member

__all__ = ["ARITHMETIC", "EXPERIMENT"]

QUICK_SEEDS, SEEDS = 5, 100
QUICK_UPDATES, UPDATES, SHORT_UPDATES = 5_000, 2_000_000, 500_000
TUNED_AIMS = {"addition": 0.99, "subtraction": 0.95, "multiplication": 0.90}  # success rates we aim at


def task(operation: str, seeds: Sequence[int], protocol: Protocol) -> RecurrentArithmetic:
    return RecurrentArithmetic(operation, seeds, protocol=protocol)


def budget(model: str, operation: str, protocol: Protocol) -> Budget:
    """Seeds and updates; `mclstm-tuned` has its own updates, since its learning rate follows a schedule."""
    if model == "mclstm-tuned":
        return Budget(quick=(QUICK_SEEDS, TUNED_UPDATES), paper=(SEEDS, TUNED_UPDATES))
    short = (model, operation) == ("mclstm", "subtraction") and SHORT_SUBTRACTION.on(protocol)
    return Budget(quick=(QUICK_SEEDS, QUICK_UPDATES), paper=(SEEDS, SHORT_UPDATES if short else UPDATES))


ARITHMETIC = Arithmetic(
    name="recurrent-arithmetic",
    formerly=("mclstm.experiments.recurrent_arithmetic.learn",),
    task=task,
    recipe=recurrent_recipe,
    models=RECURRENT,
    variants=RECURRENT_VARIANTS,
    threshold=Setting(input_size=10, steps=100, low=1.0, high=2.0, samples=10_000),
    budget=budget,
    printed=PRINTED,
    quick_too=("mclstm-tuned",),  # the only model that solves the operations in so few updates
)


def claims(rows: Sequence[Row]) -> list[Claim]:
    """The paper's comparisons: its rates, and the rivals it names."""
    rivals = {"addition": "nau", "subtraction": "nau", "multiplication": "nmu"}
    return [
        *(claim for operation in OPERATIONS for claim in reaches(rows, "mclstm", operation)),
        *(claim for where, aim in TUNED_AIMS.items() for claim in solves(rows, "mclstm-tuned", where, aim)),
        *(claim for where, rival in rivals.items() for claim in beats(rows, "mclstm", rival, where)),
    ]


def readings(plan: Plan, results: Mapping[str, Result]) -> Drawing:
    """No figures, and a reading of one trained member for each model with gates and each operation."""
    every: dict[str, Any] = {}
    readable = [job for job in jobs(ARITHMETIC, plan) if job.parameters["model"].startswith("mclstm")]
    for (model, operation), members in finished_by(readable, results, "model", "operation").items():
        job, member, unsolved = worth_reading(members, results, plan.options.protocol)
        seeds = job.parameters["seeds"]
        recipe = recurrent_recipe(model, operation, plan.options.protocol)
        network = one_member(recipe, seeds, member, plan.jobs_dir / job.name)
        count = sum(len(one.parameters["seeds"]) for one in members)
        every[f"{model}, {operation}"] = reading(network, operation, seeds[member], count, unsolved)
    return {}, every


EXPERIMENT = experiment(
    ARITHMETIC,
    claims=claims,
    figures_of_jobs=readings,
    figures_of_rows=weight_figures,
    outdated=outdated,
    blocks=BLOCKS,
    summary=SUMMARY,
    headlines=HEADLINES,
    switches=SWITCHES,
)
