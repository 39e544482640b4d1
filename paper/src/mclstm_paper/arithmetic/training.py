"""How members learn an arithmetic task: batches, losses, errors, and what came of every member."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

from mclstm.jobs.job import Result
from mclstm_paper.arithmetic.kernel_training import native_learning
from mclstm_paper.arithmetic.task import Task
from mclstm_paper.baselines import UNITS
from mclstm_paper.baselines.regularisers import sparsity_error
from mclstm_paper.seeds.member_ensemble import Ensemble
from mclstm_paper.seeds.networks import sources
from mclstm_paper.seeds.recipes import Recipe, member_errors
from mclstm_paper.seeds.training_loop import Problem

__all__ = ["ahead", "errors_of", "in_parts", "outcome", "problem"]

# Batches are drawn for this many members times updates at once. That halves the time for one member; more
# batches leave the cache before they are used, and for a hundred members drawing takes twice as long.
AT_ONCE = 16
Batch = TypeVar("Batch")
Errors = Callable[[Callable[..., Tensor], int], dict[str, Tensor]]  # (network, update) -> errors (E,) by name


def problem(model: str, recipe: Recipe, task: Task, errors: Errors, limit: float) -> Problem:
    """Members that learn a task: squared error and penalty, clamp, sparsity, and how many solved it."""
    network, batches = recipe.build(sources(list(task.seeds))), ahead(task.trains, len(task.seeds))

    def losses(update: int) -> Tensor:
        *inputs, target = batches(update)
        loss = member_errors(network(*inputs), target)
        penalty = recipe.penalty(network, update)
        return loss if penalty is None else loss + penalty

    def evaluate(update: int) -> dict[str, Tensor]:
        sparsity = {"sparsity": sparsity_error(network)} if model in UNITS else {}
        return errors(network, update) | sparsity

    def note(ensemble: Ensemble) -> str:
        solved = int((ensemble.at_best("test") < limit).sum())  # counted as in the table
        failed = int((ensemble.failed >= 0).sum())
        return f"{solved} of {len(task.seeds)} seeds solved" + (f", {failed} failed" if failed else "")

    advance = native_learning(network, recipe, task)
    return Problem(network, losses, evaluate, recipe.clamped, note, recipe.decay, recipe.epsilon, advance)


def ahead(trains: Callable[[int, int], Sequence[Batch]], members: int) -> Callable[[int], Batch]:
    """The batch of an update, drawn together with those that follow: `trains(first update, updates)`.

    >>> batch = ahead(lambda first, updates: list(range(first, first + updates)), members=5)
    >>> [batch(update) for update in (7, 8, 9, 10, 3)]
    [7, 8, 9, 10, 3]
    """
    updates, waiting = max(1, AT_ONCE // members), dict[int, Batch]()

    def batch(update: int) -> Batch:
        if update not in waiting:
            waiting.clear()
            waiting.update(enumerate(trains(update, updates), start=update))
        return waiting.pop(update)

    return batch


def errors_of(task: Task, every: int) -> Errors:
    """Validation and test error of every member; sets that stay the same are drawn once.

    every: updates between two evaluations
    """

    def draw(number: int) -> dict[str, tuple[Tensor, ...]]:
        return {name: task.evaluation(name, number) for name in ("validation", "test")}

    fixed = None if task.fresh else draw(0)

    def errors(network: Callable[..., Tensor], update: int) -> dict[str, Tensor]:
        sets = fixed or draw(update // every)
        return {name: in_parts(network, x, y, task.samples_at_once) for name, (*x, y) in sets.items()}

    return errors


def in_parts(
    network: Callable[..., Tensor],
    inputs: Sequence[Tensor],  # (..., B, n) each
    target: Tensor,  # (E, B, 1)
    part: int = 250,  # samples that the network sees at once
) -> Tensor:
    """Mean squared error of every member in float64, a part of the samples at a time: (E,)."""
    total = torch.zeros(target.shape[0], dtype=torch.float64)
    for at in range(0, target.shape[1], part):
        y = network(*(value[..., at : at + part, :] for value in inputs))
        total += (y.double() - target[:, at : at + part].double()).square().sum(dim=(1, 2))
    return total / target.shape[1]


def outcome(ensemble: Ensemble, limits: Mapping[str, float]) -> Result:
    """What came of every member, by the evaluation with its lowest validation error.

    solved: the test error there is below the threshold; solved_at: the first update with such an error.
    """
    updates, test = torch.tensor(ensemble.noted), ensemble.at_best("test")
    result: dict[str, Any] = {
        "best": updates[ensemble.best_evaluation()].tolist(),
        "validation": ensemble.at_best("validation").tolist(),
        "test": test.tolist(),
        "failed": ensemble.failed.tolist(),
        "solved": {},
        "solved_at": {},
    }
    for name, limit in limits.items():
        below = ensemble.record("test") < limit
        first = updates[below.to(torch.uint8).argmax(dim=0)]
        result["solved"][name] = (test < limit).tolist()
        result["solved_at"][name] = torch.where(below.any(dim=0), first, -1).tolist()
    if "sparsity" in ensemble.records:
        result["sparsity"] = ensemble.at_best("sparsity").tolist()
    return result
