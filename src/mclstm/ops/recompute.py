"""Backend `torch`: one product a step for all gates, nothing kept but h and c; runs wherever torch runs."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from mclstm.ops import manual, reference
from mclstm.ops.reference import Form, Weights
from mclstm.ops.stacked import Stacked, covered, stack

__all__ = ["again", "sequence"]


def again(
    compute: Callable[[], tuple[Tensor, Tensor]],
    tensors: Sequence[Tensor | None],
    dh: Tensor | None,  # (T, B, K), led by E with members
    dc: Tensor | None,  # (T + 1, B, K), likewise
) -> list[Tensor | None]:
    """Gradients of the tensors that have gradients themselves: the recurrence rerun in plain operations."""
    wanted = [value for value in tensors if value is not None and value.requires_grad]
    pairs = zip(compute(), (dh, dc), strict=True)
    outputs = [(value, grad) for value, grad in pairs if grad is not None and value.requires_grad]
    values, grads = [value for value, _ in outputs], [grad for _, grad in outputs]
    found = iter(torch.autograd.grad(values, wanted, grads, create_graph=True, allow_unused=True))
    return [next(found) if value is not None and value.requires_grad else None for value in tensors]


class Recompute(torch.autograd.Function):
    """`manual.forward` and `manual.backward` as one differentiable operation."""

    @staticmethod
    def forward(ctx: Any, form: Form, *tensors: Tensor | None) -> tuple[Tensor, Tensor]:
        given = Stacked(*tensors)  # type: ignore[arg-type]
        h, c = manual.forward(given, form)
        ctx.form = form
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*given, h, c)
        return h, c

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        *tensors, h, c = ctx.saved_tensors
        given, (dh, dc) = Stacked(*tensors), grads
        if torch.is_grad_enabled():  # create_graph: second derivatives are wanted
            rerun = again(lambda: manual.forward(given, ctx.form), given[:6], dh, dc)
            return None, *rerun, None, None
        return None, *manual.backward(given, ctx.form, h, c, dh, dc), None, None


def sequence(
    x: Tensor, a: Tensor, s: Tensor, c0: Tensor, weights: Weights, form: Form, valid: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Outflows h (T, B, K) and cells c (T + 1, B, K); forms that cannot be stacked run as the reference.

    x: (T, B, M) · a: (T, B, A) · s: (B, S) · c0: (B, K) · valid: (T, B) bool or None, all but the last, and
    the results, led by E with members
    """
    if not covered(form):
        return reference.sequence(x, a, s, c0, weights, form, valid)
    h, c = Recompute.apply(form, *stack(x, a, s, c0, weights, form, valid))  # type: ignore[no-untyped-call]
    return (h, c) if x.dim() == 4 else (h.squeeze(0), c.squeeze(0))
