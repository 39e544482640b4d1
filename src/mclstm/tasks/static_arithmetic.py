"""Static arithmetic: an operation between the sums of two subsets of a vector of 100 numbers."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mclstm.nn.arguments import one_of
from mclstm.tasks.streams import uniform
from mclstm.tasks.subsets import OPERATIONS, combine, expected, subset_masks, subset_sums

__all__ = ["Samples", "StaticArithmetic"]

# One set for all seeds, as in the published code; its members differ in the subsets that are asked for.
EVALUATION_SEED = 8689336


class Samples(NamedTuple):
    """Inputs and targets of a batch."""

    x: Tensor  # (E, B, n) training, (B, n) shared evaluation
    y: Tensor  # (E, B, 1)


class StaticArithmetic:
    """The task for one operation and E seeds, each with its own subsets and its own stream of batches.

        y = (sum of x_k, k in S_1) ∘ (sum of x_k, k in S_2),    x ~ U[1, 2]^100, in the test U[2, 6]^100

    >>> task = StaticArithmetic("addition", seeds=[0, 1, 2])
    >>> x, y = task.train(update=1_999_999)
    >>> x.shape, y.shape, task.test(samples=5).x.shape
    (torch.Size([3, 128, 100]), torch.Size([3, 128, 1]), torch.Size([5, 100]))
    """

    steps = 1
    train_range = (1.0, 2.0)
    test_range = (2.0, 6.0)

    def __init__(self, operation: str, seeds: Sequence[int], *, input_size: int = 100) -> None:
        self.operation = one_of("operation", operation, OPERATIONS)
        self.seeds, self.input_size = tuple(seeds), input_size
        self.masks = subset_masks(input_size, self.seeds)  # (E, 2, n)

    def train(self, update: int, batch_size: int = 128) -> Samples:
        """The batch of one update, (E, B, n): a function of the seeds and the update only."""
        return self.trains(update, 1, batch_size)[0]

    def trains(self, first: int, updates: int, batch_size: int = 128) -> list[Samples]:
        """The batches of several updates at once, the same as one by one but cheaper."""
        u = uniform(self.seeds, "train", first, updates, (batch_size, self.input_size))
        return [self.samples(x, self.train_range) for x in u.unbind(1)]

    def validation(self, samples: int = 10_000) -> Samples:
        """The fixed validation set on the training range, inputs shared by all seeds."""
        return self.samples(self._evaluation("validation", samples), self.train_range)

    def test(self, samples: int = 10_000) -> Samples:
        """The fixed test set on the wider range, inputs shared by all seeds."""
        return self.samples(self._evaluation("test", samples), self.test_range)

    def _evaluation(self, stream: str, samples: int) -> Tensor:
        return uniform([EVALUATION_SEED], stream, 0, 1, (samples, self.input_size))[0, 0]

    def samples(self, u: Tensor, bounds: tuple[float, float]) -> Samples:
        """Numbers u (..., B, n) in [0, 1) moved to a range in place, with targets computed in float64."""
        low, high = bounds
        x = u.add_(low) if high - low == 1.0 else u.mul_(high - low).add_(low)
        return Samples(x, combine(self.operation, subset_sums(x, self.masks)).to(x.dtype))

    def exact(self, x: Tensor) -> Tensor:
        """The solution in float32, as exact weights compute it: (B, n) or (E, B, n) -> (E, B, 1)."""
        return combine(self.operation, subset_sums(x, self.masks, torch.float32))

    def constant(self, y: Tensor) -> Tensor:
        """The mean target of the training range, whatever is asked: y (E, B, 1) -> (E, B, 1)."""
        return torch.full_like(y, expected(self.operation, self.input_size, self.steps, *self.train_range))
