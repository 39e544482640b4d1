"""The one table of backends: who computes a sequence.

    reference   the paper, equation by equation; any form, any device, any transform of torch
    torch       recomputes instead of storing, except where R is a module
    native      the fused CPU kernel; `torch` computes what it does not cover, or where it is not built
    auto        native where it covers the problem and is built, else torch

Every backend gives the same bits when it is repeated on the same machine with the same number of threads:
`native` adds up the results of its threads in a fixed order, `torch` and `reference` inherit it from torch on
a CPU. Different backends agree within rounding, not in bits.

Deterministic mode, `torch.use_deterministic_algorithms(True)`: the bits of `native` do not depend on the
number of threads either. A batch is then never divided among threads, because that changes the order of sums
over samples; whole members are still distributed. The price: a layer without members runs on one thread.
On a GPU, `torch` repeats its bits in this mode only.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from mclstm.ops import autoregression, manual, reference
from mclstm.ops.autoregression import Autoregression
from mclstm.ops.native import operator, trajectory
from mclstm.ops.native.build import library
from mclstm.ops.problem import Problem

__all__ = ["BACKENDS", "autoregress", "kernel_covers", "last"]

COVERED = ("dynamic", "static", "identity")  # the forms of R that the kernel computes


def kernel_covers(problem: Problem) -> bool:
    """Whether the kernel is built and computes this form, dtype and device."""
    x, form = problem.x, problem.form
    fits = x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64)
    alone = form.state_norm == "sample"  # the kernel goes tile by tile and never sees the whole batch
    return fits and alone and form.redistribution in COVERED and library() is not None


def native(problem: Problem) -> tuple[Tensor, Tensor]:
    """The kernel, or `torch` for what it does not cover."""
    return operator.sequence(problem) if kernel_covers(problem) else by_hand(problem)


def by_hand(problem: Problem) -> tuple[Tensor, Tensor]:
    """The backward written by hand, which transforms of torch.func cannot take apart."""
    if operator.transformed():
        raise ValueError("vmap and other transforms of torch.func need plain operations; use backend='auto'.")
    return manual.sequence(problem)


def fastest(problem: Problem) -> tuple[Tensor, Tensor]:
    """The fastest backend that can; vmap, jacrev, forward mode and the like need plain operations."""
    return reference.sequence(problem) if operator.transformed() else native(problem)


# From a problem to outflows h (T, B, K) and cells c (T + 1, B, K), led by E with members.
BACKENDS: dict[str, Callable[[Problem], tuple[Tensor, Tensor]]] = {
    "auto": fastest,
    "reference": reference.sequence,
    "torch": by_hand,
    "native": native,
}


def last(backend: str, problem: Problem) -> tuple[Tensor, Tensor]:
    """Outflow h (B, K) of each sequence's last step and cells c (B, K) after it, led by E with members.

    The kernel then neither stores the outflows before nor looks for gradients of them.
    """
    if backend in ("auto", "native") and kernel_computes_last(problem):
        return operator.last(problem)
    h, c = BACKENDS[backend](problem)
    return ended(h, problem.valid) if h.shape[-3] else torch.zeros_like(problem.c0), c.select(-3, -1)


def kernel_computes_last(problem: Problem) -> bool:
    """Whether the kernel's shorter path for the last step can be taken: no padding, a step, eager mode."""
    plain = problem.valid is None and problem.x.shape[-3] > 0 and not operator.traced(problem.x)
    return plain and not operator.transformed() and kernel_covers(problem)


def ended(h: Tensor, valid: Tensor | None) -> Tensor:
    """Outflow of the last step that is not padding: h (T, B, K), led by E or not, valid (T, B) -> (B, K)."""
    if valid is None:
        return h.select(-3, -1)
    final = (valid.sum(dim=0) - 1).clamp(min=0).view(1, -1, 1)
    shape = (*h.shape[:-3], 1, *h.shape[-2:])
    return h.gather(-3, final.expand(shape)).squeeze(-3)


def autoregress(problem: Autoregression) -> tuple[Tensor, Tensor]:
    """Outflows h (E, T, B, K) and cells c (E, T + 1, B, K) of a roll-out without inflow.

    The kernel computes what it covers; compilers, fake tensors and transforms get plain operations.
    """
    watched = operator.transformed() or operator.traced(problem.c0)
    return (
        autoregression.reference(problem)
        if watched or not trajectory.covers(problem)
        else trajectory.run(problem)
    )
