"""Static arithmetic: an operation between the sums of two subsets of a vector of 100 numbers."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mclstm.nn.arguments import one_of
from mclstm_paper.arithmetic.subsets import OPERATIONS, Subsets, combine, expected, moved, subset_sums
from mclstm_paper.seeds.streams import uniform

__all__ = ["Samples", "StaticArithmetic"]

# One set for all seeds, as in the published code; the targets differ, since every seed has its own subsets.
EVALUATION_SEED = 8689336
EVALUATIONS: dict[str, tuple[float, float]] = {"validation": (1.0, 2.0), "test": (2.0, 6.0)}  # ranges


class Samples(NamedTuple):
    """Inputs and targets of a batch."""

    x: Tensor  # (E, B, n) training, (B, n) shared evaluation; samples lie side by side in memory
    y: Tensor  # (E, B, 1)


class StaticArithmetic:
    """The task for one operation and E seeds, each with its own subsets and its own stream of batches.

        y = (sum of x_k, k in S_1) ∘ (sum of x_k, k in S_2),    x ~ U[1, 2]^100, in the test U[2, 6]^100

    >>> task = StaticArithmetic("addition", seeds=[0, 1, 2])
    >>> x, y = task.train(update=1_999_999)
    >>> x.shape, y.shape, task.evaluation("test", samples=5).x.shape
    (torch.Size([3, 128, 100]), torch.Size([3, 128, 1]), torch.Size([5, 100]))
    """

    steps = 1
    train_range = (1.0, 2.0)
    fresh = False  # the evaluation sets stay the same
    samples_at_once = 2_000  # of an evaluation, for memory

    def __init__(self, operation: str, seeds: Sequence[int], *, input_size: int = 100) -> None:
        self.operation = one_of("operation", operation, OPERATIONS)
        self.seeds, self.input_size = tuple(seeds), input_size
        self.subsets = Subsets(input_size, self.seeds)

    def train(self, update: int, batch_size: int = 128) -> Samples:
        """The batch of one update, (E, B, n): a function of the seeds and the update only."""
        return self.trains(update, 1, batch_size)[0]

    def trains(self, first: int, updates: int, batch_size: int = 128) -> list[Samples]:
        """The batches of several updates at once, the same as one by one but cheaper."""
        u = uniform(self.seeds, "train", first, updates, (self.input_size, 1, batch_size))
        return self._samples(moved(u, *self.train_range))

    def evaluation(self, name: str, number: int = 0, samples: int = 10_000) -> Samples:
        """The validation set, on the training range, or the test set, on a wider one; shared by all seeds.

        The sets are the same in every evaluation: `number` has no effect.
        """
        bounds = EVALUATIONS[one_of("evaluation", name, EVALUATIONS)]
        u = uniform([EVALUATION_SEED], name, 0, 1, (self.input_size, 1, samples))
        x, y = self._samples(moved(u, *bounds))[0]
        return Samples(x[0], y)

    def _samples(self, x: Tensor) -> list[Samples]:
        """Inputs (E, U, n, 1, B), or (1, U, n, 1, B) for all members, with their targets, one batch per U."""
        targets = self.subsets.targets(self.operation, x)
        return [Samples(x[:, at, :, 0].mT, y) for at, y in enumerate(targets)]

    def exact(self, x: Tensor) -> Tensor:
        """The solution in float32, as exact weights compute it: (B, n) or (E, B, n) -> (E, B, 1)."""
        return combine(self.operation, subset_sums(x, self.subsets.masks, torch.float32))

    def constant(self, y: Tensor) -> Tensor:
        """The mean target of the training range, for every sample: y (E, B, 1) -> (E, B, 1)."""
        return torch.full_like(y, expected(self.operation, self.input_size, self.steps, *self.train_range))
