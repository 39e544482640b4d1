"""An LSTM that predicts its own next input: the baseline beside an MC-LSTM in a roll-out."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from mclstm.nn.arguments import like_weights, require_dtype, require_size, require_width
from mclstm.nn.ensemble_dim import Seeds, draw, generators, leading, project, stacked, uniform

__all__ = ["AutoregressiveLSTM", "LSTMState"]


class LSTMState(NamedTuple):
    """What an LSTM keeps between two steps; both lead with E with members."""

    hidden: Tensor  # (B, H)
    cells: Tensor  # (B, H)


class AutoregressiveLSTM(nn.Module):
    """One step of an LSTM whose prediction is read from its cells and is its next input.

        c', h' = LSTM([y, a], c, h),    y' = W_y c' + b_y

    Weights are those of `nn.LSTMCell`, in its order of gates and initialised alike. `rollout` runs it.

    y: (B, Y) · a: (B, A) -> y' (B, Y) and the state; with members all may lead with E, and the results do

    >>> lstm = AutoregressiveLSTM(output_size=2, aux_size=1, hidden_size=8, members=3)
    >>> y, state = lstm(torch.tensor([[0.0, 1.0]]), torch.zeros(1, 1))
    >>> y.shape, state.cells.shape
    (torch.Size([3, 1, 2]), torch.Size([3, 1, 8]))
    """

    conserving = False

    def __init__(
        self,
        output_size: int,
        aux_size: int,
        hidden_size: int,
        *,
        members: int | None = None,
        seeds: Seeds | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_size("output_size", output_size, least=1)
        require_size("aux_size", aux_size, least=0)
        require_size("hidden_size", hidden_size, least=1)
        self.output_size, self.aux_size, self.hidden_size = output_size, aux_size, hidden_size
        self.members = members
        lead = leading(members)
        factory: dict[str, Any] = {
            "device": device,
            "dtype": require_dtype(dtype or torch.get_default_dtype()),
        }

        def empty(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(*lead, *shape, **factory))

        self.weight_ih = empty(4 * hidden_size, output_size + aux_size)
        self.weight_hh = empty(4 * hidden_size, hidden_size)
        self.bias_ih, self.bias_hh = empty(4 * hidden_size), empty(4 * hidden_size)
        self.W_y, self.b_y = empty(output_size, hidden_size), empty(output_size)
        self.reset_parameters(seeds)

    def reset_parameters(self, seeds: Seeds | None = None) -> None:
        """Initialise as `nn.LSTMCell` and `nn.Linear` do: uniform within 1 / √H."""
        sources = generators(self.members, seeds)
        for parameter in self.parameters():
            draw(parameter, self.members, sources, uniform(self.hidden_size))

    def forward(
        self,
        y: Tensor,  # (B, Y)
        a: Tensor,  # (B, A)
        state: LSTMState | None = None,
    ) -> tuple[Tensor, LSTMState]:
        """The next prediction (B, Y) and the state; without a state a sequence begins, from zeros."""
        require_width("y", y, self.output_size)
        require_width("a", a, self.aux_size)
        inputs = (like_weights(name, value, self.W_y) for name, value in (("y", y), ("a", a)))
        seen = torch.cat([self._led(value) for value in inputs], dim=-1)
        if state is None:
            zeros = seen.new_zeros(*seen.shape[:-1], self.hidden_size)
            state = LSTMState(zeros, zeros)
        weights = (self.weight_ih, self.weight_hh, self.bias_ih + self.bias_hh, self.W_y, self.b_y)
        W_ih, W_hh, b, W_y, b_y = (stacked(value, self.members) for value in weights)
        hidden, cells = (self._led(value) for value in state)
        i, f, g, o = (project(seen, W_ih, b) + project(hidden, W_hh)).chunk(4, dim=-1)
        cells = torch.sigmoid(f) * cells + torch.sigmoid(i) * torch.tanh(g)
        hidden = torch.sigmoid(o) * torch.tanh(cells)
        results = (project(cells, W_y, b_y), hidden, cells)
        y, hidden, cells = results if self.members is not None else (value.squeeze(0) for value in results)
        return y, LSTMState(hidden, cells)

    def _led(self, value: Tensor) -> Tensor:
        """(B, N) -> (E, B, N), shared by all members."""
        return value if value.dim() == 3 else value.expand(self.members or 1, *value.shape)

    def extra_repr(self) -> str:
        ensemble = "" if self.members is None else f", members={self.members}"
        return f"{self.output_size}, {self.aux_size}, {self.hidden_size}{ensemble}"
