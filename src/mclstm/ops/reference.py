"""The paper, equation by equation, for any dtype and device: the oracle of every other backend.

Row convention: states are rows, new = c R, and the rows of R and i sum to one (the paper writes columns).
With several mass inputs the step is

    m = c R + x i,    h = σ(z_o) m,    c' = σ(-z_o) m

with z_o the logits of the output gate. A constant outlet has z_o = b_o; without an outlet h = 0 and c' = m.
The paper's c' = m - h cancels where an outlet is nearly open, and gates that see c / |c| would see rounding.
What the rounding of a step loses is given back by `settled`.

The result of a sample does not depend on its batch, to the last bit. That is why products are written as
column-major `bmm` and as multiply-then-sum: `addmm` and row-major `bmm` round differently by batch size.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from mclstm.ops.normalise import fallback_rows, normalise, outer_logits, sigmoid
from mclstm.ops.problem import Form, Problem, Weights
from mclstm.ops.settle import settled

__all__ = ["EMPTY", "Step", "column_major", "normalised_state", "sequence", "step", "steps"]

# Stores below this count as empty, because the gradient of c / |c| would overflow in float32. It is the same
# in both dtypes, so that float32 approximates float64 and is not another model.
EMPTY = torch.finfo(torch.float32).tiny / torch.finfo(torch.float32).eps
Linear = Callable[[Tensor, Tensor, Tensor], Tensor]  # z (B, F), W (..., F), b (...) -> (B, ...)
EMPTY_BATCH = 1e-5  # what the published code adds to the sum it divides by


class Step(NamedTuple):
    """One step of a batch: gates, outflow, and storage after the step."""

    i: Tensor  # (B, M, K)
    o: Tensor  # (B, K)
    R: Tensor  # (B, K, K)
    h: Tensor  # (B, K)
    c: Tensor  # (B, K)


def normalised_state(c: Tensor, form: Form) -> Tensor:
    """c / |c|_1 per sample, and c itself where the sample's stores are empty: c, result (B, K)."""
    if form.state_norm == "none":
        return c
    if form.state_norm == "batch":  # as the published hydrology code does: couples the samples of a batch
        return c / (c.abs().sum(dim=(-2, -1), keepdim=True) + EMPTY_BATCH)
    total = (c.abs() if form.negative_cells else c).sum(dim=-1, keepdim=True)
    return c / torch.where(total > EMPTY, total, 1.0)


def features(x: Tensor, a: Tensor, c: Tensor, form: Form) -> Tensor:
    """What the gates see: x (B, M), a (B, A), c (B, K) -> (B, F)."""
    seen = {"aux": a, "state": normalised_state(c, form), "mass": x}
    return torch.cat([c[:, :0], *(value for name, value in seen.items() if name in form.gates_see)], dim=-1)


def affine(z: Tensor, W: Tensor, b: Tensor) -> Tensor:
    """W z + b: z (B, F), W (..., F) column-major, b (...) -> (B, ...)."""
    return each_product(z, W).view(z.shape[0], *b.shape) + b


def each_product(z: Tensor, W: Tensor) -> Tensor:
    """W z of every sample, to the last bit the same in any batch: z (B, F), W (N, F) column-major -> (B, N).

    On Intel processors MKL rounds a batch of one differently in float32, so a sample alone is computed twice.
    """
    # An export has to hold for every batch: it may neither ask for its size nor fix it, as `len` would.
    alone = not torch.compiler.is_exporting() and z.shape[0] == 1
    rows = z.expand(2, -1) if alone else z
    return torch.bmm(W.expand(rows.shape[0], *W.shape), rows.unsqueeze(-1)).squeeze(-1)[: z.shape[0]]


def at_once(z: Tensor, W: Tensor, b: Tensor) -> Tensor:
    """As `affine`, one product for all samples: many times as fast, its last bits depend on the batch."""
    return torch.addmm(b.flatten(), z, W.flatten(0, -2).t()).view(z.shape[0], *b.shape)


def input_gate(logits: Tensor, form: Form) -> Tensor:
    """i = normalised(W_i z + b_i): logits, result (B, M, K); rows without positive entries are even."""
    if "input" in form.not_conserving:
        return sigmoid(logits)
    cells = logits.shape[-1]
    return normalise(logits, form.input_norm, logits.new_full((cells,), 1.0 / cells))


def redistribution(
    z: Tensor, x: Tensor, a: Tensor, c: Tensor, weights: Weights, form: Form, linear: Linear = affine
) -> Tensor:
    """R = normalised(logits), by form: z (B, F), x (B, M), a (B, A), c (B, K) -> (B, K, K)."""
    batch, cells = c.shape
    eye = torch.eye(cells, dtype=c.dtype, device=c.device)
    if form.redistribution == "identity":
        return eye.expand(batch, cells, cells)
    logits = redistribution_logits(z, x, a, c, weights, form, linear)
    mask = weights.mask
    if "redistribution" in form.not_conserving:
        return logits if mask is None else logits.masked_fill(~mask, 0.0)
    return normalise(logits, form.redistribution_norm, fallback_rows(mask, eye), mask)


def redistribution_logits(
    z: Tensor, x: Tensor, a: Tensor, c: Tensor, weights: Weights, form: Form, linear: Linear
) -> Tensor:
    """The logits of R before normalisation: z (B, F), x (B, M), a (B, A), c (B, K) -> (B, K, K)."""
    batch, cells = c.shape
    if weights.hypernetwork is not None:
        return weights.hypernetwork(x, a, c).view(batch, cells, cells)
    B_r = weights.B_r
    assert B_r is not None
    if form.redistribution == "static":
        return B_r.expand(batch, cells, cells)
    assert weights.W_r is not None
    if form.redistribution == "dynamic":
        return linear(z, weights.W_r, B_r)
    assert weights.b_r is not None
    u, v = linear(z, weights.W_r, weights.b_r).unbind(dim=1)
    return outer_logits(u, v, B_r)


def outlet(
    z: Tensor, m: Tensor, weights: Weights, form: Form, linear: Linear = affine
) -> tuple[Tensor, Tensor, Tensor]:
    """The share o that leaves, what leaves, h = o m, and what stays: z (B, F), m (B, K) -> (B, K) each."""
    if form.outlet == "none":
        closed = torch.zeros_like(m)
        return closed, closed, m
    assert weights.b_o is not None
    z_o = weights.b_o.expand_as(m) if weights.W_o is None else linear(z, weights.W_o, weights.b_o)
    o = sigmoid(z_o)
    return o, o * m, m if "output" in form.not_conserving else sigmoid(-z_o) * m


def step(x: Tensor, a: Tensor, c: Tensor, weights: Weights, form: Form) -> Step:
    """One step: m = c R + x i, h = σ(z_o) m, c' = σ(-z_o) m, with weights prepared by `column_major`.

    x: (B, M) · a: (B, A), static inputs behind the auxiliary ones · c: (B, K)
    """
    z = features(x, a, c, form)
    i = input_gate(affine(z, weights.W_i, weights.b_i), form)
    R = redistribution(z, x, a, c, weights, form)
    m = (c.unsqueeze(-1) * R).sum(dim=-2) + (x.unsqueeze(-1) * i).sum(dim=-2)
    o, h, after = outlet(z, m, weights, form)
    h, after = (h, after) if form.not_conserving else settled(torch.cat([x, c], dim=-1), h, after)
    return Step(i, o, R, h, after)


def column_major(weights: Weights) -> Weights:
    """The same weights as matrices (N, F) stored by columns, once per sequence; see the module docstring."""

    def stored(W: Tensor) -> Tensor:
        return W.flatten(end_dim=-2).t().contiguous().t()

    W_o, W_r = (None if W is None else stored(W) for W in (weights.W_o, weights.W_r))
    return weights._replace(W_i=stored(weights.W_i), W_o=W_o, W_r=W_r)


def steps(problem: Problem) -> Iterator[Step]:
    """Step by step through the sequences of a plain layer; where `valid` is False nothing moves."""
    x, a, s, c, valid, weights, form = problem
    weights = column_major(weights)
    for t in range(x.shape[0]):
        now = step(x[t], torch.cat([a[t], s], dim=-1), c, weights, form)
        now = now if valid is None else still(now, c, valid[t])
        c = now.c
        yield now


def still(now: Step, before: Tensor, valid: Tensor) -> Step:
    """In padding outlets are closed and mass stays in its cell: before (B, K) · valid (B,) bool."""
    rows = valid.unsqueeze(-1)
    closed = torch.zeros_like(now.o)
    eye = torch.eye(before.shape[-1], dtype=before.dtype, device=before.device)
    o, h = torch.where(rows, now.o, closed), torch.where(rows, now.h, closed)
    R = torch.where(rows.unsqueeze(-1), now.R, eye)
    return Step(now.i, o, R, h, torch.where(rows, now.c, before))


def sequence(problem: Problem) -> tuple[Tensor, Tensor]:
    """Outflows h (T, B, K) and cells c (T + 1, B, K), c[0] the initial state; led by E with members.

    Each member's results are to the last bit those of the same layer alone.
    """
    if problem.members is not None:
        alone = [sequence(problem.member(e)) for e in range(problem.members)]
        return torch.stack([h for h, _ in alone]), torch.stack([c for _, c in alone])
    c0 = problem.c0
    done = [(now.h, now.c) for now in steps(problem)]
    h = torch.stack([h for h, _ in done]) if done else c0.new_zeros(0, *c0.shape)
    return h, torch.stack([c0, *(c for _, c in done)])
