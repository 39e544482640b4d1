"""LSTM with an ensemble dimension, initialised as the MC-LSTM paper says."""

import torch
from torch import Tensor, nn

from mclstm.nn.members import Seeds, draw, generators, leading, outward, project, sequences, stacked, states
from mclstm_paper.kernels.recurrence import recurrence

__all__ = ["LSTM", "orthogonal_blocks"]

State = tuple[Tensor, Tensor]


class LSTM(nn.Module):
    """Long short-term memory (Hochreiter & Schmidhuber, 1997; forget gate: Gers et al., 2000).

        o, i, f = σ(W x_t + U h_{t-1} + b)    g = tanh(W_g x_t + U_g h_{t-1} + b_g)
        c_t = f * c_{t-1} + i * g             h_t = o * tanh(c_t)

    Without a forget gate, f = 1. Start: W of each gate orthogonal, U of each gate the identity, b = 0, but
    `forget_bias` for f. `published=True` starts W as the published code did: it meant orthogonal blocks but
    cut the buffer the other way, so that no gate's W is orthogonal (that code also had forget_bias 0).
    Not to be confused with `torch.nn.LSTM`, which has two biases a gate, another order and another start.

    x: (T, B, I) -> h: (T, B, K), (h_n, c_n): (B, K) each;
    with members x: (T, B, I) shared or (E, T, B, I) -> h: (E, T, B, K), (h_n, c_n): (E, B, K) each

    >>> h, (h_n, c_n) = LSTM(2, 10, members=3, seeds=[0, 1, 2])(torch.rand(7, 4, 2))
    >>> h.shape, c_n.shape
    (torch.Size([3, 7, 4, 10]), torch.Size([3, 4, 10]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        forget_gate: bool = True,
        forget_bias: float = 3.0,
        published: bool = False,
        members: int | None = None,
        seeds: Seeds | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.members = input_size, hidden_size, members
        self.forget_gate, self.forget_bias, self.published = forget_gate, forget_bias, published
        self.output_size = hidden_size
        # The order o, i, f, g lets one sigmoid serve all gates, and dropping f keeps the others in place.
        self.gates = 4 if forget_gate else 3
        lead, wide = leading(members), self.gates * hidden_size
        self.W = nn.Parameter(torch.empty(*lead, wide, input_size, device=device, dtype=dtype))
        self.U = nn.Parameter(torch.empty(*lead, wide, hidden_size, device=device, dtype=dtype))
        self.b = nn.Parameter(torch.empty(*lead, wide, device=device, dtype=dtype))
        self.reset_parameters(seeds)

    def reset_parameters(self, seeds: Seeds | None = None) -> None:
        """Orthogonal forward weights, identity recurrent weights, zero biases, forget bias as given."""
        K, members, sources = self.hidden_size, self.members, generators(self.members, seeds)
        block = (self.input_size, K) if self.published else (K, self.input_size)
        draw(self.W, members, sources, lambda W, source: orthogonal_blocks(W, block, source))
        eye = torch.eye(K).repeat(self.gates, 1)
        draw(self.U, members, sources, lambda U, _: U.copy_(eye))
        nn.init.zeros_(self.b)
        if self.forget_gate:
            with torch.no_grad():
                self.b[..., 2 * K : 3 * K] = self.forget_bias

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Outputs of every step and the last state, as the class says."""
        x = sequences(x, self.members, self.input_size)
        K = self.hidden_size
        start = x.new_zeros(x.shape[0], x.shape[2], 2 * K)
        if state is not None:
            start = torch.cat([states(value, self.members, x.shape[2], K) for value in state], dim=-1)
        W, U, b = (stacked(value, self.members) for value in (self.W, self.U, self.b))
        every, last = recurrence("lstm", self._steps, x, start, torch.cat([W, U], dim=-1), b)
        h, c = last.chunk(2, dim=-1)
        return outward(every, self.members), (outward(h, self.members), outward(c, self.members))

    def _steps(self, x: Tensor, start: Tensor, A: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        """x (E, T, B, I), start (E, B, 2K), A = [W, U], b (E, 4K) -> h of every step, the last h and c."""
        K = self.hidden_size
        W, U = A[..., : self.input_size], A[..., self.input_size :].mT
        (h, c), outputs = start.chunk(2, dim=-1), []
        for drive in project(x, W, b).unbind(1):
            z = torch.baddbmm(drive, h, U)
            o, i, *f = torch.sigmoid(z[..., :-K]).chunk(self.gates - 1, dim=-1)
            c = (f[0] * c if f else c) + i * torch.tanh(z[..., -K:])
            h = o * torch.tanh(c)
            outputs.append(h)
        return torch.stack(outputs, dim=1), torch.cat([h, c], dim=-1)

    def extra_repr(self) -> str:
        forget = f"forget_bias={self.forget_bias}" if self.forget_gate else "no forget gate"
        return f"{self.input_size}, {self.hidden_size}, {forget}, members={self.members}"


def orthogonal_blocks(W: Tensor, shape: tuple[int, int], source: torch.Generator | None) -> None:
    """Fill W (gates * K, I), its buffer cut into blocks of `shape`, with (semi-)orthogonal blocks."""
    for block in W.view(-1, *shape):
        nn.init.orthogonal_(block, generator=source)
