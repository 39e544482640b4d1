"""The door of a layer: inputs as people have them in, checked tensors (T, B, ...) out, and back again."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mclstm.nn.gates import Gates
from mclstm.nn.values import like_weights, require_tensor, require_values

__all__ = ["Arranged", "Layout", "arrange"]


class Layout(NamedTuple):
    """How the caller's tensors lie, so that results are handed back the same way."""

    batch_first: bool
    unbatched: bool

    def inward(self, value: Tensor) -> Tensor:
        """(T, N), (B, T, N) or (T, B, N) -> (T, B, N)."""
        if self.unbatched:
            return value.unsqueeze(1)
        return value.transpose(0, 1) if self.batch_first else value

    def outward(self, value: Tensor) -> Tensor:
        """(T, B, ...) -> as `inward` found it."""
        if self.unbatched:
            return value.squeeze(1)
        return value.transpose(0, 1) if self.batch_first else value

    def state(self, value: Tensor) -> Tensor:
        """(B, ...) -> (...) where the caller gave no batch."""
        return value.squeeze(0) if self.unbatched else value


class Arranged(NamedTuple):
    """Inputs ready for `ops`, padding emptied."""

    x: Tensor  # (T, B, M)
    a: Tensor  # (T, B, A)
    s: Tensor  # (B, S)
    c0: Tensor  # (B, K)
    valid: Tensor | None  # (T, B) bool
    layout: Layout


def arrange(
    gates: Gates,
    x: Tensor | None,  # (T, B, M)
    a: Tensor | None,  # (T, B, A)
    c0: Tensor | None,  # (B, K)
    static: Tensor | None,  # (B, S)
    lengths: Tensor | Sequence[int] | None,  # (B,)
    batch_first: bool,
) -> Arranged:
    """Check every input, bring it to (T, B, ...), and say in one sentence what is wrong otherwise."""
    for name, value in (("x", x), ("a", a), ("c0", c0), ("static", static)):
        if value is not None:
            require_tensor(name, value)
    given = x if x is not None else a
    if given is None:
        raise ValueError("Neither x nor a is given; give one of them, so that the number of steps is known.")
    layout = Layout(batch_first, unbatched=given.dim() == 2)
    x = None if x is None else _inside("x", x, gates.mass_size, layout, gates)
    a = None if a is None else _inside("a", a, gates.aux_size, layout, gates)
    steps, batch = (x if x is not None else a).shape[:2]  # type: ignore[union-attr]
    x = gates.b_o.new_zeros(steps, batch, gates.mass_size) if x is None else x
    a = _absent_aux(gates, steps, batch) if a is None else a
    if a.shape[:2] != x.shape[:2]:
        raise ValueError(
            f"x has {steps} steps of {batch} samples and a has {a.shape[0]} of {a.shape[1]}; "
            "give both the same."
        )
    s = _static(static, gates, batch, layout)
    valid = None if lengths is None else _valid(lengths, steps, batch, x.device)
    if valid is not None:
        x, a = (torch.where(valid.unsqueeze(-1), value, 0.0) for value in (x, a))
    c0 = _first_state(c0, gates, batch, layout)
    places = ("step", "sample", "input")
    require_values("x", x, places, negative=gates.form.signed)
    require_values("a", a, places, negative=True)
    require_values("static", s, places[1:], negative=True)
    require_values("c0", c0, ("sample", "cell"), negative=gates.form.signed)
    return Arranged(x, a, s, c0, valid, layout)


def _inside(name: str, value: Tensor, size: int, layout: Layout, gates: Gates) -> Tensor:
    expected = "(T, {0})" if layout.unbatched else "(B, T, {0})" if layout.batch_first else "(T, B, {0})"
    wanted_dim = 2 if layout.unbatched else 3
    if value.dim() != wanted_dim or value.shape[-1] != size:
        raise ValueError(
            f"{name} has shape {tuple(value.shape)}, expected {expected.format(size)}; "
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
    wanted = (size,) if layout.unbatched else (batch, size)
    if tuple(static.shape) != wanted:
        raise ValueError(
            f"static has shape {tuple(static.shape)}, expected {wanted}; give one row per sequence."
        )
    return like_weights("static", static, gates.b_o).view(batch, size)


def _first_state(c0: Tensor | None, gates: Gates, batch: int, layout: Layout) -> Tensor:
    if c0 is None:
        return gates.first_state(batch)
    wanted = (gates.hidden_size,) if layout.unbatched else (batch, gates.hidden_size)
    if tuple(c0.shape) != wanted:
        raise ValueError(
            f"c0 has shape {tuple(c0.shape)}, expected {wanted}; give the stored mass of every cell."
        )
    return like_weights("c0", c0, gates.b_o).view(batch, gates.hidden_size)


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
