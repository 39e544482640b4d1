"""The door of a layer: inputs as people have them in, checked tensors (T, B, ...) out, and back again.

With members everything behind the door leads with E; what is shared is expanded along it, not copied.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mclstm.nn.gates import Gates
from mclstm.nn.values import like_weights, require_tensor, require_values

__all__ = ["Arranged", "Layout", "arrange"]

STEPS = ("member", "step", "sample", "input")


class Layout(NamedTuple):
    """How the caller's tensors lie, so that results are handed back the same way."""

    batch_first: bool
    unbatched: bool
    members: int | None = None

    def inward(self, value: Tensor) -> Tensor:
        """(T, N), (B, T, N) or (T, B, N), the last two led by E or not -> (T, B, N), led by E or not."""
        if self.unbatched:
            return value.unsqueeze(1)
        return value.transpose(-3, -2) if self.batch_first else value

    def outward(self, value: Tensor) -> Tensor:
        """(T, B, ...), or (E, T, B, ...) with members -> as `inward` found it."""
        if self.unbatched:
            return value.squeeze(1)
        time = 0 if self.members is None else 1
        return value.transpose(time, time + 1) if self.batch_first else value

    def led(self, value: Tensor, dims: int) -> Tensor:
        """With members, what is shared (of `dims` dimensions) seen by each of them, nothing copied."""
        shared = self.members is not None and value.dim() == dims
        return value.expand(self.members, *value.shape) if shared else value  # type: ignore[arg-type]

    def state(self, value: Tensor) -> Tensor:
        """(B, ...) -> (...) where the caller gave no batch."""
        return value.squeeze(0) if self.unbatched else value


class Arranged(NamedTuple):
    """Inputs ready for `ops`, padding emptied; with members all but `valid` lead with E."""

    x: Tensor  # (T, B, M)
    a: Tensor  # (T, B, A)
    s: Tensor  # (B, S)
    c0: Tensor  # (B, K)
    valid: Tensor | None  # (T, B) bool
    layout: Layout

    def member(self, e: int) -> "Arranged":
        """What one member sees."""
        x, a, s, c0 = (value[e] for value in self[:4])
        return Arranged(x, a, s, c0, self.valid, self.layout._replace(members=None))


def arrange(
    gates: Gates,
    x: Tensor | None,  # (T, B, M)
    a: Tensor | None,  # (T, B, A)
    c0: Tensor | None,  # (B, K)
    static: Tensor | None,  # (B, S)
    lengths: Tensor | Sequence[int] | None,  # (B,)
    batch_first: bool,
) -> Arranged:
    """Check every input, bring it to (T, B, ...), and say in one sentence what is wrong otherwise.

    With members all inputs but `lengths` may lead with E; those that do not are shared.
    """
    for name, value in (("x", x), ("a", a), ("c0", c0), ("static", static)):
        if value is not None:
            require_tensor(name, value)
    given = x if x is not None else a
    if given is None:
        raise ValueError("Neither x nor a is given; give one of them, so that the number of steps is known.")
    layout = Layout(batch_first, given.dim() == 2 and gates.members is None, gates.members)
    x = None if x is None else _inside("x", x, gates.mass_size, layout, gates)
    a = None if a is None else _inside("a", a, gates.aux_size, layout, gates)
    steps, batch = (x if x is not None else a).shape[-3:-1]  # type: ignore[union-attr]
    x = gates.b_o.new_zeros(steps, batch, gates.mass_size) if x is None else x
    a = _absent_aux(gates, steps, batch) if a is None else a
    if a.shape[-3:-1] != x.shape[-3:-1]:
        raise ValueError(
            f"x has {steps} steps of {batch} samples and a has {a.shape[-3]} of {a.shape[-2]}; "
            "give both the same."
        )
    s = _static(static, gates, batch, layout)
    valid = None if lengths is None else _valid(lengths, steps, batch, x.device)
    if valid is not None:
        x, a = (torch.where(valid.unsqueeze(-1), value, 0.0) for value in (x, a))
    require_values("x", x, STEPS, negative=gates.form.signed)
    require_values("a", a, STEPS, negative=True)
    require_values("static", s, ("member", "sample", "input"), negative=True)
    c0 = _first_state(c0, gates, batch, layout)
    x, a, s, c0 = layout.led(x, 3), layout.led(a, 3), layout.led(s, 2), layout.led(c0, 2)
    return Arranged(x, a, s, c0, valid, layout)


def _inside(name: str, value: Tensor, size: int, layout: Layout, gates: Gates) -> Tensor:
    each = layout.members is not None and value.dim() == 4
    wanted_dim = 2 if layout.unbatched else 4 if each else 3
    if value.dim() != wanted_dim or value.shape[-1] != size or (each and len(value) != layout.members):
        dims = "(T, {0})" if layout.unbatched else "(B, T, {0})" if layout.batch_first else "(T, B, {0})"
        expected = dims.format(size)
        more = (
            "" if layout.members is None else f", shared by all members, or ({layout.members}, {expected[1:]}"
        )
        raise ValueError(
            f"{name} has shape {tuple(value.shape)}, expected {expected}{more}; "
            "the last dimension is the size the layer was built with."
        )
    return layout.inward(like_weights(name, value, gates.b_o))


def _absent_aux(gates: Gates, steps: int, batch: int) -> Tensor:
    if gates.aux_size:
        raise ValueError(f"a is missing; the layer was built for {gates.aux_size} auxiliary inputs a step.")
    return gates.b_o.new_zeros(steps, batch, 0)


def _static(static: Tensor | None, gates: Gates, batch: int, layout: Layout) -> Tensor:
    size = gates.static_size
    if static is None:
        if size:
            raise ValueError(f"static is missing; the layer was built for {size} static inputs a sequence.")
        return gates.b_o.new_zeros(batch, 0)
    require_rows("static", static, (batch, size), layout, "give one row per sequence")
    value = like_weights("static", static, gates.b_o)
    return value.unsqueeze(0) if layout.unbatched else value


def _first_state(c0: Tensor | None, gates: Gates, batch: int, layout: Layout) -> Tensor:
    if c0 is None:
        return gates.first_state(batch)
    require_rows("c0", c0, (batch, gates.hidden_size), layout, "give the stored mass of every cell")
    value = like_weights("c0", c0, gates.b_o)
    value = value.unsqueeze(0) if layout.unbatched else value
    require_values("c0", value, ("member", "sample", "cell"), negative=gates.form.signed)
    return value


def require_rows(name: str, value: Tensor, rows: tuple[int, int], layout: Layout, remedy: str) -> None:
    """Refuse what is neither `rows` (B, N), nor (N,) unbatched, nor (E, B, N) with members."""
    wanted: list[tuple[int, ...]] = [rows[1:] if layout.unbatched else rows]
    wanted += [] if layout.members is None else [(layout.members, *rows)]
    if tuple(value.shape) not in wanted:
        expected = " or ".join(map(str, wanted))
        raise ValueError(f"{name} has shape {tuple(value.shape)}, expected {expected}; {remedy}.")


def _valid(lengths: Tensor | Sequence[int], steps: int, batch: int, device: torch.device) -> Tensor:
    counts = _counts(lengths, batch).to(device)
    if counts.shape != (batch,) or counts.is_floating_point() or counts.dtype == torch.bool:
        raise ValueError(
            f"lengths is {counts.dtype} of shape {tuple(counts.shape)}; "
            f"give {batch} whole numbers, one per sample."
        )
    wrong = ((counts < 0) | (counts > steps)).nonzero().flatten().tolist()
    if wrong:
        raise ValueError(
            f"lengths[{wrong[0]}] is {int(counts[wrong[0]])}, but the sequences have {steps} steps; "
            f"give numbers from 0 to {steps}."
        )
    return torch.arange(steps, device=device).unsqueeze(-1) < counts


def _counts(lengths: Tensor | Sequence[int], batch: int) -> Tensor:
    try:
        return torch.as_tensor(lengths)
    except (TypeError, ValueError, RuntimeError):
        kind = type(lengths).__name__
        raise ValueError(
            f"lengths is a {kind} of something else than numbers; give {batch} whole numbers, one per sample."
        ) from None
