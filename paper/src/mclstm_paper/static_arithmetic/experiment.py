"""Static arithmetic: which models find two subsets of a hundred numbers so that it holds on a wider range."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from torch import Tensor

from mclstm.jobs.execution import Job, Result, Work
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
from mclstm_paper.arithmetic.models import STATIC, static_recipe
from mclstm_paper.arithmetic.printed import STATIC as PAPER
from mclstm_paper.arithmetic.subsets import OPERATIONS
from mclstm_paper.arithmetic.success import beats, matches, reaches, thresholds, trivial_rows
from mclstm_paper.arithmetic.tables import success_tables
from mclstm_paper.experiment import Experiment, Options, scale
from mclstm_paper.protocols import Protocol
from mclstm_paper.seeds.loop import train
from mclstm_paper.seeds.outcome import outcome
from mclstm_paper.seeds.recipes import Recipe
from mclstm_paper.static_arithmetic.task import StaticArithmetic

__all__ = ["EXPERIMENT", "LEARN", "learn"]

NAME = "static-arithmetic"
SEEDS = 100
UPDATES = {"addition": 500_000, "subtraction": 500_000, "multiplication": 3_000_000}
# Most seeds of MC-FC solve sums in these updates. Products take a million: of them a quick look shows errors.
QUICK_SEEDS, QUICK_UPDATES = 3, {"addition": 230_000, "subtraction": 230_000, "multiplication": 30_000}


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
    """A job: members learn an operation on numbers from 1 to 2 and are tested on numbers from 2 to 6."""
    task, made = StaticArithmetic(operation, seeds), static_recipe(model, operation)
    limits, drawn = thresholds(NAME, operation), ahead(task.trains, len(seeds))

    def batches(update: int) -> tuple[tuple[Tensor, ...], Tensor]:
        x, y = drawn(update)
        return (x,), y

    members = train(
        folder,
        watch,
        goal,
        problem(model, made, seeds, batches, errors_of(task), limits[protocol], task),
        members=len(seeds),
        learning_rate=learning_rate or made.learning_rate,
        evaluate_every=evaluate_every,
    )
    return outcome(members, limits)


LEARN = Work(NAME, learn, formerly=("mclstm.experiments.static_arithmetic.learn",))


def errors_of(task: StaticArithmetic) -> Callable[[Callable[..., Tensor], int], dict[str, Tensor]]:
    """Validation and test error of every member on the same samples every time."""
    sets = {"validation": task.validation(), "test": task.test()}

    def errors(network: Callable[..., Tensor], update: int) -> dict[str, Tensor]:
        return {name: in_parts(network, (x,), y, part=2_000) for name, (x, y) in sets.items()}

    return errors


def jobs(options: Options) -> list[Job]:
    """One job for every model, operation and block of seeds."""
    return arithmetic_jobs(
        NAME,
        options,
        LEARN,
        STATIC,
        {},
        lambda model, operation: scale(
            options, (QUICK_SEEDS, QUICK_UPDATES[operation]), (SEEDS, UPDATES[operation])
        ),
        recipe,
    )


def recipe(model: str, operation: str, protocol: Protocol) -> Recipe:
    """How a model is trained, which is the same under both protocols."""
    return static_recipe(model, operation)


def rows(options: Options, results: Mapping[str, Result]) -> list[Row]:
    """The rows of the jobs."""
    return arithmetic_rows(jobs(options), results, PAPER, recipe)


def trivial(options: Options) -> list[Row]:
    """The mean target of the training range, and the sum in float32, on the wider range."""
    count, _ = scale(options, (QUICK_SEEDS, 0), (SEEDS, 0))
    seeds = list(range(options.first_seed, options.first_seed + count))
    made = []
    for operation in OPERATIONS:
        task = StaticArithmetic(operation, seeds)
        x, y = task.test()
        for model, found in {"constant": task.constant(y), "exact": task.exact(x)}.items():
            errors = (found.double() - y.double()).square().mean(dim=(1, 2))
            made += trivial_rows(model, operation, options.protocol, errors, thresholds(NAME, operation))
    return made


def claims(found: Sequence[Row]) -> list[Claim]:
    """The paper's comparisons: all seeds solved, as often as by NAU and NMU and more often than by NALU."""
    made = [claim for operation in OPERATIONS for claim in reaches(found, "mcfc", operation)]
    for operation, rival in (("addition", "nau"), ("subtraction", "nau"), ("multiplication", "nmu")):
        made += matches(found, "mcfc", rival, operation)
    return made + [c for operation in OPERATIONS for c in beats(found, "mcfc", "nalu", operation)]


EXPERIMENT = Experiment(
    name=NAME,
    models=tuple(STATIC),
    variants=(),
    jobs=jobs,
    rows=rows,
    restored=restored_by(recipe),
    trivial=trivial,
    claims=claims,
    table=success_tables,
    hears=("settings", "block", "rates", "add"),
    every_job=True,
)
