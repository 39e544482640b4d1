"""The door of a layer: from inputs as callers have them to a checked `Problem`, and back to their layout."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mclstm.nn.arguments import like_weights, require_tensor, require_values
from mclstm.nn.from_lstm import refuse_state
from mclstm.nn.gates import Gates
from mclstm.ops.problem import Problem

__all__ = ["Layout", "arrange"]

STEPS = ("member", "step", "sample", "input")


class Layout(NamedTuple):
    """How the caller's tensors lie, so that results are returned the same way."""

    batch_first: bool
    unbatched: bool
    members: int | None = None

    def inward(self, value: Tensor) -> Tensor:
        """(T, N), (B, T, N) or (T, B, N), the last two led by E or not -> (T, B, N), led by E or not."""
        if self.unbatched:
            return value.unsqueeze(1)
        return value.transpose(-3, -2) if self.batch_first else value

    def outward(self, value: Tensor) -> Tensor:
        """(T, B, ...), or (E, T, B, ...) with members -> as the caller's tensors lie."""
        if self.unbatched:
            return value.squeeze(1)
        time = 0 if self.members is None else 1
        return value.transpose(time, time + 1) if self.batch_first else value

    def led(self, value: Tensor, dims: int) -> Tensor:
        """With members, a shared tensor of `dims` dimensions is expanded along E, not copied."""
        shared = self.members is not None and value.dim() == dims
        return value.expand(self.members, *value.shape) if shared else value  # type: ignore[arg-type]

    def state(self, value: Tensor) -> Tensor:
        """(B, ...) -> (...) where the caller's tensors have no batch."""
        return value.squeeze(0) if self.unbatched else value


def arrange(
    gates: Gates,
    x: Tensor | None,  # (T, B, M)
    a: Tensor | None,  # (T, B, A)
    c0: Tensor | None,  # (B, K)
    static: Tensor | None = None,  # (B, S)
    lengths: Tensor | Sequence[int] | None = None,  # (B,)
    batch_first: bool = False,
) -> tuple[Problem, Layout]:
    """Check every input, bring it to (T, B, ...) with padding set to zero, and add the weights.

    With members all inputs but `lengths` may lead with E; those that do not are shared. Without c0 the
    sequence starts from the initial state of the gates, and a hypernetwork is reset.
    """
    for name, value in (("x", x), ("a", a), ("c0", c0), ("static", static)):
        if value is not None:
            refuse_state(name, value)
            require_tensor(name, value)
    timed = x if x is not None else a
    if timed is None:
        raise ValueError("Neither x nor a is given; give one of them, so that the number of steps is known.")
    layout = Layout(batch_first, timed.dim() == 2 and gates.members is None, gates.members)
    x = None if x is None else _inside("x", x, gates.mass_size, layout, gates)
    a = None if a is None else _inside("a", a, gates.aux_size, layout, gates)
    steps, batch = (x if x is not None else a).shape[-3:-1]  # type: ignore[union-attr]
    x = gates.W_i.new_zeros(steps, batch, gates.mass_size) if x is None else x
    if a is None and gates.aux_size:
        raise ValueError(f"a is missing; the layer was built for {gates.aux_size} auxiliary inputs per step.")
    a = gates.W_i.new_zeros(steps, batch, 0) if a is None else a
    if a.shape[-3:-1] != x.shape[-3:-1]:
        raise ValueError(
            f"x has {steps} steps of {batch} samples and a has {a.shape[-3]} of {a.shape[-2]}; "
            "give both the same."
        )
    s = _static(static, gates, batch, layout)
    valid = None if lengths is None else _valid(lengths, steps, batch, x.device)
    if valid is not None:
        x, a = (torch.where(valid.unsqueeze(-1), value, 0.0) for value in (x, a))
    if gates.check:
        require_values("x", x, STEPS, negative=gates.form.signed)
        require_values("a", a, STEPS, negative=True)
        require_values("static", s, ("member", "sample", "input"), negative=True)
    c0 = _first_state(c0, gates, batch, layout)
    x, a, s, c0 = layout.led(x, 3), layout.led(a, 3), layout.led(s, 2), layout.led(c0, 2)
    return Problem(x, a, s, c0, valid, gates.weights(), gates.form), layout


def _inside(name: str, value: Tensor, size: int, layout: Layout, gates: Gates) -> Tensor:
    each = layout.members is not None and value.dim() == 4
    wanted_dim = 2 if layout.unbatched else 4 if each else 3
    if value.dim() != wanted_dim or value.shape[-1] != size or (each and len(value) != layout.members):
        dims = "T, " if layout.unbatched else "B, T, " if layout.batch_first else "T, B, "
        shared = f", shared by all members, or ({layout.members}, {dims}{size})"
        raise ValueError(
            f"{name} has shape {tuple(value.shape)}, expected ({dims}{size})"
            f"{'' if layout.members is None else shared}; "
            "the last dimension is the size the layer was built with."
        )
    return layout.inward(like_weights(name, value, gates.W_i))


def _static(static: Tensor | None, gates: Gates, batch: int, layout: Layout) -> Tensor:
    size = gates.static_size
    if static is None and size:
        raise ValueError(f"static is missing; the layer was built for {size} static inputs per sequence.")
    if static is None:
        return gates.W_i.new_zeros(batch, 0)
    return _rows("static", static, (batch, size), layout, gates, "give one row per sequence")


def _first_state(c0: Tensor | None, gates: Gates, batch: int, layout: Layout) -> Tensor:
    if c0 is None:
        gates.start()
        return gates.first_state(batch)
    shape = (batch, gates.hidden_size)
    value = _rows("c0", c0, shape, layout, gates, "give the stored mass of every cell")
    if gates.check:
        require_values("c0", value, ("member", "sample", "cell"), negative=gates.form.negative_cells)
    return value


def _rows(
    name: str, value: Tensor, shape: tuple[int, int], layout: Layout, gates: Gates, remedy: str
) -> Tensor:
    """The rows (B, N), or (E, B, N) with members; refuses what is neither that nor (N,) unbatched."""
    expected: list[tuple[int, ...]] = [shape[1:] if layout.unbatched else shape]
    expected += [] if layout.members is None else [(layout.members, *shape)]
    if tuple(value.shape) not in expected:
        either = " or ".join(map(str, expected))
        raise ValueError(f"{name} has shape {tuple(value.shape)}, expected {either}; {remedy}.")
    value = like_weights(name, value, gates.W_i)
    return value.unsqueeze(0) if layout.unbatched else value


def _valid(lengths: Tensor | Sequence[int], steps: int, batch: int, device: torch.device) -> Tensor:
    """Which steps are not padding, (T, B) bool."""
    remedy = f"give {batch} whole numbers, one per sample."
    try:
        counts = torch.as_tensor(lengths).to(device)
    except (TypeError, ValueError, RuntimeError):
        kind = type(lengths).__name__
        raise ValueError(f"lengths is a {kind} of something else than numbers; {remedy}") from None
    if counts.shape != (batch,) or counts.is_floating_point() or counts.dtype == torch.bool:
        raise ValueError(f"lengths is {counts.dtype} of shape {tuple(counts.shape)}; {remedy}")
    wrong = ((counts < 0) | (counts > steps)).nonzero().flatten().tolist()
    if wrong:
        raise ValueError(
            f"lengths[{wrong[0]}] is {int(counts[wrong[0]])}, but the sequences have {steps} steps; "
            f"give numbers from 0 to {steps}."
        )
    return torch.arange(steps, device=device).unsqueeze(-1) < counts
