"""The kernel as a torch operator: gradients, fake tensors, and plain operations for second derivatives."""

import ctypes
import json
from typing import Any

import torch
from torch import Tensor

from mclstm.ops import recompute
from mclstm.ops.native.library import VIEWS, Call, View, library
from mclstm.ops.redistribution import fallback_rows
from mclstm.ops.reference import Form, Weights
from mclstm.ops.stacked import Stacked, row_kinds, stack

__all__ = ["runs", "sequence"]

KINDS = ("dynamic", "static", "identity")
NORMS = {"softmax": 0, "sigmoid": 1, "relu": 2, "plain": 3, "linear": 4}
WORK_OF_A_THREAD = 1_000_000  # multiplications; starting a thread costs about as much as these


def runs(form: Form, x: Tensor) -> bool:
    """Whether the kernel covers this form, dtype and device, and is there: x (T, B, M) or (E, T, B, M)."""
    fits = x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64)
    alone = form.state_norm == "sample"  # the kernel goes tile by tile and never sees the whole batch
    return fits and alone and form.redistribution in KINDS and library() is not None


def _call(given: Stacked, form: Form) -> tuple[Call, list[Tensor]]:
    """The C structure and the tensors that must live as long as it does."""
    (members, steps, batch, masses), (_, rows, cells, width) = given.x.shape, given.W.shape
    everywhere = torch.ones(cells, cells, dtype=torch.bool)
    stays = fallback_rows(everywhere if given.mask is None else given.mask, given.W.dtype)
    even = given.W.new_full((masses, cells), 1.0 / cells)
    input_kind, cell_kind = row_kinds(form)
    work = members * steps * batch * rows * cells * (width + 1)
    call = Call(
        E=members,
        T=steps,
        B=batch,
        M=masses,
        A=given.a.shape[-1],
        K=cells,
        G=rows,
        F=width,
        wide=given.W.dtype == torch.float64,
        input_norm=NORMS[input_kind],
        cell_norm=NORMS[cell_kind],
        sees_state="state" in form.gates_see,
        sees_mass="mass" in form.gates_see,
        is_signed=form.negative_cells,
        keeps_outflow="output" in form.not_conserving,
        own_base=given.base.shape[1] != 1,
        threads=max(1, min(torch.get_num_threads(), work // WORK_OF_A_THREAD)),
    )
    arrays = given._asdict() | {"fallback": torch.cat([even, stays])}
    return call, _point(call, arrays)


def _point(call: Call, arrays: dict[str, Tensor | None]) -> list[Tensor]:
    """Let the structure point at the tensors, which are returned; all but the views are made contiguous."""
    kept = []
    for name, value in arrays.items():
        if value is None:
            continue
        if name in VIEWS:
            member, *step, sample, entry = value.stride()
            setattr(call, name, View(value.data_ptr(), member, *(step or [0]), sample, entry))
        else:
            value = value.contiguous()
            setattr(call, name, value.data_ptr())
        kept.append(value)
    return kept


def _run(name: str, call: Call) -> None:
    kernel = library()
    assert kernel is not None
    if getattr(kernel, name)(ctypes.byref(call)) != 0:
        raise MemoryError("The native kernel found no memory for a tile; use a smaller batch.")


def _decoded(form: str) -> Form:
    return Form(*json.loads(form))


@torch.library.custom_op("mclstm::sequence", mutates_args=(), device_types="cpu")
def native_sequence(
    x: Tensor,  # (E, T, B, M)
    a: Tensor,  # (E, T, B, A)
    c0: Tensor,  # (E, B, K)
    W: Tensor,  # (E, G, K, F)
    base: Tensor,  # (E, B, G, K) or (E, 1, G, K)
    fixed: Tensor | None,  # (E, K, K)
    mask: Tensor | None,  # (K, K) bool
    valid: Tensor | None,  # (T, B) bool
    form: str,
) -> tuple[Tensor, Tensor]:
    """Outflows h (E, T, B, K) and cells c (E, T + 1, B, K) of a stacked problem."""
    given = Stacked(x, a, c0, W, base, fixed, mask, valid)
    h, c = _empty_like_results(x, c0)
    call, kept = _call(given, _decoded(form))
    kept += _point(call, {"h": h, "c": c})
    _run("mclstm_forward", call)
    return h, c


@torch.library.custom_op("mclstm::sequence_backward", mutates_args=(), device_types="cpu")
def native_backward(
    x: Tensor,  # (E, T, B, M)
    a: Tensor,  # (E, T, B, A)
    c0: Tensor,  # (E, B, K)
    W: Tensor,  # (E, G, K, F)
    base: Tensor,  # (E, B, G, K) or (E, 1, G, K)
    fixed: Tensor | None,  # (E, K, K)
    mask: Tensor | None,  # (K, K) bool
    valid: Tensor | None,  # (T, B) bool
    form: str,
    h: Tensor,  # (E, T, B, K)
    c: Tensor,  # (E, T + 1, B, K)
    dh: Tensor | None,  # (E, T, B, K)
    dc: Tensor | None,  # (E, T + 1, B, K)
    wanted: list[bool],
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Gradients of x, a, c0, W, base and fixed; empty where x, a or c0 is not `wanted`, fixed not there."""
    given = Stacked(x, a, c0, W, base, fixed, mask, valid)
    results = _empty_like_gradients(given[:6], wanted)
    call, kept = _call(given, _decoded(form))
    found = [value if value.numel() else None for value in results]
    names = ("dx", "da", "dc0", "dW", "dbase", "dfixed")
    kept += _point(call, {"h": h, "c": c, "dh": dh, "dc": dc} | dict(zip(names, found, strict=True)))
    _run("mclstm_backward", call)
    return results


def _empty_like_results(x: Tensor, c0: Tensor) -> tuple[Tensor, Tensor]:
    """Samples lie beside each other in memory, as they do in the kernel's vectors."""
    members, batch, cells = c0.shape
    steps = x.shape[1]
    h, c = (c0.new_empty(members, count, cells, batch).transpose(2, 3) for count in (steps, steps + 1))
    return h, c


def _empty_like_gradients(
    tensors: tuple[Tensor | None, ...], wanted: list[bool]
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Of x, a, c0, W, base, fixed."""
    some = tensors[3]
    assert some is not None
    x, a, c0, W, base, fixed = (
        some.new_empty(0) if value is None or not want else value.new_empty(value.shape)
        for value, want in zip(tensors, [*wanted, True, True, True], strict=True)
    )
    return x, a, c0, W, base, fixed


@native_sequence.register_fake
def _(x: Tensor, a: Tensor, c0: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
    return _empty_like_results(x, c0)


@native_backward.register_fake
def _(*tensors: Any) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    return _empty_like_gradients(tensors[:6], tensors[-1])


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    *tensors, form = inputs
    ctx.form = form
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*tensors, *output)


def _differentiate(ctx: Any, dh: Tensor | None, dc: Tensor | None) -> tuple[Tensor | None, ...]:
    *tensors, h, c = ctx.saved_tensors
    given = Stacked(*tensors)
    if torch.is_grad_enabled():  # create_graph: second derivatives are wanted
        return *recompute.again(given, _decoded(ctx.form), dh, dc), None, None, None
    wanted = list(ctx.needs_input_grad[:3])
    found = native_backward(*given, ctx.form, h, c, dh, dc, wanted)
    there = [*wanted, True, True, given.fixed is not None]
    return *(value if there_ else None for value, there_ in zip(found, there, strict=True)), None, None, None


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
    h, c = native_sequence(*stack(x, a, s, c0, weights, form, valid), json.dumps(form))
    return (h, c) if x.dim() == 4 else (h.squeeze(0), c.squeeze(0))
