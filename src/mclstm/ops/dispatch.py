"""The one table of backends: who computes a sequence.

    reference   the paper, equation by equation; any form, any device, any transform of torch
    torch       recomputes instead of storing; what it does not cover runs as the reference
    native      the fused CPU kernel; what it does not cover, or a machine without it, runs as `torch`
    auto        native where it covers the problem and is built, else torch

Every backend gives the same bits when it is repeated on the same machine with the same number of threads:
`native` sums what its threads found in a fixed order, `torch` and `reference` inherit it from torch on a CPU.

Deterministic mode, `torch.use_deterministic_algorithms(True)`: the bits of `native` do not depend on the
number of threads either. A batch is then never divided among threads, for that changes the order of sums
over samples; members still are dealt out whole. The price: a layer without members runs on one thread.
`torch` on a GPU repeats its bits in this mode only. Different backends agree within rounding, not in bits.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from mclstm.ops import recompute, reference
from mclstm.ops.native import operator
from mclstm.ops.reference import Form, Weights

__all__ = ["BACKENDS", "last", "sequence"]

Backend = Callable[[Tensor, Tensor, Tensor, Tensor, Weights, Form, Tensor | None], tuple[Tensor, Tensor]]


def fastest(
    x: Tensor, a: Tensor, s: Tensor, c0: Tensor, weights: Weights, form: Form, valid: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The fastest backend that can; vmap, jacrev, forward mode and their like need plain operations.

    x: (T, B, M) · a: (T, B, A) · s: (B, S) · c0: (B, K) · valid: (T, B) bool or None, all but the last led
    by E with members
    """
    chosen = reference.sequence if operator.transformed() else operator.sequence
    return chosen(x, a, s, c0, weights, form, valid)


BACKENDS: dict[str, Backend] = {
    "auto": fastest,
    "reference": reference.sequence,
    "torch": recompute.sequence,
    "native": operator.sequence,
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

    With members x, a, s, c0 and the weights lead with E, and so do h and c. What members share is expanded
    along E (stride 0): no backend copies it, and its gradient is the sum over the members.
    """
    return BACKENDS[backend](x, a, s, c0, weights, form, valid)


def last(
    backend: str,
    x: Tensor,
    a: Tensor,
    s: Tensor,
    c0: Tensor,
    weights: Weights,
    form: Form,
    valid: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Outflow h (B, K) of each sequence's last step and cells c (B, K) after it; arguments as `sequence`'s.

    The kernel then neither stores what flowed out before nor looks for gradients of it.
    """
    if valid is None and backend in ("auto", "native") and not operator.transformed():
        found = operator.last(x, a, s, c0, weights, form)
        if found is not None:
            return found
    h, c = sequence(backend, x, a, s, c0, weights, form, valid)
    return ended(h, valid) if x.shape[-3] else torch.zeros_like(c0), c.select(-3, -1)


def ended(h: Tensor, valid: Tensor | None) -> Tensor:
    """What flowed out in the last step that counts: h (T, B, K), led by E or not, valid (T, B) -> (B, K)."""
    if valid is None:
        return h.select(-3, -1)
    final = (valid.sum(dim=0) - 1).clamp(min=0).view(1, -1, 1)
    shape = (*h.shape[:-3], 1, *h.shape[-2:])
    return h.gather(-3, final.expand(shape)).squeeze(-3)
