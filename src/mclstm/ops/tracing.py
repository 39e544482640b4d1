"""Mass by its origin: given its gates an MC-LSTM is linear in mass, so every amount can be followed.

    m_t = c_{t-1} R_t + x_t i_t,    h_t = o_t m_t,    c_t = (1 - o_t) m_t

An amount with a tag moves by the same gates. Tags are never negative and add up to the outflow and the cells.
`follow` goes forward in time: when and where does an input leave? `look_back` goes backward: what is an
outflow made of? Both are one linear map G(t, s) >= 0, read by rows or by columns.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from mclstm.ops import reference
from mclstm.ops.problem import Problem

__all__ = ["Moves", "aged", "follow", "follow_used", "look_back", "moves", "tagged", "throughput"]


class Moves(NamedTuple):
    """How the mass of some steps moved, in shares; float64. N sequences: the samples of all members."""

    x: Tensor  # (T, N, M) mass in
    i: Tensor  # (T, N, M, K) rows sum to one
    R: Tensor  # (T, N, K, K) rows sum to one, row = from
    leaves: Tensor  # (T, N, K) share of a cell that leaves
    stays: Tensor  # (T, N, K) share of a cell that stays


@torch.no_grad()
def moves(problem: Problem, c: Tensor) -> Moves:
    """The shares of every step. The cells are known, so that no step has to wait for the one before.

    c: (T, B, K) before each step, led by E with members; a hypernetwork is called once, for T B rows
    """
    if problem.members is not None:
        parts = [moves(problem.member(e), c[e]) for e in range(problem.members)]
        return Moves(*(torch.cat(column, dim=1) for column in zip(*parts, strict=True)))
    steps, samples = problem.x.shape[:2]
    weights, form, linear = problem.weights, problem.form, reference.at_once
    s = problem.s.expand(steps, *problem.s.shape)
    x, a, before = (v.flatten(0, 1) for v in (problem.x, torch.cat([problem.a, s], dim=-1), c))
    if form.state_norm == "batch":  # which the samples of a step decide together
        whole = torch.cat([reference.normalised_state(cells, form) for cells in c])
        z = reference.features(x, a, whole, form._replace(state_norm="none"))
    else:
        z = reference.features(x, a, before, form)
    i = reference.input_gate(linear(z, weights.W_i, weights.b_i), form)
    R = reference.redistribution(z, x, a, before, weights, form, linear)
    leaves, _, stays = reference.outlet(z, torch.ones_like(before), weights, form, linear)
    shares = (value.view(steps, samples, *value.shape[1:]).double() for value in (i, R, leaves, stays))
    return _without_padding(Moves(problem.x.double(), *shares), problem.valid)


def _without_padding(part: Moves, valid: Tensor | None) -> Moves:  # (T, B) bool
    """In padding nothing moves."""
    if valid is None:
        return part
    rows, eye = valid.unsqueeze(-1), torch.eye(part.R.shape[-1], dtype=part.R.dtype, device=part.R.device)
    R = torch.where(rows.unsqueeze(-1), part.R, eye)
    leaves, stays = torch.where(rows, part.leaves, 0.0), torch.where(rows, part.stays, 1.0)
    return part._replace(R=R, leaves=leaves, stays=stays)


# Step, cells (N, G, K), which it may change, and inflow (N, M, K) -> cells (N, G, K).
Enter = Callable[[int, Tensor, Tensor], Tensor]


def tagged(tags: Tensor) -> Enter:
    """The mass of step t and input m gets the tag tags[t, m], (T, M) of whole numbers."""
    return lambda t, cells, inflow: cells.index_add_(1, tags[t], inflow)


def aged(t: int, cells: Tensor, inflow: Tensor) -> Tensor:
    """Tags are ages in steps: all grow older by one, and what enters has age 0; as `Enter`.

    The last tag but one holds its age and all greater ones; the last is for stores that were there before.
    """
    older = cells[:, -3:-1].sum(dim=1, keepdim=True)
    return torch.cat([inflow.sum(dim=1, keepdim=True), cells[:, :-3], older, cells[:, -1:]], dim=1)


@torch.no_grad()
def follow(part: Moves, cells: Tensor, enter: Enter, outlets: Tensor) -> tuple[Tensor, Tensor]:
    """The outflow by tag and outlet at every step, (T, N, G, O), and the cells by tag after the last.

    cells: (N, G, K) by tag before the first step · outlets: (K, O) share of each cell's outflow
    """
    flows = []
    for t in range(len(part.x)):
        inflow = part.x[t].unsqueeze(-1) * part.i[t]
        mass = enter(t, cells @ part.R[t], inflow)
        flows.append(mass @ (part.leaves[t].unsqueeze(-1) * outlets))
        cells = mass.mul_(part.stays[t].unsqueeze(1))
    return torch.stack(flows), cells


def follow_used(
    part: Moves, cells: Tensor, enter: Enter, outlets: Tensor, used: int
) -> tuple[Tensor, Tensor]:
    """As `follow`, where only the first `used` tags and the last one hold anything until the last step."""
    live = torch.cat([cells[:, :used], cells[:, -1:]], dim=1)
    flows, after = follow(part, live, enter, outlets)
    return _widened(flows, 2, cells.shape[1]), _widened(after, 1, cells.shape[1])


def _widened(values: Tensor, dim: int, count: int) -> Tensor:
    """Empty tags before the last one, so that there are `count` in all."""
    used = values.shape[dim] - 1
    shape = list(values.shape)
    shape[dim] = count - used - 1
    first, last = values.narrow(dim, 0, used), values.narrow(dim, used, 1)
    return torch.cat([first, values.new_zeros(shape), last], dim=dim)


def throughput(part: Moves, before: Tensor) -> tuple[Tensor, Tensor]:
    """What each cell held after a step and what left it in it, to other cells or out: sums, (N, K) each.

    before: (T, N, K), the cells before each step
    """
    moved = (before.unsqueeze(-2) @ part.R).squeeze(-2)
    mass = moved + (part.x.unsqueeze(-2) @ part.i).squeeze(-2)
    handed_on = before * (1 - part.R.diagonal(dim1=-2, dim2=-1))
    return (mass * part.stays).sum(0), (handed_on + mass * part.leaves).sum(0)


@torch.no_grad()
def look_back(part: Moves, value: Tensor, steps: Tensor, shares: Tensor) -> tuple[Tensor, Tensor]:
    """What every input gives to some outflows, (T, N, G, M), and the value of the cells before these steps.

    Outflow g is that of step steps[g], counted by shares[g] of each cell's outflow. The value of a cell is
    the part of its mass that reaches the outflow:

        v_m = o_t w + (1 - o_t) v,    v_{t-1} = R_t v_m

    value: (N, G, K) of the cells after the last step · steps: (G,) in this part, or outside · shares: (G, K)
    """
    contributions = []
    for t in reversed(range(len(part.x))):
        wanted = shares * (steps == t).unsqueeze(-1)
        value = part.leaves[t].unsqueeze(1) * wanted + part.stays[t].unsqueeze(1) * value
        contributions.append((value @ part.i[t].mT) * part.x[t].unsqueeze(1))
        value = value @ part.R[t].mT
    return torch.stack(contributions[::-1]), value
