"""What training and thresholds need of an arithmetic task, recurrent or static."""

import typing
from collections.abc import Sequence

from torch import Tensor

from mclstm_paper.arithmetic.subsets import Subsets

__all__ = ["Batch", "Task"]

Batch = tuple[Tensor, ...]  # inputs, first the numbers (..., B, n), then the targets (E, B, 1)


class Task(typing.Protocol):
    """An operation between the sums of two subsets, for E seeds with their own subsets and batches."""

    operation: str
    seeds: tuple[int, ...]
    input_size: int
    subsets: Subsets
    steps: int  # of a training sequence
    train_range: tuple[float, float]  # of the numbers in training
    fresh: bool  # whether every evaluation draws new samples
    samples_at_once: int  # of an evaluation, for memory

    def trains(self, first: int, updates: int, /) -> Sequence[Batch]:
        """The batches of several updates from `first` on."""

    def evaluation(self, name: str, number: int = 0, /) -> Batch:
        """The samples of the n-th evaluation, "validation" or "test"."""

    def exact(self, x: Tensor, /) -> Tensor:
        """The solution in float32: numbers (..., B, n) -> (E, B, 1)."""

    def constant(self, y: Tensor, /) -> Tensor:
        """The mean target of training, for every sample: y (E, B, 1) -> (E, B, 1)."""
