"""Redistribution logits: their forms, their start near the identity, and where an empty row goes."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from mclstm.ops.normalise import bounded

__all__ = ["fallback_rows", "outer_logits", "stay_logits"]


def outer_logits(u: Tensor, v: Tensor, B_r: Tensor) -> Tensor:
    """The outer product of two time-dependent vectors, times a static matrix: logits_kj = u_k v_j B_kj.

    u, v: (B, K) · B_r: (K, K) · result: (B, K, K)

    >>> outer_logits(torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, 3.0]]), torch.ones(2, 2)).tolist()
    [[[1.0, 3.0], [2.0, 6.0]]]
    """
    return bounded(u).unsqueeze(-1) * bounded(v).unsqueeze(-2) * B_r


def fallback_rows(
    mask: Tensor | None,  # (K, K) bool
    eye: Tensor,  # (K, K), the identity where and as the rows are wanted
) -> Tensor:
    """Rows for mass that no logit wants: it stays where it is, or spreads evenly where staying is forbidden.

    Without a mask nothing is forbidden; with one every row has at least one True. Result: (K, K)

    >>> fallback_rows(torch.tensor([[True, True], [True, False]]), torch.eye(2)).tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    if mask is None:
        return eye
    allowed = mask.to(eye.dtype)
    even = allowed / allowed.sum(dim=-1, keepdim=True)
    stays = mask.diagonal().unsqueeze(-1)
    return torch.where(stays, eye, even)


def _softmax_pair(ratio: float, stay: float, cells: int) -> tuple[float, float]:
    return math.log(ratio), 0.0


def _sigmoid_pair(ratio: float, stay: float, cells: int) -> tuple[float, float]:
    # The larger of the two starts at sigma = 1/2, where the slope of the logistic function is largest.
    def logit(p: float) -> float:
        return math.log(p) - math.log1p(-p)

    return logit(min(0.5, 0.5 * ratio)), logit(min(0.5, 0.5 / ratio))


def _relu_pair(ratio: float, stay: float, cells: int) -> tuple[float, float]:
    # Rows start with a sum of K: far enough from the kink that small weights do not switch entries off.
    return stay * cells, stay * cells / ratio


PAIRS: dict[str, Callable[[float, float, int], tuple[float, float]]] = {
    "softmax": _softmax_pair,
    "sigmoid": _sigmoid_pair,
    "relu": _relu_pair,
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
            diagonal, elsewhere = PAIRS[norm](stay * others / (1.0 - stay), stay, cells)
            logits[k] = elsewhere
            logits[k, k] = diagonal
    return logits
