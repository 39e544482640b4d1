"""What recurrent and static arithmetic share: how members learn an operation, and the list of jobs."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from mclstm.errors import ConfigError
from mclstm.jobs.execution import Job, Result, Work, finished_by
from mclstm.report.results import Row
from mclstm_paper.arithmetic.printed import Printed
from mclstm_paper.arithmetic.subsets import OPERATIONS
from mclstm_paper.arithmetic.success import solved_rows
from mclstm_paper.baselines.regularisers import sparsity_error
from mclstm_paper.earlier_results import restored_outcome
from mclstm_paper.experiment import Options, at_rate, blocks, chosen, other_rate
from mclstm_paper.protocols import Protocol
from mclstm_paper.recurrent_arithmetic.task import RecurrentArithmetic
from mclstm_paper.seeds.ensemble import Ensemble
from mclstm_paper.seeds.kernel_training import native_learning
from mclstm_paper.seeds.loop import Problem
from mclstm_paper.seeds.outcome import at_best
from mclstm_paper.seeds.recipes import Recipe, member_errors, sources
from mclstm_paper.static_arithmetic.task import StaticArithmetic

__all__ = ["ahead", "arithmetic_jobs", "arithmetic_rows", "in_parts", "problem", "restored_by"]

EVALUATE_EVERY = 1_000  # updates
# Members times updates whose batches are drawn at once. It halves the time of drawing for one member; batches
# of more do not stay in the cache until they are used, and for a hundred members that takes twice as long.
AT_ONCE = 16
Recipes = Callable[[str, str, Protocol], Recipe]  # (model, operation, protocol) -> how it is trained
Batch = TypeVar("Batch")
ARITHMETIC = ("nac", "nac-mul", "nalu", "nau", "nmu")


def problem(
    model: str,
    recipe: Recipe,
    seeds: list[int],
    batches: Callable[[int], tuple[tuple[Tensor, ...], Tensor]],  # update -> inputs, target (E, B, 1)
    errors: Callable[[Callable[..., Tensor], int], dict[str, Tensor]],  # (network, update) -> name: (E,)
    limit: float,
    task: StaticArithmetic | RecurrentArithmetic,
) -> Problem:
    """Members that learn an operation: squared error and penalty, clamp, sparsity, and how many solved it."""
    network = recipe.build(sources(seeds))

    def losses(update: int) -> Tensor:
        inputs, target = batches(update)
        loss = member_errors(network(*inputs), target)
        penalty = recipe.penalty(network, update)
        return loss if penalty is None else loss + penalty

    def evaluate(update: int) -> dict[str, Tensor]:
        found = errors(network, update)
        return found | ({"sparsity": sparsity_error(network)} if model in ARITHMETIC else {})

    def note(ensemble: Ensemble) -> str:
        solved = int((at_best(ensemble, "test") < limit).sum())  # as the table counts
        failed = int((ensemble.failed >= 0).sum())
        return f"{solved} of {len(seeds)} seeds solved" + (f", {failed} failed" if failed else "")

    advance = native_learning(network, recipe, task)
    return Problem(network, losses, evaluate, recipe.clamped, note, recipe.decay, recipe.epsilon, advance)


def ahead(trains: Callable[[int, int], list[Batch]], members: int) -> Callable[[int], Batch]:
    """The batch of an update, from `trains(first update, number of updates)`: the same as one by one.

    >>> batch = ahead(lambda first, updates: list(range(first, first + updates)), members=5)
    >>> [batch(update) for update in (7, 8, 9, 10, 3)]
    [7, 8, 9, 10, 3]
    """
    several, drawn = max(1, AT_ONCE // members), dict[int, Batch]()

    def batch(update: int) -> Batch:
        if update not in drawn:
            drawn.clear()
            drawn.update(enumerate(trains(update, several), start=update))
        return drawn.pop(update)

    return batch


def in_parts(
    network: Callable[..., Tensor], inputs: Sequence[Tensor], target: Tensor, part: int = 250
) -> Tensor:
    """Mean squared error of every member in float64, a part of the samples at a time: inputs (..., B, n)."""
    total = torch.zeros(target.shape[0], dtype=torch.float64)
    for at in range(0, target.shape[1], part):
        y = network(*(value[..., at : at + part, :] for value in inputs))
        total += (y.double() - target[:, at : at + part].double()).square().sum(dim=(1, 2))
    return total / target.shape[1]


def arithmetic_jobs(
    name: str,
    options: Options,
    work: Work,
    models: Mapping[str, tuple[str, ...]],
    variants: Mapping[str, tuple[str, ...]],
    scale: Callable[[str, str], tuple[int, int]],  # (model, operation) -> seeds, updates
    recipe: Recipes,
) -> list[Job]:
    """One job for every model, operation and block of seeds."""
    known = {**models, **variants}
    for wanted in options.settings or ():
        if wanted not in OPERATIONS:
            raise ConfigError(f"{name} has no setting {wanted!r}. Choose from {', '.join(OPERATIONS)}.")
    made = []
    for model in chosen(name, tuple(models), tuple(variants), options):
        for operation in known[model]:
            if options.settings is not None and operation not in options.settings:
                continue
            seeds, updates = scale(model, operation)
            usual = recipe(model, operation, options.protocol).learning_rate
            rate = other_rate(options, f"{model}/{operation}", usual)
            for block in blocks(options, seeds):
                parameters = {
                    "model": model,
                    "operation": operation,
                    "protocol": options.protocol,
                    "seeds": block,
                    "learning_rate": rate,
                    "evaluate_every": EVALUATE_EVERY,
                }
                where = f"{at_rate(f'{model}/{operation}', rate)}/seeds-{block[0]}-{block[-1]}"
                made.append(Job(where, work, parameters, updates))
    if not made:
        able = "; ".join(f"{m}: {', '.join(known[m])}" for m in options.models or ())
        raise ConfigError(f"{name} has no such operations of these models. Choose from {able}.")
    return made


def restored_by(recipe: Recipes) -> Callable[[Job, Sequence[Row]], Result | None]:
    """What a file holds of a job, for an experiment whose models are trained by these recipes."""

    def restored(job: Job, rows: Sequence[Row]) -> Result | None:
        asked = job.parameters
        usual = recipe(asked["model"], asked["operation"], asked["protocol"]).learning_rate
        return restored_outcome(job, rows, asked["learning_rate"] or usual)

    return restored


def arithmetic_rows(
    jobs: Sequence[Job],
    results: Mapping[str, Result],
    paper: Mapping[str, Mapping[str, Printed]],
    recipe: Recipes,
) -> list[Row]:
    """The rows of all finished jobs, blocks of seeds put together."""
    rows = []
    for (model, operation), members in finished_by(jobs, results, "model", "operation").items():
        found = [results[job.name] for job in members]
        printed = paper.get(model, {}).get(operation, (None, None))
        first = members[0].parameters
        usual = recipe(model, operation, first["protocol"]).learning_rate
        more = {
            "seeds": [seed for job in members for seed in job.parameters["seeds"]],
            "learning_rate": first["learning_rate"] or usual,
        }
        rows += solved_rows(model, operation, first["protocol"], found, members[0].goal, printed, **more)
    return rows
