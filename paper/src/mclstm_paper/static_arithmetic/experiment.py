"""Static arithmetic: which models find two subsets of a hundred numbers so that it holds on a wider range."""

from collections.abc import Sequence

from mclstm_paper.arithmetic.experiment import Arithmetic, Budget, experiment
from mclstm_paper.arithmetic.subsets import OPERATIONS
from mclstm_paper.arithmetic.success import beats, matches, reaches
from mclstm_paper.arithmetic.switches import INCLUSIVE_SUBSETS
from mclstm_paper.arithmetic.thresholds import Setting
from mclstm_paper.protocols import Protocol
from mclstm_paper.results import Claim, Row
from mclstm_paper.seeds.recipes import Recipe
from mclstm_paper.static_arithmetic.models import STATIC, static_recipe
from mclstm_paper.static_arithmetic.page import BLOCKS, HEADLINES, SUMMARY, rejudge
from mclstm_paper.static_arithmetic.printed import PRINTED
from mclstm_paper.static_arithmetic.task import StaticArithmetic

__all__ = ["ARITHMETIC", "EXPERIMENT"]

UPDATES = {"addition": 500_000, "subtraction": 500_000, "multiplication": 3_000_000}
# Most seeds of MC-FC solve sums in these updates. Products take a million: a quick run only shows errors.
QUICK_UPDATES = {"addition": 230_000, "subtraction": 230_000, "multiplication": 30_000}


def task(operation: str, seeds: Sequence[int], protocol: Protocol) -> StaticArithmetic:
    """The samples of an operation, the same under both protocols."""
    return StaticArithmetic(operation, seeds)


def recipe(model: str, operation: str, protocol: Protocol) -> Recipe:
    """How a model is trained, the same under both protocols."""
    return static_recipe(model, operation)


def budget(model: str, operation: str, protocol: Protocol) -> Budget:
    """Seeds and updates, the same for all models."""
    return Budget(quick=(3, QUICK_UPDATES[operation]), paper=(100, UPDATES[operation]))


def claims(rows: Sequence[Row]) -> list[Claim]:
    """The paper's comparisons: all seeds solved, as often as by NAU and NMU and more often than by NALU."""
    rivals = {"addition": "nau", "subtraction": "nau", "multiplication": "nmu"}
    return [
        *(claim for operation in OPERATIONS for claim in reaches(rows, "mcfc", operation)),
        *(claim for where, rival in rivals.items() for claim in matches(rows, "mcfc", rival, where)),
        *(claim for operation in OPERATIONS for claim in beats(rows, "mcfc", "nalu", operation)),
    ]


ARITHMETIC = Arithmetic(
    name="static-arithmetic",
    formerly=("mclstm.experiments.static_arithmetic.learn",),
    task=task,
    recipe=recipe,
    models=STATIC,
    variants={},
    threshold=Setting(input_size=100, steps=1, low=2.0, high=6.0, samples=1_000_000),
    budget=budget,
    printed=PRINTED,
)
EXPERIMENT = experiment(
    ARITHMETIC,
    claims=claims,
    rejudge=rejudge,
    blocks=BLOCKS,
    summary=SUMMARY,
    headlines=HEADLINES,
    switches=(INCLUSIVE_SUBSETS,),
)
