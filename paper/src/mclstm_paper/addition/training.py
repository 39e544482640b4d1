"""A job of the addition problem: members learn one training set, each in its own order, and are tested."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from mclstm.jobs.job import Result, Work
from mclstm.jobs.monitor import JobMonitor
from mclstm.training.order import locate, permutation
from mclstm_paper.addition.models import recipe as recipe_of
from mclstm_paper.addition.task import REGIMES, SPLITS, Addition, Regime, addition
from mclstm_paper.arithmetic.training import in_parts
from mclstm_paper.protocols import Protocol
from mclstm_paper.seeds.member_ensemble import Ensemble
from mclstm_paper.seeds.networks import MassConserving, sources
from mclstm_paper.seeds.recipes import Recipe, member_errors
from mclstm_paper.seeds.training_loop import Problem, train

__all__ = ["BATCH", "LEARN", "LONG", "learn", "regimes_with"]

BATCH = 128
STEPS_AT_ONCE = 1_000_000  # members times samples times steps that are tested together
# A long test for the models with a trash cell, which goes on filling; on a fifth of the test samples.
LONG, LONG_REGIME = "seq length 10000", Regime(10_000, 0.5, 2)


def learn(
    folder: Path,
    monitor: JobMonitor,
    goal: int,
    *,
    model: str,
    protocol: Protocol,
    seeds: list[int],
    learning_rate: float | None,
    evaluate_every: int,
    samples: Mapping[str, int],  # of the sets train, validation, test
) -> Result:
    """A job: members learn the training set, and the last weights of each are tested."""
    model_recipe = recipe_of(model, protocol)
    members = train(
        folder,
        monitor,
        goal,
        problem(model_recipe, protocol, seeds, samples),
        members=len(seeds),
        learning_rate=learning_rate or model_recipe.learning_rate,
        evaluate_every=evaluate_every,
    )
    test_errors = tested(members, protocol, samples["test"], long=model.startswith("mclstm"))
    return {
        "validation": members.record("validation")[-1].tolist(),
        "test": {name: value.tolist() for name, value in test_errors.items()},
        "failed": members.failed.tolist(),
    }


def problem(recipe: Recipe, protocol: Protocol, seeds: list[int], samples: Mapping[str, int]) -> Problem:
    """E members on one training set."""
    network = recipe.build(sources(seeds))
    batches = Shuffled(addition("train", protocol=protocol, samples=samples["train"]), seeds)
    validation = addition("validation", protocol=protocol, samples=samples["validation"])

    def losses(update: int) -> Tensor:
        x, a, y = batches(update)
        if recipe.cell_penalty:
            assert isinstance(network, MassConserving)
            sums, c = network.with_cells(x, a)
            loss = member_errors(sums, y) + recipe.cell_penalty * c.square().mean(dim=(1, 2, 3))
        else:
            loss = member_errors(network(x, a), y)
        penalty = recipe.penalty(network, update)
        return loss if penalty is None else loss + penalty

    def note(ensemble: Ensemble) -> str:
        last = ensemble.record("validation")[-1]
        failed = int((ensemble.failed >= 0).sum())
        return f"validation error {float(last.nanmedian()):.2g}" + (f", {failed} failed" if failed else "")

    def evaluate(update: int) -> dict[str, Tensor]:
        return {"validation": errors(network, validation, len(seeds))}

    return Problem(network, losses, evaluate, recipe.clamped, note)


class Shuffled:
    """Batches of a fixed set, shuffled differently for each member: functions of (seed, update).

    >>> x, a, y = Shuffled(addition("train", samples=200), seeds=[0, 1])(update=1)
    >>> x.shape, y.shape
    (torch.Size([2, 100, 72, 1]), torch.Size([2, 72, 1]))
    """

    def __init__(self, data: Addition, seeds: list[int]) -> None:
        self.x, self.a, self.y = data.x[..., 0], data.a[..., 0], data.y  # (T, N), (T, N), (N, 1)
        self.seeds, self.epoch, self.orders = seeds, -1, torch.empty(0)

    def __call__(self, update: int) -> Addition:
        """x, a (E, T, B, 1), samples side by side in memory, and y (E, B, 1)."""
        count = self.x.shape[1]
        epoch, position = locate(update, count, BATCH)
        if epoch != self.epoch:
            orders = [permutation(seed, epoch, count) for seed in self.seeds]
            self.epoch, self.orders = epoch, torch.from_numpy(np.stack(orders))
        index = self.orders[:, position * BATCH : (position + 1) * BATCH]
        x, a = (value.index_select(1, index.flatten()) for value in (self.x, self.a))
        x, a = (value.view(len(value), *index.shape).transpose(0, 1).unsqueeze(-1) for value in (x, a))
        return Addition(x, a, self.y[index])


def errors(network: Callable[..., Tensor], data: Addition, members: int) -> Tensor:
    """Mean squared error of every member on a set, (E,)."""
    x, a, y = data
    part = max(1, STEPS_AT_ONCE // (members * x.shape[0]))
    return in_parts(network, (x, a), y.expand(members, *y.shape), part)


def regimes_with(samples: int = SPLITS["test"], *, long: bool) -> dict[str, tuple[Regime, int]]:
    """The regimes by name with the number of their samples; `long` adds the one of 10,000 steps.

    >>> regimes_with(long=True)["seq length 10000"][1]
    200
    """
    sets = {name: (regime, samples) for name, regime in REGIMES.items()}
    return sets | ({LONG: (LONG_REGIME, max(1, samples // 5))} if long else {})


@torch.no_grad()
def tested(members: Ensemble, protocol: Protocol, samples: int, long: bool) -> dict[str, Tensor]:
    """The error of every member in every regime, (E,) each; NaN for members that failed."""
    by_regime = {}
    for name, (regime, many) in regimes_with(samples, long=long).items():
        data = addition("test", regime, protocol=protocol, samples=many)
        error = errors(members.model, data, members.members)
        by_regime[name] = torch.where(members.failed < 0, error, math.nan)
    return by_regime


LEARN = Work("addition", learn, formerly=("mclstm.experiments.addition_training.learn",))
