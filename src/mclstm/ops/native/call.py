"""Calls the kernel: fills `struct Call` of call.h field by field with sizes and addresses of tensors."""

from array import array
from collections.abc import Sequence

import torch
from torch import Tensor

from mclstm.ops.native.build import CALL_BYTES, library
from mclstm.ops.problem import Problem

__all__ = ["backward", "empty_gradients", "empty_results", "forward", "forward_last"]

FORMS = {"identity": 0, "static": 1, "dynamic": 2}
NORMS = {"softmax": 0, "sigmoid": 1, "relu": 2, "plain": 3, "linear": 4}
WORK_OF_A_THREAD = 1_000_000  # multiplications; starting a thread costs about as much
NOTHING = (0, 0, 0, 0, 0)
NO_WEIGHTS = 6 * (None,)
WEIGHTS = ("W_i", "b_i", "W_o", "b_o", "W_r", "B_r")


def forward(problem: Problem) -> tuple[Tensor, Tensor]:
    """Outflows h (T, B, K) and cells c (T + 1, B, K), led by E or not, as all tensors here."""
    h, c = empty_results(problem)
    _run("mclstm_forward", problem, False, (h, c, *7 * (None,)), NO_WEIGHTS)
    return h, c


def forward_last(problem: Problem) -> tuple[Tensor, Tensor, Tensor]:
    """Outflow (B, K) of the last step, cells (B, K) after it, and cells c (T, B, K) before every step."""
    *lead, batch, cells = problem.c0.shape
    h, end = (problem.c0.new_empty(*lead, cells, batch).mT for _ in range(2))
    c = problem.c0.new_empty(*lead, problem.x.shape[-3], cells, batch).mT
    _run("mclstm_forward", problem, True, (h, c, end, *6 * (None,)), NO_WEIGHTS)
    return h, end, c


def backward(
    problem: Problem, wanted: Sequence[bool], c: Tensor, dh: Tensor | None, dc: Tensor | None, last: bool
) -> list[Tensor | None]:
    """Gradients of x, a, s, c0 and the six weights; None for missing tensors and for inputs not `wanted`.

    c: the cells before every step, (T, B, K) or more · dh: (T, B, K) · dc: (T + 1, B, K); with `last`, dh and
    dc are (B, K), those of the last step
    """
    grads = empty_gradients(problem, wanted)
    _run("mclstm_backward", problem, last, (None, c, None, dh, dc, *grads[:4]), grads[4:])
    return grads


def empty_results(problem: Problem) -> tuple[Tensor, Tensor]:
    """Room for h and c; samples lie beside each other in memory, as they do in the kernel's vectors."""
    *lead, batch, cells = problem.c0.shape
    steps = problem.x.shape[-3]
    h, c = (problem.c0.new_empty(*lead, count, cells, batch).mT for count in (steps, steps + 1))
    return h, c


def empty_gradients(problem: Problem, wanted: Sequence[bool]) -> list[Tensor | None]:
    """Room for the gradients that `backward` returns."""
    pairs = zip(problem[:4], wanted, strict=False)
    inputs = [torch.empty_like(value) if want else None for value, want in pairs]
    return inputs + [None if value is None else value.new_empty(value.shape) for value in _weights(problem)]


def _weights(problem: Problem) -> list[Tensor | None]:
    return [getattr(problem.weights, name) for name in WEIGHTS]


def _run(
    name: str,
    problem: Problem,
    last: bool,
    moving: Sequence[Tensor | None],  # h, c, end, dh, dc, dx, da, ds, dc0
    grads: Sequence[Tensor | None],  # of the six weights
) -> None:
    kernel = library()
    assert kernel is not None
    x, a, s, c0, valid, weights, form = problem
    *lead, steps, batch, masses = x.shape
    cells, width = weights.W_i.shape[-2:]
    members, sees = lead[0] if lead else 1, form.gates_see
    arrays = [
        None if value is None else value.contiguous() for value in (*_weights(problem), weights.mask, valid)
    ]
    rows = masses + 1 + (cells if weights.W_r is not None else 0)
    work = members * steps * batch * cells * (rows * (width + 1) + cells)
    # In the order of call.h.
    values: list[int] = [members, steps, batch, masses, a.shape[-1], s.shape[-1], cells, width]
    values += x.dtype == torch.float64, FORMS[form.redistribution], "output" in form.not_conserving
    values += (NORMS[kind] for kind in form.row_kinds)
    values += "state" in sees, "mass" in sees, form.negative_cells, last
    values.append(_threads(members, work))
    for value in (x, a, s, c0, *moving):
        values += NOTHING if value is None else _view(value, members if lead else 0)
    values += [0 if value is None else value.data_ptr() for value in (*arrays, *grads)]
    call = array("q", values)
    assert call.itemsize * len(call) == CALL_BYTES
    if getattr(kernel, name)(call.buffer_info()[0]) != 0:
        raise MemoryError("The native kernel could not allocate memory for a tile; use a smaller batch.")


def _threads(members: int, work: int) -> int:
    """How many threads share the work; with more threads than members, batches are divided.

    Sums over samples then depend on the number of threads, so deterministic mode divides members only.
    """
    threads = min(torch.get_num_threads(), work // WORK_OF_A_THREAD)
    return max(1, min(threads, members) if torch.are_deterministic_algorithms_enabled() else threads)


def _view(value: Tensor, members: int) -> tuple[int, ...]:
    """`struct View` of a tensor (B, N) or (T, B, N), led by E or not; without T every step sees the same."""
    strides = value.stride()
    if len(strides) == 2:
        return value.data_ptr(), 0, 0, *strides
    if len(strides) == 4:
        return value.data_ptr(), *strides
    first, sample, entry = strides
    return value.data_ptr(), *((first, 0) if members else (0, first)), sample, entry
