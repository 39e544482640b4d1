"""The kernel as a torch operator: gradients, fake tensors, and plain operations for second derivatives."""

import json
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn import Parameter

from mclstm.ops import manual
from mclstm.ops.gate_rows import left, stack
from mclstm.ops.native.call import backward, empty_gradients, empty_results, forward, forward_last
from mclstm.ops.problem import Form, Problem, Weights

__all__ = ["flat", "last", "sequence", "traced", "transformed"]

TENSORS, LEARNED = 12, 10  # how many tensors the operator takes; the first ten of them have gradients


def flat(problem: Problem) -> tuple[Tensor | None, ...]:
    """The twelve tensors of a problem, as the operator takes them; a and s are empty if no gate sees them."""
    x, a, s, c0, valid, weights, form = problem
    if "aux" not in form.gates_see:
        a, s = a[..., :0], s[..., :0]
    W_i, b_i, W_o, b_o, W_r, _, B_r, mask, _ = weights.with_gate()
    return x, a, s, c0, W_i, b_i, W_o, b_o, W_r, B_r, mask, valid


def unflat(tensors: Sequence[Any], form: Form) -> Problem:
    """The problem of the operator's tensors."""
    x, a, s, c0, W_i, b_i, W_o, b_o, W_r, B_r, mask, valid = tensors
    return Problem(x, a, s, c0, valid, Weights(W_i, b_i, W_o, b_o, W_r, None, B_r, mask, None), form)


def rerun(problem: Problem, last: bool) -> tuple[Tensor, Tensor]:
    """h and c in plain operations, whose derivatives have derivatives."""
    h, c = manual.forward(stack(problem))
    h, c = (h, c) if problem.members is not None else (h.squeeze(0), c.squeeze(0))
    return (h.select(-3, -1), c.select(-3, -1)) if last else (h, c)


def differentiate(
    tensors: Sequence[Tensor | None],  # twelve, as those of `flat`
    form: Form,
    last: bool,
    wanted: Sequence[bool],
    c: Tensor,  # (T + 1, B, K), led by E with members
    dh: Tensor | None,  # (T, B, K), or (B, K) of the last step
    dc: Tensor | None,  # (T + 1, B, K), or (B, K) of the last step
) -> list[Tensor | None]:
    """Gradients of the first ten tensors of a problem, None for those that are not wanted."""
    problem = unflat(tensors, form)
    if torch.is_grad_enabled():  # create_graph: second derivatives are wanted
        return manual.rerun_gradients(lambda: rerun(problem, last), tensors[:LEARNED], dh, dc)
    if not traced(c):
        return backward(problem, wanted, c, dh, dc, last)
    grads = native_backward(*tensors, json.dumps(form), list(wanted), c, dh, dc, last)
    return [value if want else None for value, want in zip(grads, wanted, strict=True)]


class Fused(torch.autograd.Function):
    """The kernel called directly: a registered operator costs more than a whole update of a small model."""

    @staticmethod
    def forward(ctx: Any, form: Form, last: bool, *tensors: Tensor | None) -> tuple[Tensor, Tensor]:
        problem = unflat(tensors, form)
        h, *end, c = forward_last(problem) if last else forward(problem)
        ctx.form, ctx.last = form, last
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors, c)
        return h, *(end or [c])  # type: ignore[return-value]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        *tensors, c = ctx.saved_tensors
        wanted = ctx.needs_input_grad[2 : 2 + LEARNED]
        return None, None, *differentiate(tensors, ctx.form, ctx.last, wanted, c, *grads), None, None


def traced(x: Tensor) -> bool:
    """Whether torch has to see the call as an operator: for a compiler, a dispatch mode, or fake tensors."""
    modes = torch._C._len_torch_dispatch_stack() > 0
    return modes or type(x) not in (Tensor, Parameter) or torch.compiler.is_compiling()


def transformed() -> bool:
    """Whether torch.func or forward-mode differentiation is active, which need plain operations."""
    return bool(torch._C._are_functorch_transforms_active()) or forward_ad._current_level >= 0


# Both operators take the twelve tensors of `flat`, shapes as in `Problem` and `Weights`, and the form (JSON).
PROBLEM = (
    "Tensor x, Tensor a, Tensor s, Tensor c0, Tensor W_i, Tensor b_i, Tensor W_o, Tensor b_o, "
    "Tensor? W_r, Tensor? B_r, Tensor? mask, Tensor? valid, str form"
)
OUTPUTS = "bool[] wanted, Tensor c, Tensor? dh, Tensor? dc, bool last"  # shapes as in `differentiate`


def read(inputs: Sequence[Any]) -> tuple[Problem, Sequence[Any]]:
    """The problem of an operator, and its other arguments."""
    form = Form(*json.loads(inputs[TENSORS]))
    return unflat(inputs[:TENSORS], form), inputs[TENSORS + 1 :]


@torch.library.custom_op(
    "mclstm::sequence", mutates_args=(), device_types="cpu", schema=f"({PROBLEM}) -> (Tensor, Tensor)"
)
def native_sequence(*inputs: Any) -> tuple[Tensor, Tensor]:
    """Outflows h (T, B, K) and cells c (T + 1, B, K) of a problem."""
    return forward(read(inputs)[0])


@torch.library.custom_op(
    "mclstm::sequence_backward",
    mutates_args=(),
    device_types="cpu",
    schema=f"({PROBLEM}, {OUTPUTS}) -> Tensor[]",
)
def native_backward(*inputs: Any) -> list[Tensor]:
    """Gradients of the first ten tensors; empty where there is no tensor, or where none is wanted."""
    problem, outputs = read(inputs)
    return filled(problem, backward(problem, *outputs))


@native_sequence.register_fake
def _(*inputs: Any) -> tuple[Tensor, Tensor]:
    return empty_results(read(inputs)[0])


@native_backward.register_fake
def _(*inputs: Any) -> list[Tensor]:
    problem, (wanted, *_) = read(inputs)
    return filled(problem, empty_gradients(problem, wanted))


def filled(problem: Problem, grads: list[Tensor | None]) -> list[Tensor]:
    """The gradients with empty tensors for None, which an operator cannot return."""
    return [problem.x.new_empty(0) if value is None else value for value in grads]


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    *tensors, ctx.form = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*tensors, output[1])


def _differentiate(ctx: Any, dh: Tensor | None, dc: Tensor | None) -> tuple[Tensor | None, ...]:
    *tensors, c = ctx.saved_tensors
    form, wanted = Form(*json.loads(ctx.form)), ctx.needs_input_grad[:LEARNED]
    return *differentiate(tensors, form, False, wanted, c, dh, dc), None, None, None


native_sequence.register_autograd(_differentiate, setup_context=_keep)


def sequence(problem: Problem) -> tuple[Tensor, Tensor]:
    """Outflows h (T, B, K) and cells c (T + 1, B, K), led by E with members, of a problem it covers."""
    if traced(problem.x):
        h, c = native_sequence(*flat(problem), json.dumps(problem.form))
    else:
        h, c = Fused.apply(problem.form, False, *flat(problem))  # type: ignore[no-untyped-call]
    return left(h, problem.form), c


def last(problem: Problem) -> tuple[Tensor, Tensor]:
    """Outflow h (B, K) of the last step and cells c (B, K) after it, led by E with members.

    `valid` is not looked at, and there must be a step.
    """
    h, c = Fused.apply(problem.form, True, *flat(problem))  # type: ignore[no-untyped-call]
    return left(h, problem.form), c
