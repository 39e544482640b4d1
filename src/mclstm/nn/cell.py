"""MCLSTMCell: one step, for loops of one's own."""

from typing import Unpack

import torch
from torch import Tensor, nn

from mclstm.nn.door import arrange
from mclstm.nn.gates import GateOptions, Gates
from mclstm.nn.values import full_precision, require_tensor
from mclstm.ops import reference

__all__ = ["MCLSTMCell"]


class MCLSTMCell(nn.Module):
    """One step of an MC-LSTM: h = o * (c R + x i), and what remains is the new state.

    Takes the sizes and keywords of `MCLSTM` (but members, backend and batch_first), and its weights:
    `cell.load_state_dict(layer.state_dict())` works both ways.

    >>> cell = MCLSTMCell(1, 0, 3)
    >>> h, c = cell(torch.ones(2, 1))
    >>> h, c = cell(torch.ones(2, 1), c=c)
    >>> h.shape, c.shape
    (torch.Size([2, 3]), torch.Size([2, 3]))
    """

    def __init__(
        self, mass_size: int, aux_size: int, hidden_size: int, **options: Unpack[GateOptions]
    ) -> None:
        super().__init__()
        if options.get("members") is not None:
            raise ValueError("MCLSTMCell has no members; use MCLSTM, whose `members` run together.")
        unknown = sorted(set(options) - GateOptions.__annotations__.keys())
        if unknown:
            raise TypeError(
                f"MCLSTMCell has no keyword {unknown[0]!r}; MCLSTM may have, which takes sequences."
            )
        self.gates = Gates(mass_size, aux_size, hidden_size, **options)

    @property
    def conserving(self) -> bool:
        """Whether mass is conserved; False only for the ablations of `not_conserving`."""
        return not self.gates.form.not_conserving

    @property
    def batch_independent(self) -> bool:
        """Whether a sample's result is its own business; False only for `state_norm="batch"`."""
        return self.gates.form.state_norm == "sample"

    def reset_parameters(self) -> None:
        """Start again, as the constructor did."""
        self.gates.reset_parameters()

    def forward(
        self,
        x: Tensor | None,  # (B, M)
        a: Tensor | None = None,  # (B, A)
        c: Tensor | None = None,  # (B, K)
        *,
        static: Tensor | None = None,  # (B, S)
    ) -> tuple[Tensor, Tensor]:  # (B, K), (B, K)
        """Outflow and new state; unbatched inputs (M,), (A,), (K,), (S,) are accepted.

        Without c a sequence starts, as without c0 in `MCLSTM`: from the initial state of the options.
        """
        for name, value, size in (("x", x, self.gates.mass_size), ("a", a, self.gates.aux_size)):
            if value is not None:
                require_tensor(name, value)
                if value.dim() not in (1, 2):
                    raise ValueError(
                        f"{name} has shape {tuple(value.shape)}, expected (B, {size}), one step."
                    )
        if c is None:
            self.gates.start()
        x, a = (None if value is None else value.unsqueeze(0) for value in (x, a))
        given = arrange(self.gates, x, a, c, static, None, batch_first=False)
        weights = reference.column_major(self.gates.weights())
        with full_precision(given.x.device):
            a = torch.cat([given.a[0], given.s], dim=-1)
            now = reference.step(given.x[0], a, given.c0, weights, self.gates.form)
        return given.layout.state(now.h), given.layout.state(now.c)
