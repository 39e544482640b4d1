"""Row-stochastic maps: logits in, rows that are non-negative and sum to one out, whatever the logits.

The paper writes columns (left-stochastic, new = R c); here states are rows (new = c R), so rows sum to one.
A row without a positive entry would lose its mass under a plain normalised ReLU: `fallback` says where it
goes.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

__all__ = ["NORMALISERS", "bounded", "normalise", "sigmoid", "sigmoid_floor"]


def bounded(z: Tensor) -> Tensor:
    """Logits kept where sums and products of a few of them stay finite: |z| <= max ** (1/4), about 4e9.

    Gates that see a mass of 1e30 overflow otherwise, and inf - inf would turn a row into NaN.

    z, result: any shape

    >>> bounded(torch.tensor([1.0, -torch.inf])).tolist()
    [1.0, -4294967296.0]
    """
    limit = torch.finfo(z.dtype).max ** 0.25
    return z.clamp(-limit, limit)


def softmax_rows(z: Tensor, fallback: Tensor, mask: Tensor | None) -> Tensor:
    """exp(z_j) / sum_n exp(z_n); never needs the fallback, for exp is positive.

    z, result: (..., N, K) · fallback: (N, K) or (K,) · mask: (N, K) bool or None
    """
    return torch.softmax(z if mask is None else z.masked_fill(~mask, -torch.inf), dim=-1)


def sigmoid_rows(z: Tensor, fallback: Tensor, mask: Tensor | None) -> Tensor:
    """σ(z_j) / sum_n σ(z_n), as a softmax of log σ: rows of very negative logits keep their proportions.

    z, result: (..., N, K) · fallback: (N, K) or (K,) · mask: (N, K) bool or None
    """
    return softmax_rows(logsigmoid(z), fallback, mask)


def relu_rows(z: Tensor, fallback: Tensor, mask: Tensor | None) -> Tensor:
    """max(z_j, 0) / sum_n max(z_n, 0), and `fallback` for a row with no positive entry.

    z, result: (..., N, K) · fallback: (N, K) or (K,) · mask: (N, K) bool or None
    """
    positive = torch.relu(z if mask is None else z.masked_fill(~mask, 0.0))
    total = positive.sum(dim=-1, keepdim=True)
    alive = total > 0
    return torch.where(alive, positive / torch.where(alive, total, 1.0), fallback)


NORMALISERS: dict[str, Callable[[Tensor, Tensor, Tensor | None], Tensor]] = {
    "softmax": softmax_rows,
    "sigmoid": sigmoid_rows,
    "relu": relu_rows,
}


def normalise(z: Tensor, kind: str, fallback: Tensor, mask: Tensor | None = None) -> Tensor:
    """Turn logits into rows that sum to one: where the reference decides that mass is conserved.

    z: (..., N, K) logits · fallback: (N, K) or (K,), a row for each row without a positive entry ·
    mask: (N, K) bool, False where a transfer is forbidden (its share is exactly 0) · result: (..., N, K)

    >>> rows = normalise(torch.tensor([[-1.0, -2.0]]), "relu", fallback=torch.tensor([0.5, 0.5]))
    >>> rows.tolist()
    [[0.5, 0.5]]
    """
    return NORMALISERS[kind](bounded(z), fallback, mask)


def sigmoid(z: Tensor) -> Tensor:
    """The logistic function 1 / (1 + exp(-z)), the same bits for a sample whatever shares its batch.

    `torch.sigmoid` takes another code path for a tensor's last elements, so its bits depend on the batch.
    The clamp keeps exp finite, so that a saturated gate has gradient zero and not NaN.

    z, result: any shape

    >>> sigmoid(torch.tensor([0.0, -1e30, 1e30])).round(decimals=3).tolist()
    [0.5, 0.0, 1.0]
    """
    return 1.0 / (1.0 + torch.exp(-z.clamp(min=sigmoid_floor(z.dtype))))


def sigmoid_floor(dtype: torch.dtype) -> float:
    """Where `sigmoid` stops to fall."""
    return -80.0 if dtype == torch.float32 else -700.0
