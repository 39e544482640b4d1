"""MCLSTMCell computes one step, for loops of your own."""

from typing import Unpack

from torch import Tensor, nn

from mclstm.nn.arguments import full_precision, require_tensor
from mclstm.nn.door import arrange
from mclstm.nn.ensemble_dim import Seeds
from mclstm.nn.from_lstm import refuse_keyword
from mclstm.nn.gates import GateOptions
from mclstm.nn.layer import MCLSTM
from mclstm.ops import manual, reference

__all__ = ["MCLSTMCell"]


class MCLSTMCell(nn.Module):
    """One step of an MC-LSTM: h = o * (c R + x i), and what remains is the new state.

    Takes the sizes and keywords of `MCLSTM`, except backend and batch_first. Cell and layer have the same
    weights: `cell.load_state_dict(layer.state_dict())` works both ways.

    >>> import torch
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
        unknown = sorted(set(options) - GateOptions.__annotations__.keys())
        if unknown:
            refuse_keyword("MCLSTMCell", unknown[0], "MCLSTM, for sequences, may have it")
        self.gates = MCLSTM(mass_size, aux_size, hidden_size, **options).gates

    @property
    def members(self) -> int | None:
        """E, or None for a plain cell."""
        return self.gates.members

    @property
    def conserving(self) -> bool:
        """Whether mass is conserved; False only for the ablations of `not_conserving`."""
        return not self.gates.form.not_conserving

    @property
    def batch_independent(self) -> bool:
        """Whether a sample's result does not depend on its batch; False only for `state_norm="batch"`."""
        return self.gates.form.state_norm != "batch"

    def reset_parameters(self, seeds: Seeds | None = None) -> None:
        """Initialise again, as the constructor did."""
        self.gates.reset_parameters(seeds)

    def forward(
        self,
        x: Tensor | None,  # (B, M)
        a: Tensor | None = None,  # (B, A)
        c: Tensor | None = None,  # (B, K)
        *,
        static: Tensor | None = None,  # (B, S)
    ) -> tuple[Tensor, Tensor]:  # (B, K), (B, K)
        """Outflow and new state; unbatched inputs (M,), (A,), (K,), (S,) are accepted.

        With members the inputs are shared or lead with E, and the results lead with E, as in `MCLSTM`.
        Without c a sequence starts, as without c0 in `MCLSTM`: from the initial state of the options.
        """
        x = one_step("x", x, self.gates.mass_size, self.members)
        a = one_step("a", a, self.gates.aux_size, self.members)
        problem, layout = arrange(self.gates, x, a, c, static)
        with full_precision(problem.x.device):
            # The reference goes member by member.
            h, after = (reference if self.members is None else manual).sequence(problem)
        return layout.state(h.select(-3, 0)), layout.state(after.select(-3, 1))


def one_step(name: str, value: Tensor | None, size: int, members: int | None) -> Tensor | None:
    """A sequence of one step: (B, N) -> (1, B, N), (E, B, N) -> (E, 1, B, N), (N,) -> (1, N)."""
    if value is None:
        return None
    require_tensor(name, value)
    if value.dim() not in ((1, 2) if members is None else (2, 3)):
        led = "" if members is None else f" or ({members}, B, {size})"
        raise ValueError(f"{name} has shape {tuple(value.shape)}, expected (B, {size}){led}, one step.")
    return value.unsqueeze(0 if value.dim() == 1 else -3)
