"""Recurrent arithmetic: an operation between the sums of two subsets of 10 numbers, added up over time."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mclstm.nn.arguments import one_of
from mclstm_paper.arithmetic.subsets import OPERATIONS, Subsets, combine, expected, moved, subset_sums
from mclstm_paper.protocols import Protocol
from mclstm_paper.recurrent_arithmetic.switches import FRESH_EVALUATION
from mclstm_paper.seeds.networks import end_marker
from mclstm_paper.seeds.streams import uniform

__all__ = ["EVALUATIONS", "Evaluation", "RecurrentArithmetic", "Sequences"]

EVALUATION_SEED = 8689336


class Sequences(NamedTuple):
    """Inputs, end marker and targets of a batch."""

    x: Tensor  # (E, T, B, n) training, (T, B, n) shared evaluation; samples lie side by side in memory
    a: Tensor  # (T, B, 1): 1, and -1 at the last step; the same memory for all samples
    y: Tensor  # (E, B, 1)


class Evaluation(NamedTuple):
    """The steps of an evaluation's sequences, and the range of its numbers."""

    steps: int
    low: float
    high: float


EVALUATIONS: dict[str, Evaluation] = {
    "validation": Evaluation(10, 1.0, 2.0),
    "test": Evaluation(100, 1.0, 2.0),
    "long": Evaluation(20, 1.0, 2.0),
    "range": Evaluation(10, 2.0, 6.0),
}


class RecurrentArithmetic:
    """The task for one operation and E seeds, each with its own subsets and its own stream of batches.

        y = (sum over t and k in S_1 of x_k^t) ∘ (sum over t and k in S_2 of x_k^t),    x^t ~ U[1, 2]^10

    Training sequences have 10 steps, test sequences 100; no table uses the other two of `EVALUATIONS`.

    >>> task = RecurrentArithmetic("multiplication", seeds=[0, 1, 2])
    >>> x, a, y = task.train(update=7)
    >>> x.shape, y.shape, task.evaluation("test", samples=5).x.shape
    (torch.Size([3, 10, 128, 10]), torch.Size([3, 128, 1]), torch.Size([100, 5, 10]))
    """

    steps = 10
    train_range = (1.0, 2.0)
    samples_at_once = 250  # of an evaluation, for memory

    def __init__(
        self, operation: str, seeds: Sequence[int], *, input_size: int = 10, protocol: Protocol = "stated"
    ) -> None:
        self.operation = one_of("operation", operation, OPERATIONS)
        self.seeds, self.input_size = tuple(seeds), input_size
        self.fresh = FRESH_EVALUATION.on(protocol)
        self.subsets = Subsets(input_size, self.seeds)

    def train(self, update: int, batch_size: int = 128) -> Sequences:
        """The batch of one update, (E, T, B, n): a function of the seeds and the update only."""
        return self.trains(update, 1, batch_size)[0]

    def trains(self, first: int, updates: int, batch_size: int = 128) -> list[Sequences]:
        """The batches of several updates at once, the same as one by one but cheaper."""
        u = uniform(self.seeds, "train", first, updates, (self.input_size, self.steps, batch_size))
        return self._sequences(moved(u, *self.train_range))

    def evaluation(self, name: str, number: int = 0, samples: int = 1_000) -> Sequences:
        """The sequences of the n-th evaluation, shared by all seeds; the same every time unless `fresh`."""
        steps, low, high = EVALUATIONS[one_of("evaluation", name, EVALUATIONS)]
        place = number if self.fresh else 0
        u = uniform([EVALUATION_SEED], name, place, 1, (self.input_size, steps, samples))
        x, a, y = self._sequences(moved(u, low, high))[0]
        return Sequences(x[0], a, y)

    def _sequences(self, x: Tensor) -> list[Sequences]:
        """Inputs (E, U, n, T, B), or (1, U, n, T, B) for all members, with their targets, one batch per U."""
        a, targets = end_marker(*x.shape[-2:]), self.subsets.targets(self.operation, x)
        return [Sequences(x[:, at].movedim(1, 3), a, y) for at, y in enumerate(targets)]

    def exact(self, x: Tensor) -> Tensor:
        """The solution in float32, accumulated step by step: (T, B, n) or (E, T, B, n) -> (E, B, 1)."""
        sums = torch.zeros(len(self.seeds), x.shape[-2], 2)
        for now in x.unbind(-3):
            sums = sums + subset_sums(now, self.subsets.masks, torch.float32)
        return combine(self.operation, sums)

    def constant(self, y: Tensor) -> Tensor:
        """The mean target of the training sequences, for every sample: y (E, B, 1) -> (E, B, 1)."""
        return torch.full_like(y, expected(self.operation, self.input_size, self.steps, *self.train_range))
