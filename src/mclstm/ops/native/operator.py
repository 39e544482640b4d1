"""The kernel as a torch operator: gradients, fake tensors, and plain operations for second derivatives."""

import json
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn import Parameter

from mclstm.ops import manual, recompute
from mclstm.ops.native.call import Problem, backward, empty_gradients, empty_results, forward, forward_last
from mclstm.ops.native.library import library
from mclstm.ops.reference import Form, Weights
from mclstm.ops.stacked import stack

__all__ = ["last", "runs", "sequence", "traced", "transformed"]

KINDS = ("dynamic", "static", "identity")


def runs(form: Form, x: Tensor) -> bool:
    """Whether the kernel covers this form, dtype and device, and is there: x (T, B, M) or (E, T, B, M)."""
    fits = x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64)
    alone = form.state_norm == "sample"  # the kernel goes tile by tile and never sees the whole batch
    return fits and alone and form.redistribution in KINDS and library() is not None


def plain_again(given: Problem, form: Form, last: bool) -> tuple[Tensor, Tensor]:
    """The same in plain operations, whose derivatives have derivatives."""
    x, a, s, c0, W_i, b_i, W_o, b_o, W_r, B_r, mask, valid = given
    weights = Weights(W_i, b_i, W_o, b_o, W_r, None, B_r, mask, None)
    h, c = manual.forward(stack(x, a, s, c0, weights, form, valid), form)
    h, c = (h, c) if x.dim() == 4 else (h.squeeze(0), c.squeeze(0))
    return (h.select(-3, -1), c.select(-3, -1)) if last else (h, c)


def differentiate(
    given: Problem,
    form: Form,
    last: bool,
    wanted: Sequence[bool],
    c: Tensor,  # (T + 1, B, K), led by E with members
    dh: Tensor | None,  # (T, B, K), or (B, K) of the last step
    dc: Tensor | None,  # (T + 1, B, K), or (B, K) of the last step
) -> list[Tensor | None]:
    """Gradients of the first ten tensors of a problem, None for those that are not wanted."""
    if torch.is_grad_enabled():  # create_graph: second derivatives are wanted
        return recompute.again(lambda: plain_again(given, form, last), given[:10], dh, dc)
    if not traced(c):
        return backward(given, form, wanted, c, dh, dc, last)
    found = native_backward(*given, json.dumps(form), list(wanted), c, dh, dc, last)
    return [value if want else None for value, want in zip(found, wanted, strict=True)]


class Fused(torch.autograd.Function):
    """The kernel called straight away: registered operators cost more than a small model's whole update."""

    @staticmethod
    def forward(ctx: Any, form: Form, last: bool, *tensors: Tensor | None) -> tuple[Tensor, Tensor]:
        given = Problem(*tensors)  # type: ignore[arg-type]
        h, *end, c = forward_last(given, form) if last else forward(given, form)
        ctx.form, ctx.last = form, last
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors, c)
        return h, *(end or [c])  # type: ignore[return-value]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        *tensors, c = ctx.saved_tensors
        wanted = ctx.needs_input_grad[2:12]
        return (
            None,
            None,
            *differentiate(Problem(*tensors), ctx.form, ctx.last, wanted, c, *grads),
            None,
            None,
        )


def traced(x: Tensor) -> bool:
    """Whether something looks at the operators one by one: a compiler, a dispatch mode, fake tensors."""
    modes = torch._C._len_torch_dispatch_stack() > 0
    return modes or type(x) not in (Tensor, Parameter) or torch.compiler.is_compiling()


def transformed() -> bool:
    """Whether torch.func or forward-mode differentiation look at the operations one by one."""
    return bool(torch._C._are_functorch_transforms_active()) or forward_ad._current_level >= 0


@torch.library.custom_op("mclstm::sequence", mutates_args=(), device_types="cpu")
def native_sequence(
    x: Tensor,  # (T, B, M), led by E with members, as all but mask and valid
    a: Tensor,  # (T, B, A)
    s: Tensor,  # (B, S)
    c0: Tensor,  # (B, K)
    W_i: Tensor,  # (M, K, F)
    b_i: Tensor,  # (M, K)
    W_o: Tensor,  # (K, F)
    b_o: Tensor,  # (K,)
    W_r: Tensor | None,  # (K, K, F)
    B_r: Tensor | None,  # (K, K)
    mask: Tensor | None,  # (K, K) bool
    valid: Tensor | None,  # (T, B) bool
    form: str,
) -> tuple[Tensor, Tensor]:
    """Outflows h (T, B, K) and cells c (T + 1, B, K) of a problem."""
    given = Problem(x, a, s, c0, W_i, b_i, W_o, b_o, W_r, B_r, mask, valid)
    return forward(given, Form(*json.loads(form)))


@torch.library.custom_op("mclstm::sequence_backward", mutates_args=(), device_types="cpu")
def native_backward(
    x: Tensor,  # as those of `native_sequence`
    a: Tensor,
    s: Tensor,
    c0: Tensor,
    W_i: Tensor,
    b_i: Tensor,
    W_o: Tensor,
    b_o: Tensor,
    W_r: Tensor | None,
    B_r: Tensor | None,
    mask: Tensor | None,
    valid: Tensor | None,
    form: str,
    wanted: list[bool],
    c: Tensor,  # (T + 1, B, K), or (T, B, K) without the last
    dh: Tensor | None,  # (T, B, K), or (B, K) of the last step
    dc: Tensor | None,  # (T + 1, B, K), or (B, K) after the last step
    last: bool,
) -> list[Tensor]:
    """Gradients of the first ten tensors; empty ones where there is no tensor or no wish for its gradient."""
    given = Problem(x, a, s, c0, W_i, b_i, W_o, b_o, W_r, B_r, mask, valid)
    return filled(given, backward(given, Form(*json.loads(form)), wanted, c, dh, dc, last))


@native_sequence.register_fake
def _(*inputs: Any) -> tuple[Tensor, Tensor]:
    return empty_results(Problem(*inputs[:12]))


@native_backward.register_fake
def _(*inputs: Any) -> list[Tensor]:
    given = Problem(*inputs[:12])
    return filled(given, empty_gradients(given, inputs[13]))


def filled(given: Problem, found: list[Tensor | None]) -> list[Tensor]:
    """An operator cannot return None: empty tensors stand for it."""
    return [given.x.new_empty(0) if value is None else value for value in found]


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    *tensors, form = inputs
    ctx.form = form
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*tensors, output[1])


def _differentiate(ctx: Any, dh: Tensor | None, dc: Tensor | None) -> tuple[Tensor | None, ...]:
    *tensors, c = ctx.saved_tensors
    wanted, form = list(ctx.needs_input_grad[:10]), Form(*json.loads(ctx.form))
    return *differentiate(Problem(*tensors), form, False, wanted, c, dh, dc), None, None, None


native_sequence.register_autograd(_differentiate, setup_context=_keep)


def sequence(
    x: Tensor, a: Tensor, s: Tensor, c0: Tensor, weights: Weights, form: Form, valid: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Outflows h (T, B, K) and cells c (T + 1, B, K); what the kernel does not cover, `torch` computes.

    x: (T, B, M) · a: (T, B, A) · s: (B, S) · c0: (B, K) · valid: (T, B) bool or None, all but the last, and
    the results, led by E with members
    """
    if not runs(form, x):
        return recompute.sequence(x, a, s, c0, weights, form, valid)
    given = problem(x, a, s, c0, weights, form, valid)
    if traced(x):
        h, c = native_sequence(*given, json.dumps(form))
    else:
        h, c = Fused.apply(form, False, *given)  # type: ignore[no-untyped-call]
    return h, c


def last(
    x: Tensor, a: Tensor, s: Tensor, c0: Tensor, weights: Weights, form: Form
) -> tuple[Tensor, Tensor] | None:
    """Outflow h (B, K) of the last step and cells c (B, K) after it; None where the kernel does not run.

    x: (T, B, M) · a: (T, B, A) · s: (B, S) · c0: (B, K), all of them, and the results, led by E with members
    """
    if not runs(form, x) or traced(x) or x.shape[-3] == 0:
        return None
    h, c = Fused.apply(form, True, *problem(x, a, s, c0, weights, form, None))  # type: ignore[no-untyped-call]
    return h, c


def problem(
    x: Tensor, a: Tensor, s: Tensor, c0: Tensor, weights: Weights, form: Form, valid: Tensor | None
) -> Problem:
    """What the kernel takes, shapes as those of `sequence`."""
    if "aux" not in form.gates_see:
        a, s = a[..., :0], s[..., :0]
    W_i, b_i, W_o, b_o, W_r, _, B_r, mask, _ = weights
    return Problem(x, a, s, c0, W_i, b_i, W_o, b_o, W_r, B_r, mask, valid)
