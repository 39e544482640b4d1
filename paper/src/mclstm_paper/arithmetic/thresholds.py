"""Success thresholds: the error of the exact solution with every weight a little off."""

from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from mclstm.nn.arguments import one_of
from mclstm_paper.arithmetic.subsets import combine, layout
from mclstm_paper.protocols import Protocol, switched
from mclstm_paper.seeds.streams import uniform

__all__ = ["SETTINGS", "Setting", "success_threshold"]


class Setting(NamedTuple):
    """On what a task is tested, and on how many samples the published scripts computed its threshold."""

    input_size: int
    steps: int
    low: float
    high: float
    samples: int


SETTINGS: dict[str, Setting] = {
    "static-arithmetic": Setting(100, 1, 2.0, 6.0, 1_000_000),
    "recurrent-arithmetic": Setting(10, 100, 1.0, 2.0, 10_000),
}

CHUNK = 1_000_000  # numbers drawn at once


@lru_cache(maxsize=64)
def success_threshold(
    task: str,
    operation: str,
    protocol: Protocol = "stated",
    *,
    epsilon: float = 1e-5,
    samples: int | None = None,
    seed: int = 0,
) -> float:
    """The test error below which a task counts as solved: the MSE of a solution that is off by ε everywhere.

        hidden_t = (1 - ε) hidden_{t-1} + W x_t,    W = 1 - ε inside a subset, ε outside
        threshold = mean of (hidden_1 ∘ hidden_2 - y)²

    The operation itself is exact. "published": subsets of s + 1 elements, by inclusive indexing.

    >>> f"{success_threshold('static-arithmetic', 'addition', samples=1_000):.1e}"
    '1.6e-05'
    """
    setting = SETTINGS[one_of("task", task, SETTINGS)]
    wide = layout(setting.input_size)[0] + int(switched("thresholds: inclusive subsets", protocol))
    total = setting.samples if samples is None else samples
    each = max(1, min(total, CHUNK // (setting.steps * setting.input_size)))
    masks, squares = first_subsets(setting.input_size, wide), 0.0
    for at in range(-(-total // each)):
        batch = min(each, total - at * each)
        u = uniform([seed], "threshold", at, 1, (each, setting.steps, setting.input_size))[0, 0, :batch]
        x = setting.low + (setting.high - setting.low) * u.double()
        squares += float(squared_error(x, masks, operation, epsilon).sum())
    return squares / total


def first_subsets(input_size: int, wide: int) -> Tensor:
    """The unshifted subsets, `wide` elements each: (2, n); the error does not depend on the offset."""
    size, overlap = layout(input_size)
    place = torch.arange(input_size) - torch.tensor([[0], [size - overlap]])
    return ((place >= 0) & (place < wide)).double()


def squared_error(x: Tensor, masks: Tensor, operation: str, epsilon: float) -> Tensor:
    """(perturbed - exact)² of samples x (N, T, n) for subsets (2, n): (N, 1)."""
    steps = x.shape[1]
    kept = (1.0 - epsilon) ** torch.arange(steps - 1, -1, -1, dtype=x.dtype)
    off = masks * (1.0 - 2.0 * epsilon) + epsilon
    perturbed = torch.einsum("btn,t->bn", x, kept) @ off.T
    return (combine(operation, perturbed) - combine(operation, x.sum(dim=1) @ masks.T)).square()
