"""A job of the MNIST sum: seeds of one model learn to add ten digits and are tested on up to a thousand."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor

from mclstm.jobs.job import Result, Work
from mclstm.jobs.monitor import JobMonitor
from mclstm.training.order import batch_indices, batches_per_epoch, locate
from mclstm_paper.mnist_sum.digits import Digits, find_mnist, normalised, read_mnist
from mclstm_paper.mnist_sum.models import RATE, RECIPES, SumModel, build, usual_rate
from mclstm_paper.mnist_sum.task import LENGTHS, chunks, digit_sums, exact, scored_steps
from mclstm_paper.protocols import Protocol
from mclstm_paper.seeds.member_ensemble import Ensemble
from mclstm_paper.seeds.networks import end_marker, sources
from mclstm_paper.seeds.training_loop import Problem, train

__all__ = ["SUMS", "every_digit", "learn", "scores", "some"]

STEPS = 10  # digits of a training and of a validation sequence


def learn(
    folder: Path,
    monitor: JobMonitor,
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
        monitor,
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
    """MNIST, read and checked once per process, for all its jobs."""
    return read_mnist(folder)


def some(digits: Mapping[str, Digits], images: Mapping[str, int]) -> dict[str, Digits]:
    """The first images of each split, as many as named."""
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
        sums, numbers = network(x, a)
        error = (sums - y)[:, scored].square().mean(dim=(1, 2, 3))
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

    Every image is read once for all lengths, since its number does not depend on the sequence.
    """
    read = [network.read(normalised(part).unsqueeze(1)) for part in torch.split(digits.images, 1_000)]
    numbers, count, errors = torch.cat(read, dim=1), len(digits.labels), dict[int, Tensor]()
    for length in lengths:
        if length > count:
            continue
        at = chunks(split, count, length).T
        y = network.memory(numbers[:, at], end_marker(*at.shape)).double()
        error = y - exact(digits.labels[at]).double()
        errors[length] = error[:, scored_steps(length, protocol)].square().mean(dim=(1, 2, 3))
    return errors


def result(members: Ensemble, test: Mapping[int, Tensor]) -> Result:
    """The result of a job: errors by length at the best validation, its update, and which members failed."""
    return {
        "test": {str(length): error.tolist() for length, error in test.items()},
        "validation": members.best_error.tolist(),
        "best": [members.noted[at] for at in members.best_evaluation().tolist()],
        "failed": members.failed.tolist(),
    }


SUMS = Work("mnist-sum", learn, formerly=("mclstm.experiments.mnist_sum.learning.learn",))
