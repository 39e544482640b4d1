"""The one table of backends: who computes a sequence."""

from collections.abc import Callable

from torch import Tensor

from mclstm.ops import recompute, reference
from mclstm.ops.native import operator
from mclstm.ops.reference import Form, Weights

__all__ = ["BACKENDS", "sequence"]

Backend = Callable[[Tensor, Tensor, Tensor, Tensor, Weights, Form, Tensor | None], tuple[Tensor, Tensor]]

BACKENDS: dict[str, Backend] = {
    "auto": operator.sequence,
    "reference": reference.sequence,
    "native": operator.sequence,
    "torch": recompute.sequence,
}


def sequence(
    backend: str,
    x: Tensor,
    a: Tensor,
    s: Tensor,
    c0: Tensor,
    weights: Weights,
    form: Form,
    valid: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Outflows h (T, B, K) and cells c (T + 1, B, K), computed by the named backend.

    x: (T, B, M) · a: (T, B, A) · s: (B, S) · c0: (B, K) · valid: (T, B) bool or None
    """
    return BACKENDS[backend](x, a, s, c0, weights, form, valid)
