"""Calling the kernel: tensors in, `struct Call` of call.h filled field by field, tensors out."""

from array import array
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mclstm.ops.native.library import library
from mclstm.ops.reference import Form
from mclstm.ops.stacked import row_kinds

__all__ = ["Problem", "backward", "empty_gradients", "empty_results", "forward"]

FORMS = {"identity": 0, "static": 1, "dynamic": 2}
NORMS = {"softmax": 0, "sigmoid": 1, "relu": 2, "plain": 3, "linear": 4}
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


def forward(given: Problem, form: Form, last: bool = False) -> tuple[Tensor, Tensor]:
    """Outflows h (T, B, K), or (B, K) of the `last` step, and cells c (T + 1, B, K), led by E or not."""
    h, c = empty_results(given, last)
    _run("mclstm_forward", given, form, last, (h, c, *6 * (None,)), 6 * (None,))
    return h, c


def backward(
    given: Problem,
    form: Form,
    wanted: Sequence[bool],
    c: Tensor,
    dh: Tensor | None,
    dc: Tensor | None,
    last: bool = False,
) -> list[Tensor | None]:
    """Gradients of the first ten tensors; None where there is no tensor or, of the first four, no wish.

    c, dc: (T + 1, B, K) · dh: (T, B, K), led by E as the problem is; dc and dh (B, K) of the `last` step
    """
    found = empty_gradients(given, wanted)
    _run("mclstm_backward", given, form, last, (None, c, dh, dc, *found[:4]), found[4:])
    return found


def empty_results(given: Problem, last: bool = False) -> tuple[Tensor, Tensor]:
    """h and c, samples beside each other in memory, as they are in the kernel's vectors."""
    *lead, batch, cells = given.c0.shape
    steps = given.x.shape[-3]
    outflows = lead if last else [*lead, steps]
    h, c = (given.c0.new_empty(*some, cells, batch).mT for some in (outflows, [*lead, steps + 1]))
    return h, c


def empty_gradients(given: Problem, wanted: Sequence[bool]) -> list[Tensor | None]:
    """Room for the gradients of the first ten tensors, as `backward` returns them."""
    pairs = zip(given[:4], wanted, strict=False)
    inputs = [torch.empty_like(value) if want else None for value, want in pairs]
    return inputs + [None if value is None else value.new_empty(value.shape) for value in given[4:10]]


def _run(
    name: str,
    given: Problem,
    form: Form,
    last: bool,
    moving: Sequence[Tensor | None],  # h, c, dh, dc, dx, da, ds, dc0
    grads: Sequence[Tensor | None],  # of the six weights
) -> None:
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
    values += [x.dtype == torch.float64, FORMS[form.redistribution], "output" in form.not_conserving]
    values += [
        *(NORMS[kind] for kind in row_kinds(form)),
        "state" in form.gates_see,
        "mass" in form.gates_see,
    ]
    values += [form.negative_cells, last, threads]
    for value in (x, a, s, c0, *moving):
        values += NOTHING if value is None else _view(value, bool(lead))
    values += [0 if value is None else value.data_ptr() for value in (*arrays, *grads)]
    call = array("q", values)
    if getattr(kernel, name)(call.buffer_info()[0]) != 0:
        raise MemoryError("The native kernel found no memory for a tile; use a smaller batch.")


def _view(value: Tensor, members: bool) -> tuple[int, ...]:
    """`struct View` of a tensor (B, N) or (T, B, N), led by E or not; what has no T, every step sees."""
    *lead, sample, entry = value.stride()
    member, *step = lead if members else (0, *lead)
    return value.data_ptr(), member, *(step or (0,)), sample, entry
