"""Two overlapping subsets of the inputs and the operation between their sums."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from mclstm.nn.arguments import one_of

__all__ = ["OPERATIONS", "combine", "expected", "layout", "subset_masks", "subset_sums"]

OPERATIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "addition": torch.add,
    "subtraction": torch.sub,
    "multiplication": torch.mul,
}


def combine(operation: str, sums: Tensor) -> Tensor:
    """Apply an operation by name to the two sums (..., 2) -> (..., 1).

    >>> combine("subtraction", torch.tensor([5.0, 3.0])).tolist()
    [2.0]
    """
    return OPERATIONS[one_of("operation", operation, OPERATIONS)](sums[..., :1], sums[..., 1:])


def layout(input_size: int, subset_ratio: float = 0.25, overlap_ratio: float = 0.5) -> tuple[int, int]:
    """The size s of a subset and the number v of elements both have, rounded down.

    >>> layout(100), layout(10)
    ((25, 12), (2, 1))
    """
    size = int(subset_ratio * input_size)
    return size, int(overlap_ratio * size)


def subset_masks(input_size: int, seeds: Sequence[int]) -> Tensor:
    """1 for the members of [0, s) and [s - v, 2s - v), shifted by an offset that the seed decides: (E, 2, n).

    The offset is the one of the published code, `RandomState(seed).randint(0, n - (2s - v) + 1)`.

    >>> subset_masks(10, [0])[0].int().tolist()
    [[0, 0, 0, 0, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1, 1, 0, 0, 0]]
    """
    size, overlap = layout(input_size)
    span = 2 * size - overlap
    offsets = [np.random.RandomState(seed).randint(0, input_size - span + 1) for seed in seeds]
    starts = torch.tensor(offsets).unsqueeze(1) + torch.tensor([0, size - overlap])
    place = torch.arange(input_size) - starts.unsqueeze(-1)
    return ((place >= 0) & (place < size)).to(torch.float32)


def subset_sums(
    x: Tensor,  # (B, n) shared or (E, B, n)
    masks: Tensor,  # (E, 2, n)
    dtype: torch.dtype = torch.float64,
) -> Tensor:
    """The two sums of every member's samples: (E, B, 2)."""
    masks = masks.to(dtype)
    return torch.matmul(x.to(dtype), masks.transpose(1, 2))


def expected(operation: str, input_size: int, steps: int, low: float, high: float) -> float:
    """The mean of the target over U[low, high) inputs, the best constant prediction.

        E[A + B] = 2 m,    E[A - B] = 0,    E[A B] = m² + T v (high - low)² / 12,    m = T s (low + high) / 2

    >>> expected("addition", 100, 1, 1.0, 2.0), expected("multiplication", 10, 10, 1.0, 2.0)
    (75.0, 900.8333333333334)
    """
    size, overlap = layout(input_size)
    mean = steps * size * (low + high) / 2
    shared = steps * overlap * (high - low) ** 2 / 12
    return {"addition": 2 * mean, "subtraction": 0.0, "multiplication": mean**2 + shared}[operation]
