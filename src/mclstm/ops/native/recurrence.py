"""The recurrences of the baselines, run by the kernel library: forwards, and back by running them again."""

import ctypes
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from mclstm.ops.native.library import library
from mclstm.ops.native.operator import traced

__all__ = ["CELLS", "recurrence", "recurs"]

CELLS = ("lstm", "ln-lstm", "linear", "powers", "nalu", "products", "unitary")
SIZES = ("E", "T", "B", "I", "O", "S", "R", "extra", "cell", "variant", "wide")
VIEWS = ("x", "start", "h", "end", "dh", "dend", "dx", "dstart")
MOST_WEIGHTS = (
    10_000  # of a member; sums of their gradients lane by lane outgrow the cache, and torch is as fast
)


class _View(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("member", "step", "sample", "entry")),
    ]


class _Call(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int64) for name in SIZES),
        *((name, _View) for name in VIEWS),
        *((name, ctypes.c_void_p) for name in ("A", "v", "dA", "dv")),
    ]


def recurs(
    x: Tensor,  # (E, T, B, I)
    weights: int,  # R (I + O)
) -> bool:
    """Whether the library is there and takes sequences of this kind and cells of this size."""
    kernel = library()
    fits = x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64) and weights <= MOST_WEIGHTS
    return (
        fits
        and not traced(x)
        and kernel is not None
        and kernel.mclstm_recurrence_bytes() == ctypes.sizeof(_Call)
    )


def recurrence(
    cell: str,  # of CELLS
    x: Tensor,  # (E, T, B, I)
    start: Tensor,  # (E, B, S): h, or h and c beside it
    A: Tensor,  # (E, R, I + O), what u_t = [x_t, h_{t-1}] meets
    v: Tensor | None = None,  # (E, N), what else the cell has
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

    Differentiable once. The states are not kept for that: the way back runs every block of samples again.

    >>> x = torch.ones(1, 3, 1, 1)
    >>> if recurs(x, weights=2):
    ...     h, _ = recurrence("linear", x, torch.zeros(1, 1, 1), torch.ones(1, 1, 2))
    ...     assert h.flatten().tolist() == [1.0, 2.0, 3.0]
    """
    v = A.new_empty(A.shape[0], 0) if v is None else v
    h, end = _Recurrence.apply(cell, variant, x, start, A, v)  # type: ignore[no-untyped-call]
    return h, end


class _Recurrence(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, cell: str, variant: bool, x: Tensor, start: Tensor, A: Tensor, v: Tensor
    ) -> tuple[Tensor, Tensor]:
        outputs, (members, samples, state) = A.shape[2] - x.shape[3], start.shape
        # Samples beside each other in memory, as they are in the library's vectors.
        h = x.new_empty(members, x.shape[1], outputs, samples).mT
        end = x.new_empty(members, state, samples).mT
        A, v = A.contiguous(), v.contiguous()
        _run(False, cell, variant, {"x": x, "start": start, "h": h, "end": end}, A, v)
        ctx.cell, ctx.variant = cell, variant
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x, start, A, v)
        return h, end

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dh: Tensor | None, dend: Tensor | None) -> tuple[Tensor | None, ...]:
        x, start, A, v = ctx.saved_tensors
        dx = (
            torch.empty_like(x.mT, memory_format=torch.contiguous_format).mT
            if ctx.needs_input_grad[2]
            else None
        )
        dstart, dA, dv = torch.empty_like(start), torch.empty_like(A), torch.empty_like(v)
        views = {"x": x, "start": start, "dh": dh, "dend": dend, "dx": dx, "dstart": dstart}
        _run(True, ctx.cell, ctx.variant, views, A, v, dA, dv)
        return None, None, dx, dstart, dA, dv


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
    call = _Call(*shape, CELLS.index(cell), variant, x.dtype == torch.float64)
    for name, value in views.items():
        setattr(call, name, _view(value))
    for name, value in zip(("A", "v", "dA", "dv"), (A, v, *gradients), strict=False):
        setattr(call, name, value.data_ptr())
    if kernel.mclstm_recurrence(ctypes.byref(call), int(backward)) != 0:
        raise MemoryError("The native kernel found no memory for a sequence; make it shorter.")


def _view(value: Tensor | None) -> _View:
    """Where a tensor (E, T, B, entries), or (E, B, entries) of one step, lies."""
    if value is None:
        return _View()
    first, *rest = value.stride()
    return _View(value.data_ptr(), first, *(rest if len(rest) == 3 else (0, *rest)))
