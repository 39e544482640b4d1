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
NO_WEIGHTS = 6 * (None,)


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
    """Outflows h (T, B, K) and cells c (T + 1, B, K), led by E or not, as all tensors here."""
    h, c = empty_results(given)
    _run("mclstm_forward", given, form, False, (h, c, *7 * (None,)), NO_WEIGHTS)
    return h, c


def forward_last(given: Problem, form: Form) -> tuple[Tensor, Tensor, Tensor]:
    """Outflow (B, K) of the last step, cells (B, K) after it, and c (T, B, K), those before every step."""
    *lead, batch, cells = given.c0.shape
    h, end = (given.c0.new_empty(*lead, cells, batch).mT for _ in range(2))
    c = given.c0.new_empty(*lead, given.x.shape[-3], cells, batch).mT
    _run("mclstm_forward", given, form, True, (h, c, end, *6 * (None,)), NO_WEIGHTS)
    return h, end, c


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

    c: the cells before every step, (T, B, K) or more · dh: (T, B, K) · dc: (T + 1, B, K); of the `last` step,
    and after it, dh and dc are (B, K)
    """
    found = empty_gradients(given, wanted)
    _run("mclstm_backward", given, form, last, (None, c, None, dh, dc, *found[:4]), found[4:])
    return found


def empty_results(given: Problem) -> tuple[Tensor, Tensor]:
    """h and c, samples beside each other in memory, as they are in the kernel's vectors."""
    *lead, batch, cells = given.c0.shape
    steps = given.x.shape[-3]
    h, c = (given.c0.new_empty(*lead, count, cells, batch).mT for count in (steps, steps + 1))
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
    moving: Sequence[Tensor | None],  # h, c, end, dh, dc, dx, da, ds, dc0
    grads: Sequence[Tensor | None],  # of the six weights
) -> None:
    kernel = library()
    assert kernel is not None
    x, a, s, c0, *weights, mask, valid = given
    *lead, steps, batch, masses = x.shape
    cells, width = given.W_o.shape[-2:]
    members, sees = lead[0] if lead else 1, form.gates_see
    arrays = [None if value is None else value.contiguous() for value in (*weights, mask, valid)]
    rows = masses + 1 + (cells if given.W_r is not None else 0)
    work = members * steps * batch * cells * (rows * (width + 1) + cells)
    # In the order of call.h.
    values: list[int] = [members, steps, batch, masses, a.shape[-1], s.shape[-1], cells, width]
    values += x.dtype == torch.float64, FORMS[form.redistribution], "output" in form.not_conserving
    values += (NORMS[kind] for kind in row_kinds(form))
    values += "state" in sees, "mass" in sees, form.negative_cells, last
    values.append(_threads(members, work))
    for value in (x, a, s, c0, *moving):
        values += NOTHING if value is None else _view(value, members if lead else 0)
    values += [0 if value is None else value.data_ptr() for value in (*arrays, *grads)]
    call = array("q", values)
    if getattr(kernel, name)(call.buffer_info()[0]) != 0:
        raise MemoryError("The native kernel found no memory for a tile; use a smaller batch.")


def _threads(members: int, work: int) -> int:
    """How many threads share the work; more than members divide batches, and with them the sums over samples.

    Deterministic algorithms must not depend on the number of threads: then only whole members are dealt out.
    """
    threads = min(torch.get_num_threads(), work // WORK_OF_A_THREAD)
    return max(1, min(threads, members) if torch.are_deterministic_algorithms_enabled() else threads)


def _view(value: Tensor, members: int) -> tuple[int, ...]:
    """`struct View` of a tensor (B, N) or (T, B, N), led by E or not; what has no T, every step sees."""
    strides = value.stride()
    if len(strides) == 2:
        return value.data_ptr(), 0, 0, *strides
    if len(strides) == 4:
        return value.data_ptr(), *strides
    first, sample, entry = strides
    return value.data_ptr(), *((first, 0) if members else (0, first)), sample, entry
