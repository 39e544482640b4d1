"""Calling the kernel: tensors in, `struct Call` of call.h filled field by field, tensors out."""

from array import array
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mclstm.ops.native.library import library
from mclstm.ops.reference import Form

__all__ = ["Problem", "backward", "empty_gradients", "empty_results", "forward"]

FORMS = {"identity": 0, "static": 1, "dynamic": 2}
NORMS = {"softmax": 0, "sigmoid": 1, "relu": 2}
WORK_OF_A_THREAD = 1_000_000  # multiplications; starting a thread costs about as much as these
NOTHING = (0, 0, 0, 0, 0)


class Problem(NamedTuple):
    """A sequence and its weights as the kernel takes them; all but mask and valid may lead with E."""

    x: Tensor  # (T, B, M)
    a: Tensor  # (T, B, A), nothing of it (A = 0) where the gates do not see it
    s: Tensor  # (B, S), likewise
    c0: Tensor  # (B, K)
    W_i: Tensor  # (M, K, F)
    b_i: Tensor  # (M, K)
    W_o: Tensor  # (K, F)
    b_o: Tensor  # (K,)
    W_r: Tensor | None  # (K, K, F), dynamic
    B_r: Tensor | None  # (K, K), dynamic and static
    mask: Tensor | None  # (K, K) bool
    valid: Tensor | None  # (T, B) bool


def forward(given: Problem, form: Form) -> tuple[Tensor, Tensor]:
    """Outflows h (T, B, K) and cells c (T + 1, B, K), led by E as the problem is."""
    h, c = empty_results(given)
    _run("mclstm_forward", given, form, [_view(h), _view(c), *6 * [NOTHING]], [None] * 6)
    return h, c


def backward(
    given: Problem, form: Form, wanted: list[bool], c: Tensor, dh: Tensor | None, dc: Tensor | None
) -> list[Tensor]:
    """Gradients of the first ten tensors; empty ones where there is no tensor or, of the first four, no wish.

    c, dc: (T + 1, B, K) · dh: (T, B, K), led by E as the problem is
    """
    found = empty_gradients(given, wanted)
    dx, da, ds, dc0, *weights = (value if value.numel() else None for value in found)
    views = [NOTHING, _view(c), _view(dh), _view(dc), _view(dx), _view(da), _once(ds), _once(dc0)]
    _run("mclstm_backward", given, form, views, weights)
    return found


def empty_results(given: Problem) -> tuple[Tensor, Tensor]:
    """h and c, samples beside each other in memory, as they are in the kernel's vectors."""
    *lead, batch, cells = given.c0.shape
    steps = given.x.shape[-3]
    h, c = (given.c0.new_empty(*lead, count, cells, batch).mT for count in (steps, steps + 1))
    return h, c


def empty_gradients(given: Problem, wanted: list[bool]) -> list[Tensor]:
    """Room for the gradients of the first ten tensors."""
    some = [*wanted[:4], *(value is not None for value in given[4:10])]
    pairs = zip(given[:10], some, strict=True)
    return [given.x.new_empty(value.shape if want and value is not None else 0) for value, want in pairs]


def _view(value: Tensor | None) -> tuple[int, ...]:
    """`struct View` of a tensor (T, B, N) or (E, T, B, N)."""
    if value is None:
        return NOTHING
    strides = value.stride()
    return (value.data_ptr(), *strides) if len(strides) == 4 else (value.data_ptr(), 0, *strides)


def _once(value: Tensor | None) -> tuple[int, ...]:
    """`struct View` of a tensor (B, N) or (E, B, N), the same at every step."""
    if value is None:
        return NOTHING
    *member, sample, entry = value.stride()
    return (value.data_ptr(), *(member or (0,)), 0, sample, entry)


def _run(
    name: str, given: Problem, form: Form, views: list[tuple[int, ...]], grads: Sequence[Tensor | None]
) -> None:
    """views: of h, c, dh, dc, dx, da, ds, dc0 · grads: of the six weights, contiguous."""
    kernel = library()
    assert kernel is not None
    x, a, s, c0, *weights, mask, valid = given
    *lead, steps, batch, masses = x.shape
    cells, width = given.W_o.shape[-2:]
    members = lead[0] if lead else 1
    arrays = [None if value is None else value.contiguous() for value in (*weights, mask, valid)]
    rows = masses + 1 + (cells if given.W_r is not None else 0)
    work = members * steps * batch * cells * (rows * (width + 1) + cells)
    threads = max(1, min(torch.get_num_threads(), work // WORK_OF_A_THREAD))
    # In the order of call.h.
    values: list[int] = [members, steps, batch, masses, a.shape[-1], s.shape[-1], cells, width]
    values += [x.dtype == torch.float64, FORMS[form.redistribution], NORMS[form.input_norm]]
    values += [NORMS[form.redistribution_norm], "state" in form.gates_see, "mass" in form.gates_see]
    values += [form.signed, threads]
    for view in (_view(x), _view(a), _once(s), _once(c0), *views):
        values += view
    values += [0 if value is None else value.data_ptr() for value in (*arrays, *grads)]
    call = array("q", values)
    if getattr(kernel, name)(call.buffer_info()[0]) != 0:
        raise MemoryError("The native kernel found no memory for a tile; use a smaller batch.")
