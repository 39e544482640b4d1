"""LSTM and layer-normalised LSTM with an ensemble dimension, initialised as the MC-LSTM paper says."""

from collections.abc import Sequence
from typing import Unpack

import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm

from mclstm.nn.ensemble_dim import Seeds, draw, generators, project, stacked
from mclstm_paper.baselines.construction import MemberOptions, empty, outward, sequences, states
from mclstm_paper.kernels.recurrence import recurrence

__all__ = ["LNLSTM", "LSTM"]

State = tuple[Tensor, Tensor]


class LSTM(nn.Module):
    """Long short-term memory (Hochreiter & Schmidhuber, 1997; forget gate: Gers et al., 2000).

        o, i, f = σ(W x_t + U h_{t-1} + b)    g = tanh(W_g x_t + U_g h_{t-1} + b_g)
        c_t = f * c_{t-1} + i * g             h_t = o * tanh(c_t)

    Without a forget gate, f = 1. Start: W of each gate orthogonal, U of each gate the identity, b = 0, but
    `forget_bias` for f. `published=True` starts W as the published code did: it meant orthogonal blocks but
    cut the buffer the other way, so that no gate's W is orthogonal (that code also had forget_bias 0).
    Not to be confused with `torch.nn.LSTM`, which has two biases per gate, another order and another start.

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
        **options: Unpack[MemberOptions],
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.members = input_size, hidden_size, options.get("members")
        self.forget_gate, self.forget_bias, self.published = forget_gate, forget_bias, published
        self.output_size = hidden_size
        # The order o, i, f, g lets one sigmoid serve all gates, and dropping f keeps the others in place.
        self.gates = 4 if forget_gate else 3
        wide = self.gates * hidden_size
        self.W, self.U = empty(options, wide, input_size), empty(options, wide, hidden_size)
        self.b = empty(options, wide)
        self.reset_parameters(options.get("seeds"))

    def reset_parameters(self, seeds: Seeds | None = None) -> None:
        """Orthogonal forward weights, identity recurrent weights, zero biases but `forget_bias`."""
        K = self.hidden_size
        start_weights(self, seeds, (self.input_size, K) if self.published else (K, self.input_size))
        nn.init.zeros_(self.b)
        if self.forget_gate:
            with torch.no_grad():
                self.b[..., 2 * K : 3 * K] = self.forget_bias

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Outputs of every step and the last state, as the class says."""
        return run("lstm", self, x, state, [self.b])

    def steps(self, x: Tensor, start: Tensor, A: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
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


class LNLSTM(nn.Module):
    """LSTM with layer normalisation (Ba et al., 2016, equations 20 to 22).

        i, o, f, g = LN(U h_{t-1}; α_h, β_h) + LN(W x_t; α_x, β_x)
        c_t = σ(f) * c_{t-1} + σ(i) * tanh(g)    h_t = σ(o) * tanh(LN(c_t; α_c, β_c))
        LN(z; α, β) = α * (z - mean z) / √(var z + 1e-5) + β

    LN runs over all 4K pre-activations; the bias b of the paper is part of β_x. `published=True` carries the
    normalised cells, c_t = LN(...), h_t = σ(o) * tanh(c_t): magnitude is lost at every step, so that it
    cannot accumulate. Start: W orthogonal and U identity gate by gate, α = 1, β = 0, β_x of f `forget_bias`.

    x: (T, B, I) -> h: (T, B, K), (h_n, c_n): (B, K) each;
    with members x: (T, B, I) shared or (E, T, B, I) -> h: (E, T, B, K), (h_n, c_n): (E, B, K) each

    >>> h, (h_n, c_n) = LNLSTM(2, 10)(torch.rand(7, 4, 2))
    >>> h.shape, torch.equal(h[-1], h_n)
    (torch.Size([7, 4, 10]), True)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        forget_bias: float = 3.0,
        published: bool = False,
        **options: Unpack[MemberOptions],
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.members = input_size, hidden_size, options.get("members")
        self.forget_bias, self.published = forget_bias, published
        self.output_size, wide = hidden_size, 4 * hidden_size
        self.W, self.U = empty(options, wide, input_size), empty(options, wide, hidden_size)
        self.alpha_x, self.beta_x = empty(options, wide), empty(options, wide)
        self.alpha_h, self.beta_h = empty(options, wide), empty(options, wide)
        self.alpha_c, self.beta_c = empty(options, hidden_size), empty(options, hidden_size)
        self.reset_parameters(options.get("seeds"))

    def reset_parameters(self, seeds: Seeds | None = None) -> None:
        """Orthogonal forward, identity recurrent weights; normalisers at α = 1, β = 0 but `forget_bias`."""
        K = self.hidden_size
        start_weights(self, seeds, (K, self.input_size))
        for alpha in (self.alpha_x, self.alpha_h, self.alpha_c):
            nn.init.ones_(alpha)
        for beta in (self.beta_x, self.beta_h, self.beta_c):
            nn.init.zeros_(beta)
        with torch.no_grad():
            self.beta_x[..., 2 * K : 3 * K] = self.forget_bias

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Outputs of every step and the last state, as the class says."""
        norms = [self.alpha_x, self.beta_x, self.alpha_h, self.beta_h, self.alpha_c, self.beta_c]
        return run("ln-lstm", self, x, state, norms, variant=self.published)

    def steps(self, x: Tensor, start: Tensor, A: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """x (E, T, B, I), start (E, B, 2K), A = [W, U], v all α, β -> h of every step, the last h and c."""
        K = self.hidden_size
        alpha_x, beta_x, alpha_h, beta_h, alpha_c, beta_c = torch.split(v, 4 * [4 * K] + 2 * [K], dim=-1)
        W, U = A[..., : self.input_size], A[..., self.input_size :].mT
        (h, c), outputs = start.chunk(2, dim=-1), []
        for drive in normalised(project(x, W), alpha_x, beta_x).unbind(1):
            z = drive + normalised(torch.bmm(h, U), alpha_h, beta_h)
            i, o, f = torch.sigmoid(z[..., :-K]).chunk(3, dim=-1)
            c = f * c + i * torch.tanh(z[..., -K:])
            level = normalised(c, alpha_c, beta_c)
            h, c = o * torch.tanh(level), level if self.published else c
            outputs.append(h)
        return torch.stack(outputs, dim=1), torch.cat([h, c], dim=-1)

    def extra_repr(self) -> str:
        variant = ", published: carried cells are normalised" if self.published else ""
        return f"{self.input_size}, {self.hidden_size}, members={self.members}{variant}"


def start_weights(layer: LSTM | LNLSTM, seeds: Seeds | None, block: tuple[int, int]) -> None:
    """W (gates * K, I), its buffer cut into blocks, (semi-)orthogonal block by block; U the identity."""

    def orthogonal_blocks(W: Tensor, source: torch.Generator | None) -> None:
        for one in W.view(-1, *block):
            nn.init.orthogonal_(one, generator=source)

    sources, K = generators(layer.members, seeds), layer.hidden_size
    draw(layer.W, layer.members, sources, orthogonal_blocks)
    with torch.no_grad():
        layer.U.copy_(torch.eye(K).repeat(layer.U.shape[-2] // K, 1))


def run(
    cell: str,  # the name of the recurrence in the kernel library
    layer: LSTM | LNLSTM,
    x: Tensor,  # (T, B, I) or (E, T, B, I)
    state: State | None,  # h and c, (B, K) or (E, B, K) each; None: zeros
    vectors: Sequence[Tensor],  # (N,) or (E, N) each, what the cell has beside W and U
    variant: bool = False,
) -> tuple[Tensor, State]:
    """Outputs of every step and the last state, as the classes say."""
    members, K = layer.members, layer.hidden_size
    x = sequences(x, members, layer.input_size)
    start = x.new_zeros(x.shape[0], x.shape[2], 2 * K)
    if state is not None:
        start = torch.cat([states(value, members, x.shape[2], K) for value in state], dim=-1)
    A, v = (
        torch.cat([stacked(value, members) for value in values], dim=-1)
        for values in ((layer.W, layer.U), vectors)
    )
    every, last = recurrence(cell, layer.steps, x, start, A, v, variant=variant)
    h, c = last.chunk(2, dim=-1)
    return outward(every, members), (outward(h, members), outward(c, members))


def normalised(z: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
    """LN over the last dimension of z (E, ..., N), with α and β (E, N) of its member."""
    shape = (z.shape[0], *[1] * (z.dim() - 2), z.shape[-1])
    return torch.addcmul(beta.view(shape), alpha.view(shape), layer_norm(z, z.shape[-1:]))
