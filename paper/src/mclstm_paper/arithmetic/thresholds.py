"""Success thresholds: the error of the exact solution with every weight a little off."""

from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from mclstm_paper.arithmetic.subsets import combine, layout
from mclstm_paper.arithmetic.switches import INCLUSIVE_SUBSETS
from mclstm_paper.protocols import PROTOCOLS, Protocol
from mclstm_paper.seeds.streams import uniform

__all__ = ["Setting", "success_threshold", "thresholds"]


class Setting(NamedTuple):
    """The test of a task, and the number of samples for its threshold in the published scripts."""

    input_size: int
    steps: int
    low: float
    high: float
    samples: int


CHUNK = 1_000_000  # numbers drawn at once


@lru_cache(maxsize=64)
def success_threshold(
    setting: Setting,
    operation: str,
    protocol: Protocol = "stated",
    *,
    epsilon: float = 1e-5,
    samples: int | None = None,
    seed: int = 0,
) -> float:
    """The test error below which a task counts as solved: the MSE of a solution with all weights off by ε.

        hidden_t = (1 - ε) hidden_{t-1} + W x_t,    W = 1 - ε inside a subset, ε outside
        threshold = mean of (hidden_1 ∘ hidden_2 - y)²

    The operation itself is exact. "published" has subsets of s + 1 elements, by inclusive indexing.

    >>> f"{success_threshold(Setting(100, 1, 2.0, 6.0, samples=1_000), 'addition'):.1e}"
    '1.6e-05'
    """
    wide = layout(setting.input_size)[0] + int(INCLUSIVE_SUBSETS.on(protocol))
    total = setting.samples if samples is None else samples
    each = max(1, min(total, CHUNK // (setting.steps * setting.input_size)))
    masks, squares = first_subsets(setting.input_size, wide), 0.0
    for at in range(-(-total // each)):
        batch = min(each, total - at * each)
        u = uniform([seed], "threshold", at, 1, (each, setting.steps, setting.input_size))[0, 0, :batch]
        x = setting.low + (setting.high - setting.low) * u.double()
        squares += float(squared_error(x, masks, operation, epsilon).sum())
    return squares / total


def thresholds(setting: Setting, operation: str) -> dict[str, float]:
    """The success threshold of each protocol."""
    return {protocol: success_threshold(setting, operation, protocol) for protocol in PROTOCOLS}


def first_subsets(input_size: int, wide: int) -> Tensor:
    """The unshifted subsets, `wide` elements each: (2, n); the error does not depend on the offset."""
    size, overlap = layout(input_size)
    place = torch.arange(input_size) - torch.tensor([[0], [size - overlap]])
    return ((place >= 0) & (place < wide)).double()


def squared_error(x: Tensor, masks: Tensor, operation: str, epsilon: float) -> Tensor:
    """(perturbed - exact)² of samples x (N, T, n) for subsets (2, n): (N, 1)."""
    steps = x.shape[1]
    remaining = (1.0 - epsilon) ** torch.arange(steps - 1, -1, -1, dtype=x.dtype)
    off = masks * (1.0 - 2.0 * epsilon) + epsilon
    perturbed = torch.einsum("btn,t->bn", x, remaining) @ off.T
    return (combine(operation, perturbed) - combine(operation, x.sum(dim=1) @ masks.T)).square()
