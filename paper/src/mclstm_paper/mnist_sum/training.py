"""A job of the MNIST sum: seeds of one model learn to add ten digits and are tested on up to a thousand."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mclstm.jobs.execution import Result, Work
from mclstm.jobs.monitor import Watch
from mclstm.training.order import batch_indices, batches_per_epoch, locate
from mclstm_paper.mnist_sum.digits import Digits, find_mnist, normalised, read_mnist
from mclstm_paper.mnist_sum.models import RATE, RECIPES, SumModel, build, usual_rate
from mclstm_paper.mnist_sum.task import LENGTHS, chunks, digit_sums, exact, scored_steps
from mclstm_paper.protocols import Protocol
from mclstm_paper.seeds.ensemble import Ensemble
from mclstm_paper.seeds.loop import Problem, train
from mclstm_paper.seeds.marker import end_marker
from mclstm_paper.seeds.outcome import lowest
from mclstm_paper.seeds.recipes import sources

__all__ = ["SUMS", "every_digit", "learn", "scores", "some"]

STEPS = 10  # digits of a training and of a validation sequence


def learn(
    folder: Path,
    watch: Watch,
    goal: int,
    *,
    model: str,
    protocol: Protocol,
    seeds: list[int],
    images: Mapping[str, int],
    batch_size: int,
    learning_rate: float | None,
    updates: int | None,
    data: str | None = None,
) -> Result:
    """Train to update `goal`; test with the weights of the lowest validation error, looked at every epoch.

    images: how many of each split are used. learning_rate: of the memory, instead of the recipe's. updates:
    for how long a penalty with a schedule is planned. data: where MNIST lies. The result has the test error
    of every seed by length.
    """
    digits = some(every_digit(find_mnist(data)), images)
    problem = sums(model, protocol, seeds, digits, batch_size, updates or goal)
    members = train(
        folder,
        watch,
        goal,
        problem,
        members=len(seeds),
        learning_rate={"front": RATE, "memory": learning_rate or usual_rate(model, protocol)},
        evaluate_every=batches_per_epoch(images["train"] // STEPS, batch_size),
    )
    members.use_best()
    assert isinstance(problem.model, SumModel)
    return result(members, scores(problem.model, digits["test"], "test", LENGTHS, protocol))


@lru_cache(maxsize=1)
def every_digit(folder: Path | None) -> dict[str, Digits]:
    """MNIST, read and checked once a process: jobs follow each other in it."""
    return read_mnist(folder)


def some(digits: Mapping[str, Digits], images: Mapping[str, int]) -> dict[str, Digits]:
    """The first so many images of each split."""
    return {
        split: Digits(part.images[: images[split]], part.labels[: images[split]])
        for split, part in digits.items()
    }


def sums(
    model: str,
    protocol: Protocol,
    seeds: list[int],
    digits: Mapping[str, Digits],
    batch_size: int,
    updates: int,
) -> Problem:
    """What the members learn: the mean squared error of the scored steps, and the penalty of the model."""
    network, recipe = build(model, protocol, sources(seeds)), RECIPES[model]
    where = chunks("train", len(digits["train"].labels), STEPS, seeds)
    scored = scored_steps(STEPS, protocol)

    def losses(update: int) -> Tensor:
        epoch, position = locate(update, where.shape[1], batch_size)
        index = torch.stack(
            [
                one[torch.from_numpy(batch_indices(seed, epoch, position, len(one), batch_size).copy())]
                for seed, one in zip(seeds, where, strict=True)
            ]
        )
        x, a, y = digit_sums(digits["train"], index)
        found, numbers = network(x, a)
        error = (found - y)[:, scored].square().mean(dim=(1, 2, 3))
        penalty: Tensor = recipe.penalty(network, numbers, update, updates)
        loss: Tensor = error + penalty
        return loss

    def evaluate(update: int) -> dict[str, Tensor]:
        return {"validation": scores(network, digits["validation"], "validation", (STEPS,), protocol)[STEPS]}

    def note(members: Ensemble) -> str:
        return "validation mse " + ", ".join(f"{error:.3g}" for error in members.record("validation")[-1])

    return Problem(network, losses, evaluate, recipe.clamped, note)


@torch.no_grad()
def scores(
    network: SumModel, digits: Digits, split: str, lengths: tuple[int, ...], protocol: Protocol
) -> dict[int, Tensor]:
    """Mean squared error of every member (E,) by length; lengths that the images do not fill are left out.

    What an image shows does not depend on its sequence: every image is read once for all lengths.
    """
    read = [network.read(normalised(part).unsqueeze(1)) for part in torch.split(digits.images, 1_000)]
    numbers, count, found = torch.cat(read, dim=1), len(digits.labels), {}
    for length in lengths:
        if length > count:
            continue
        at = chunks(split, count, length).T
        y = network.memory(numbers[:, at], end_marker(*at.shape)).double()
        error = y - exact(digits.labels[at]).double()
        found[length] = error[:, scored_steps(length, protocol)].square().mean(dim=(1, 2, 3))
    return found


def result(members: Ensemble, test: Mapping[int, Tensor]) -> Result:
    """What is kept of a job: errors by length at the best validation, when that was, and who failed."""
    kept: dict[str, Any] = {
        "test": {str(length): error.tolist() for length, error in test.items()},
        "validation": members.best_error.tolist(),
        "best": [members.noted[at] for at in lowest(members).tolist()],
        "failed": members.failed.tolist(),
    }
    return kept


SUMS = Work("mnist-sum", learn, formerly=("mclstm.experiments.mnist_sum.learning.learn",))
