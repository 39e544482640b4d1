"""Autoregression: a cell that runs from an initial state, with no mass coming in."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from mclstm.nn.arguments import require_size, require_tensor
from mclstm.nn.cell import MCLSTMCell

__all__ = ["Rollout", "rollout"]


class Rollout(NamedTuple):
    """A trajectory from an initial state."""

    c: Tensor  # (T + 1, B, K), c[0] the initial state
    h: Tensor  # (T, B, K)
    a: Tensor  # (T, B, A), the auxiliary inputs that were used


def rollout(
    cell: MCLSTMCell,
    c0: Tensor,  # (B, K)
    a: Tensor,  # (T, B, A) of all steps, or (B, A) of the first
    *,
    static: Tensor | None = None,  # (B, S)
    next_aux: Callable[[Tensor, Tensor], Tensor] | None = None,
    steps: int | None = None,
) -> Rollout:
    """Run a cell from an initial state with no mass coming in.

    Without `next_aux`, a holds the auxiliary inputs of every step. With it, a holds those of the first step,
    and a_{t+1} = next_aux(a_t, c_t) predicts the others, over `steps` steps. A hypernetwork that has
    `reset_state()` is reset before the first step.

    >>> cell = MCLSTMCell(0, 1, 2, output_bias=-100.0)
    >>> energy = rollout(cell, torch.tensor([[1.0, 0.0]]), torch.zeros(50, 1, 1)).c
    >>> torch.allclose(energy.sum(-1), torch.ones(51, 1))
    True
    """
    if not isinstance(cell, MCLSTMCell):
        raise ValueError(f"cell is a {type(cell).__name__}; give an MCLSTMCell, which can load its weights.")
    if steps is not None:
        require_size("steps", steps, least=0)
    if (next_aux is None) == (steps is not None):
        raise ValueError("Give `next_aux` and `steps` together, or the auxiliary inputs of every step.")
    require_tensor("c0", c0)
    require_tensor("a", a)
    cell.gates.start()
    count = a.shape[0] if steps is None else steps
    now = a[0] if steps is None and count else a
    stores, outflows, used, c = [c0], [], [], c0
    for t in range(count):
        now = a[t] if next_aux is None else now
        h, c = cell(None, now, c, static=static)
        stores.append(c)
        outflows.append(h)
        used.append(now)
        now = now if next_aux is None else next_aux(now, c)
    if not used:
        return Rollout(torch.stack(stores), c0.new_zeros(0, *c0.shape), a[:0])
    return Rollout(torch.stack(stores), torch.stack(outflows), torch.stack(used))
