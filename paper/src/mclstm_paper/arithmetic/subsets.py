"""Two overlapping subsets of the inputs and the operation between their sums."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from mclstm.nn.arguments import one_of

__all__ = ["OPERATIONS", "Subsets", "combine", "expected", "layout", "moved", "subset_masks", "subset_sums"]

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
    """The size s of a subset and the number v of shared elements, both rounded down.

    >>> layout(100), layout(10)
    ((25, 12), (2, 1))
    """
    size = int(subset_ratio * input_size)
    return size, int(overlap_ratio * size)


def subset_masks(input_size: int, seeds: Sequence[int]) -> Tensor:
    """1 for the elements of [0, s) and [s - v, 2s - v), shifted by an offset from the seed: (E, 2, n).

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


class Subsets:
    """The subsets of E seeds among n inputs, and the targets of batches.

    >>> Subsets(10, seeds=[0, 1]).targets("addition", torch.ones(2, 3, 10, 7, 5))[2].unique().tolist()
    [28.0]
    """

    def __init__(self, input_size: int, seeds: Sequence[int]) -> None:
        self.masks = subset_masks(input_size, seeds)  # (E, 2, n)
        # The 2s - v inputs that are in a subset: (E, 2s - v); which subset they are in: (E, 2, 2s - v).
        self.used = self.masks.amax(dim=1).nonzero()[:, 1].view(len(self.masks), -1)
        self.used_masks = self.masks.gather(2, self.used.unsqueeze(1).expand(-1, 2, -1)).double()

    def targets(self, operation: str, x: Tensor) -> list[Tensor]:
        """y (E, B, 1) of each of U batches: x (E, U, n, T, B), or (1, U, n, T, B) shared by all members.

        Only the inputs that are in a subset are converted to float64 and added up.
        """
        groups, updates, inputs, steps, batch = x.shape
        rows = torch.arange(groups).expand(len(self.used)).unsqueeze(1) * updates * inputs + self.used
        flat, every = x.view(-1, steps * batch), []
        for at in range(updates):
            used = flat.index_select(0, (rows + at * inputs).flatten()).view(*rows.shape, steps, batch)
            sums = torch.bmm(self.used_masks, used.double().sum(dim=2)).transpose(1, 2)
            every.append(combine(operation, sums).to(x.dtype))
        return every


def moved(u: Tensor, low: float, high: float) -> Tensor:
    """Numbers in [0, 1) moved to [low, high) in place.

    >>> moved(torch.tensor([0.0, 0.5]), 2.0, 6.0).tolist()
    [2.0, 4.0]
    """
    return u.add_(low) if high - low == 1.0 else u.mul_(high - low).add_(low)


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
