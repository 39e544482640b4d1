"""Autoregression: a cell that runs from an initial state, with no mass coming in."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mclstm.nn.arguments import full_precision, require_size, require_tensor
from mclstm.nn.autoregressive_lstm import AutoregressiveLSTM, LSTMState
from mclstm.nn.cell import MCLSTMCell
from mclstm.nn.door import arrange
from mclstm.nn.ensemble_dim import stacked
from mclstm.nn.gates import Gates
from mclstm.nn.redistribution_network import Hypernetwork
from mclstm.ops.autoregression import Autoregression
from mclstm.ops.dispatch import autoregress

__all__ = ["Rollout", "rollout"]

Cell = MCLSTMCell | AutoregressiveLSTM
NextAux = Callable[[Tensor, Tensor], Tensor]  # a (B, A), c (B, K) -> the next a (B, A), led by E with members


class Rollout(NamedTuple):
    """A trajectory from an initial state; with members c and h lead with E, and a if each has its own."""

    c: Tensor  # (T + 1, B, K), c[0] the initial state; the predictions of an LSTM
    h: Tensor  # (T, B, K); (T, B, 0) for an LSTM, which has no outlets
    a: Tensor  # (T, B, A), the auxiliary inputs that were used


def rollout(
    cell: Cell,
    c0: Tensor,  # (B, K)
    a: Tensor,  # (T, B, A) of all steps, or (B, A) of the first
    *,
    static: Tensor | None = None,  # (B, S)
    next_aux: NextAux | None = None,
    steps: int | Sequence[int] | Tensor | None = None,  # (E,)
) -> Rollout:
    """Run a cell from an initial state with no mass coming in.

    By default a holds the auxiliary inputs of every step. With `next_aux`, or a `Hypernetwork` that predicts
    them (`next_aux_size`), a holds those of the first step, and a_{t+1} = next_aux(a_t, c_t) are the others.
    `steps` is how far to go, by default as far as a does. With members c0, a and static are shared or lead
    with E, and `steps` may be one window for each member, beyond which nothing moves. A hypernetwork that has
    `reset_state()` is reset before the first step.

    >>> cell = MCLSTMCell(0, 1, 2, outlet="none")
    >>> energy = rollout(cell, torch.tensor([[1.0, 0.0]]), torch.zeros(50, 1, 1)).c
    >>> torch.allclose(energy.sum(-1), torch.ones(51, 1))
    True

    >>> lstm = AutoregressiveLSTM(2, 1, 8, members=3)
    >>> rollout(lstm, torch.tensor([[1.0, 0.0]]), torch.zeros(50, 1, 1), steps=[10, 20, 30]).c.shape
    torch.Size([3, 31, 1, 2])
    """
    if not isinstance(cell, (MCLSTMCell, AutoregressiveLSTM)):
        raise ValueError(
            f"cell is a {type(cell).__name__}; give an MCLSTMCell, which loads the weights of an MCLSTM, "
            "or an AutoregressiveLSTM."
        )
    require_tensor("c0", c0)
    require_tensor("a", a)
    next_aux = own_prediction(cell) if next_aux is None else next_aux
    known = None if next_aux is not None else a.shape[time_of(a, 3)]
    count, windows = window_lengths(steps, known, cell.members)
    a = a if known is None else a.narrow(time_of(a, 3), 0, count)
    gates = covered(cell) if known is not None and static is None else None
    if gates is not None:
        return fused(gates, c0, a, windows)
    run = step_by_step(cell, c0, a, static, next_aux, count)
    return run if windows is None else held(run, windows)


def own_prediction(cell: Cell) -> NextAux | None:
    """The auxiliary inputs that the cell's hypernetwork predicts, if it does."""
    gates = cell.gates if isinstance(cell, MCLSTMCell) else None
    if gates is None or not isinstance(gates.hypernetwork, Hypernetwork):
        return None
    network, size = gates.hypernetwork, gates.aux_size
    if not network.next_aux_size:
        return None
    if network.next_aux_size != size:
        raise ValueError(
            f"The hypernetwork predicts {network.next_aux_size} auxiliary inputs and the cell takes {size}; "
            f"build it with next_aux_size={size}."
        )
    return lambda a, c: network.next_aux  # type: ignore[return-value]


def window_lengths(
    steps: int | Sequence[int] | Tensor | None, known: int | None, members: int | None
) -> tuple[int, Tensor | None]:
    """How many steps to run, and the window of each member (E,) if they differ; known: T of all inputs."""
    if steps is None:
        if known is None:
            raise ValueError(
                "Auxiliary inputs are predicted, and a holds those of the first step; give `steps`."
            )
        return known, None
    each = steps.tolist() if isinstance(steps, Tensor) else steps
    lengths = list(each) if isinstance(each, Sequence) else [each]
    for length in lengths:
        require_size("steps", length, least=0)
    if isinstance(each, Sequence) and len(each) != members:
        raise ValueError(f"steps has {len(each)} windows and members is {members}; give one per member.")
    if known is not None and max(lengths) > known:
        raise ValueError(f"steps is {max(lengths)}, but a holds {known} steps; give more, or go less far.")
    return max(lengths), torch.tensor(lengths) if isinstance(each, Sequence) else None


def time_of(value: Tensor, dims: int) -> int:
    """Where the time of (T, B, N) is, unbatched (T, N) or led by E; dims: how many a batch has."""
    return max(value.dim() - dims, 0)


def covered(cell: Cell) -> Gates | None:
    """The gates of a cell that `ops.autoregression` computes, None for other forms."""
    if not isinstance(cell, MCLSTMCell) or not isinstance(cell.gates.hypernetwork, Hypernetwork):
        return None
    gates, form = cell.gates, cell.gates.form
    sees_cells = form.gates_see == ("state",) and form.state_norm == "none"
    closed = gates.mass_size == 0 and gates.static_size == 0
    plain = gates.mask is None and cell.conserving and not form.signed
    return gates if closed and plain and (form.outlet != "gate" or sees_cells) else None


def fused(
    gates: Gates,
    c0: Tensor,  # (B, K)
    a: Tensor,  # (T, B, A)
    windows: Tensor | None,  # (E,)
) -> Rollout:
    """The whole roll-out in one call of `ops.autoregression`."""
    network, members = gates.hypernetwork, gates.members
    assert isinstance(network, Hypernetwork)
    problem, layout = arrange(gates, None, a, c0)
    count = problem.x.shape[-3]
    starts, inputs = (stacked(value, members) for value in (problem.c0, problem.a))
    W_o, b_o = (None if value is None else stacked(value, members) for value in (gates.W_o, gates.b_o))
    steps = torch.full((members or 1,), count) if windows is None else windows
    parts = (network.layers, W_o, b_o, network.activation, network.sight, gates.form.redistribution_norm)
    with full_precision(c0.device):
        h, c = autoregress(Autoregression(starts, inputs, *parts, steps.to(c0.device)))
    network.remember(c[:, -2] if count else None)
    h, c = (value if members is not None else value.squeeze(0) for value in (h, c))
    return Rollout(layout.outward(c), layout.outward(h), a)


def step_by_step(
    cell: Cell,
    c0: Tensor,  # (B, K)
    a: Tensor,  # (T, B, A) of all steps, or (B, A) of the first
    static: Tensor | None,  # (B, S)
    next_aux: NextAux | None,
    count: int,
) -> Rollout:
    """The roll-out as a loop over steps."""
    advance = stepper(cell, static)
    c, now = led(c0, cell.members), a if next_aux is None else led(a, cell.members)
    stores, outflows, used = [c], [], []
    for t in range(count):
        now = a.select(time_of(a, 3), t) if next_aux is None else now
        h, c = advance(now, c)
        stores.append(c)
        outflows.append(h)
        used.append(now)
        now = now if next_aux is None else next_aux(now, c)
    if not used:
        start = c.unsqueeze(time_of(c, 2))
        none = start.narrow(time_of(c, 2), 0, 0)
        return Rollout(start, none, none.new_zeros(*none.shape[:-1], a.shape[-1]))
    return Rollout(*(torch.stack(values, dim=time_of(values[-1], 2)) for values in (stores, outflows, used)))


def led(value: Tensor, members: int | None) -> Tensor:
    """A start that members share, (B, N), expanded along E."""
    return value if members is None or value.dim() == 3 else value.expand(members, *value.shape)


def stepper(cell: Cell, static: Tensor | None) -> Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """One step of the cell, a (B, A), c (B, K) -> h (B, K), c (B, K), from the start of a sequence."""
    if isinstance(cell, MCLSTMCell):
        cell.gates.start()
        return lambda a, c: cell(None, a, c, static=static)
    if static is not None:
        raise ValueError("An AutoregressiveLSTM takes no static inputs; repeat them in a.")
    state: LSTMState | None = None

    def advance(a: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        nonlocal state
        y, state = cell(y, a, state)
        return y[..., :0], y

    return advance


def held(run: Rollout, windows: Tensor) -> Rollout:
    """The roll-out of members (E, T, B, K) whose cells stand still after their windows (E,)."""
    t, ends = torch.arange(run.c.shape[1]), windows.unsqueeze(-1)
    moves, last = (value[:, :, None, None].to(run.c.device) for value in (t[:-1] < ends, t.minimum(ends)))
    return Rollout(run.c.gather(1, last.expand_as(run.c)), torch.where(moves, run.h, 0.0), run.a)
