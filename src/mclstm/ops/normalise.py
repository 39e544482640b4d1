"""From logits to rows that are non-negative and sum to one, whatever the logits; and the logits of R.

The paper writes columns (left-stochastic, new = R c); here states are rows (new = c R), so rows sum to one.
A row without a positive entry would lose its mass under a plain normalised ReLU: `fallback` says where it
goes.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

# The logit beyond which a logistic gate is constant; the same in both dtypes, as EMPTY in reference.py is.
SATURATED = 80.0


def bounded(z: Tensor) -> Tensor:
    """Logits limited so that sums and products of a few of them stay finite: |z| <= max ** (1/4), about 4e9.

    Gates that see a mass of 1e30 overflow otherwise, and inf - inf turns a row into NaN.

    z, result: any shape

    >>> bounded(torch.tensor([1.0, -torch.inf])).tolist()
    [1.0, -4294967296.0]
    """
    limit = logit_limit(z.dtype)
    return z.clamp(-limit, limit)


def logit_limit(dtype: torch.dtype) -> float:
    """The size at which `bounded` cuts logits off: their gradient is zero beyond it."""
    return float(torch.finfo(dtype).max ** 0.25)


def softmax_rows(z: Tensor, fallback: Tensor, mask: Tensor | None) -> Tensor:
    """exp(z_j) / sum_n exp(z_n); exp is positive, so the fallback is never needed."""
    return torch.softmax(z if mask is None else z.masked_fill(~mask, -torch.inf), dim=-1)


def sigmoid_rows(z: Tensor, fallback: Tensor, mask: Tensor | None) -> Tensor:
    """σ(z_j) / sum_n σ(z_n), as a softmax of log σ: rows of very negative logits keep their proportions."""
    return softmax_rows(logsigmoid(z), fallback, mask)


def relu_rows(z: Tensor, fallback: Tensor, mask: Tensor | None) -> Tensor:
    """max(z_j, 0) / sum_n max(z_n, 0), and `fallback` for a row with no positive entry."""
    positive = torch.relu(z if mask is None else z.masked_fill(~mask, 0.0))
    total = positive.sum(dim=-1, keepdim=True)
    alive = total >= torch.finfo(z.dtype).tiny  # a quotient by less would overflow
    return torch.where(alive, positive / torch.where(alive, total, 1.0), fallback)


# z, result: (..., N, K) · fallback: (N, K) or (K,) · mask: (N, K) bool or None
NORMALISERS: dict[str, Callable[[Tensor, Tensor, Tensor | None], Tensor]] = {
    "softmax": softmax_rows,
    "sigmoid": sigmoid_rows,
    "relu": relu_rows,
}


def normalise(z: Tensor, kind: str, fallback: Tensor, mask: Tensor | None = None) -> Tensor:
    """Turn logits into rows that sum to one. This is where the reference conserves mass.

    z: (..., N, K) logits · fallback: (N, K) or (K,), the row to use where no entry is positive ·
    mask: (N, K) bool, False where a transfer is forbidden (its share is exactly 0) · result: (..., N, K)

    >>> rows = normalise(torch.tensor([[-1.0, -2.0]]), "relu", fallback=torch.tensor([0.5, 0.5]))
    >>> rows.tolist()
    [[0.5, 0.5]]
    """
    return NORMALISERS[kind](bounded(z), fallback, mask)


def sigmoid(z: Tensor) -> Tensor:
    """The logistic function 1 / (1 + exp(-z)), whose bits for a sample do not depend on its batch.

    `torch.sigmoid` takes another code path for a tensor's last elements, so its bits depend on the batch.
    The clamp keeps exp finite, so that a saturated gate has gradient zero and not NaN.

    z, result: any shape

    >>> sigmoid(torch.tensor([0.0, -1e30, 1e30])).round(decimals=3).tolist()
    [0.5, 0.0, 1.0]
    """
    return 1.0 / (1.0 + torch.exp(-z.clamp(-SATURATED, SATURATED)))


def outer_logits(u: Tensor, v: Tensor, B_r: Tensor) -> Tensor:
    """The outer product of two time-dependent vectors, times a static matrix: logits_kj = u_k v_j B_kj.

    u, v: (B, K) · B_r: (K, K) · result: (B, K, K)

    >>> outer_logits(torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, 3.0]]), torch.ones(2, 2)).tolist()
    [[[1.0, 3.0], [2.0, 6.0]]]
    """
    return bounded(u).unsqueeze(-1) * bounded(v).unsqueeze(-2) * B_r


def fallback_rows(
    mask: Tensor | None,  # (K, K) bool
    eye: Tensor,  # (K, K), the identity, in the dtype and on the device of the result
) -> Tensor:
    """Rows of R for cells without a positive logit: mass stays, or spreads evenly where it may not stay.

    A mask has at least one True in every row. Result: (K, K)

    >>> fallback_rows(torch.tensor([[True, True], [True, False]]), torch.eye(2)).tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    if mask is None:
        return eye
    allowed = mask.to(eye.dtype)
    even = allowed / allowed.sum(dim=-1, keepdim=True)
    stays = mask.diagonal().unsqueeze(-1)
    return torch.where(stays, eye, even)


def _sigmoid_logit(share: float) -> float:
    return math.log(share) - math.log1p(-share)


# The logits (diagonal, elsewhere) of a row with R_kk / R_kj = ratio, from (ratio, stay, cells). The larger of
# two sigmoids starts at 1/2, where the slope is largest. ReLU rows start with a sum of K, far enough from the
# kink that small weights do not switch entries off.
START: dict[str, Callable[[float, float, int], tuple[float, float]]] = {
    "softmax": lambda ratio, stay, cells: (math.log(ratio), 0.0),
    "sigmoid": lambda ratio, stay, cells: (
        _sigmoid_logit(min(0.5, 0.5 * ratio)),
        _sigmoid_logit(min(0.5, 0.5 / ratio)),
    ),
    "relu": lambda ratio, stay, cells: (stay * cells, stay * cells / ratio),
}


def stay_logits(stay: float, norm: str, mask: Tensor) -> Tensor:
    """Logits whose normalised rows keep the share `stay` in place and spread the rest evenly.

    R_kk = stay, R_kj = (1 - stay) / n_k for the n_k other cells that row k may reach

    mask: (K, K) bool · result: (K, K) float64

    >>> logits = stay_logits(0.9, "softmax", torch.ones(64, 64, dtype=torch.bool))
    >>> round(torch.softmax(logits, dim=-1)[0, 0].item(), 6)
    0.9
    """
    cells = mask.shape[0]
    logits = torch.ones(cells, cells, dtype=torch.float64)
    for k in range(cells):
        others = int(mask[k].sum()) - int(mask[k, k])
        if bool(mask[k, k]) and others > 0:
            diagonal, elsewhere = START[norm](stay * others / (1.0 - stay), stay, cells)
            logits[k] = elsewhere
            logits[k, k] = diagonal
    return logits
