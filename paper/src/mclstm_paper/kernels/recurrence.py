"""The recurrences of the baselines, run by the kernel library; the backward recomputes the states."""

import ctypes
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from mclstm.ops.manual import rerun_gradients
from mclstm.ops.native.call import WORK_OF_A_THREAD
from mclstm.ops.native.operator import traced, transformed
from mclstm.ops.native.trajectory import View, view
from mclstm_paper.kernels.library import library

__all__ = ["CELLS", "Plain", "recurrence", "recurs"]

Plain = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]  # (x, start, A, v) -> (h, end)

CELLS = ("lstm", "ln-lstm", "linear", "powers", "nalu", "products", "unitary")
SIZES = ("E", "T", "B", "I", "O", "S", "R", "extra", "cell", "variant", "wide", "threads")
VIEWS = ("x", "start", "h", "end", "dh", "dend", "dx", "dstart")
KINDS = ({(torch.float32, "cpu")}, {(torch.float64, "cpu")})  # type and device of all tensors of a call
# Per member. Beyond it the gradient sums of all lanes outgrow the cache, and torch is as fast.
MOST_WEIGHTS = 10_000


class _Call(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int64) for name in SIZES),
        *((name, View) for name in VIEWS),
        *((name, ctypes.c_void_p) for name in ("A", "v", "dA", "dv")),
    ]


def recurrence(
    cell: str,  # of CELLS
    plain: Plain,  # the same in torch, for second derivatives and where the library cannot run
    x: Tensor,  # (E, T, B, I)
    start: Tensor,  # (E, B, S): h, or h and c beside it
    A: Tensor,  # (E, R, I + O), the weights of u_t = [x_t, h_{t-1}]
    v: Tensor | None = None,  # (E, N), the other parameters of the cell
    *,
    variant: bool = False,
) -> tuple[Tensor, Tensor]:
    """Outputs h (E, T, B, O) of every step and the last state (E, B, S) of a cell.

        linear    h_t = A u_t
        powers    h_t = exp(A log(|u_t| + 1e-7))
        nalu      g * (W u_t) + (1 - g) * exp(W log(|u_t| + 1e-7)),    g = σ(G u_t),    A = [W; G]
        products  h_t = Π_j (A_j u_tj + 1 - A_j)
        unitary   h_t = modReLU(A u_t; v), real parts first; the variant has |z|² for |z|
        lstm      gates o, i, (f,) g of A u_t + v; S = 2 O
        ln-lstm   gates i, o, f, g of LN(A_x x_t; v) + LN(A_h h_{t-1}; v), v = (α_x, β_x, α_h, β_h, α_c, β_c);
                  S = 2 O; the variant carries the normalised cells

    No states are stored: the backward runs the forward of every block of samples again.

    >>> def sums(x, h, A, v): return (y := h.unsqueeze(1) + x.cumsum(1)), y[:, -1]
    >>> h, _ = recurrence("linear", sums, torch.ones(1, 3, 1, 1), torch.zeros(1, 1, 1), torch.ones(1, 1, 2))
    >>> h.flatten().tolist()
    [1.0, 2.0, 3.0]
    """
    v = A.new_empty(A.shape[0], 0) if v is None else v
    if not recurs(x, start, A, v):
        return plain(x, start, A, v)
    h, end = _Recurrence.apply(cell, variant, plain, x, start, A, v)  # type: ignore[no-untyped-call]
    return h, end


def recurs(*tensors: Tensor) -> bool:
    """Whether the library is loaded and takes x, start, A, v; wrong shapes are left to torch's errors."""
    x, start, A, v = tensors
    alike = {(value.dtype, value.device.type) for value in tensors} in KINDS
    fits = start.shape[:2] == (x.shape[0], x.shape[2]) and len(A) == len(v) == len(x)
    small = A.shape[1] * A.shape[2] <= MOST_WEIGHTS
    watched = transformed() or any(traced(value) for value in tensors)
    return alike and fits and small and not watched and library() is not None


class _Recurrence(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, cell: str, variant: bool, plain: Plain, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        # The library reads A and v without strides, and does not know torch's negation bit.
        x, start, A, v = (value.resolve_neg() for value in tensors)
        A, v = A.contiguous(), v.contiguous()
        h, end = x.new_empty(*x.shape[:3], A.shape[2] - x.shape[3]), x.new_empty(start.shape)
        _run(False, cell, variant, {"x": x, "start": start, "h": h, "end": end}, A, v)
        ctx.cell, ctx.variant, ctx.plain = cell, variant, plain
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)
        return h, end

    @staticmethod
    def backward(ctx: Any, dh: Tensor | None, dend: Tensor | None) -> tuple[Tensor | None, ...]:
        tensors: tuple[Tensor, ...] = ctx.saved_tensors
        if torch.is_grad_enabled():  # create_graph: for second derivatives
            gradients = rerun_gradients(lambda: ctx.plain(*tensors), tensors, dh, dend)
            return (None, None, None, *gradients)
        x, start, A, v = (value.resolve_neg() for value in tensors)
        A, v = A.contiguous(), v.contiguous()
        dx = torch.empty_like(x, memory_format=torch.contiguous_format) if ctx.needs_input_grad[3] else None
        dstart, dA, dv = (torch.empty_like(t, memory_format=torch.contiguous_format) for t in (start, A, v))
        down = {name: None if d is None else d.resolve_neg() for name, d in (("dh", dh), ("dend", dend))}
        views = {"x": x, "start": start, **down, "dx": dx, "dstart": dstart}
        _run(True, ctx.cell, ctx.variant, views, A, v, dA, dv)
        return None, None, None, dx, dstart, dA, dv


def _run(
    backward: bool,
    cell: str,
    variant: bool,
    views: dict[str, Tensor | None],
    A: Tensor,
    v: Tensor,
    *gradients: Tensor,
) -> None:
    kernel, x, start = library(), views["x"], views["start"]
    assert kernel is not None
    assert x is not None
    assert start is not None
    (members, steps, samples, inputs), (rows, wide) = x.shape, A.shape[1:]
    shape = (members, steps, samples, inputs, wide - inputs, start.shape[2], rows, v.shape[1])
    threads = 1 if x.numel() * rows < WORK_OF_A_THREAD else torch.get_num_threads()
    call = _Call(*shape, CELLS.index(cell), variant, x.dtype == torch.float64, threads)
    for name, value in views.items():
        setattr(call, name, view(value))
    for name, value in zip(("A", "v", "dA", "dv"), (A, v, *gradients), strict=False):
        setattr(call, name, value.data_ptr())
    if kernel.mclstm_recurrence(ctypes.byref(call), int(backward)) != 0:
        raise MemoryError("The paper's kernel library found no memory for a sequence; make it shorter.")
