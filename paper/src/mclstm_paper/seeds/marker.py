"""The marker of the end, the auxiliary input of tasks that ask for an answer at the last step."""

import torch
from torch import Tensor

__all__ = ["end_marker"]


def end_marker(steps: int, samples: int) -> Tensor:
    """1, and -1 at the last step: (T, B, 1), one number a step for all samples.

    >>> end_marker(steps=3, samples=2)[..., 0].tolist()
    [[1.0, 1.0], [1.0, 1.0], [-1.0, -1.0]]
    """
    a = torch.ones(steps, 1, 1)
    a[-1] = -1.0
    return a.expand(-1, samples, 1)
