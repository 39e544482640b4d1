"""Layer-normalised LSTM with an ensemble dimension, and the variant behind the published numbers."""

import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm

from mclstm.nn.members import Seeds, draw, generators, leading, outward, project, sequences, stacked, states
from mclstm_paper.baselines.lstm import State, orthogonal_blocks
from mclstm_paper.kernels.recurrence import recurrence

__all__ = ["LNLSTM"]


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
        members: int | None = None,
        seeds: Seeds | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.members = input_size, hidden_size, members
        self.forget_bias, self.published = forget_bias, published
        self.output_size = hidden_size

        def empty(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(*leading(members), *shape, device=device, dtype=dtype))

        wide = 4 * hidden_size
        self.W, self.U = empty(wide, input_size), empty(wide, hidden_size)
        self.alpha_x, self.beta_x = empty(wide), empty(wide)
        self.alpha_h, self.beta_h = empty(wide), empty(wide)
        self.alpha_c, self.beta_c = empty(hidden_size), empty(hidden_size)
        self.reset_parameters(seeds)

    def reset_parameters(self, seeds: Seeds | None = None) -> None:
        """Orthogonal forward, identity recurrent weights; normalisers at α = 1, β = 0 but the forget bias."""
        K, members, sources = self.hidden_size, self.members, generators(self.members, seeds)
        block = (K, self.input_size)
        draw(self.W, members, sources, lambda W, source: orthogonal_blocks(W, block, source))
        eye = torch.eye(K).repeat(4, 1)
        draw(self.U, members, sources, lambda U, _: U.copy_(eye))
        for alpha, beta in (
            (self.alpha_x, self.beta_x),
            (self.alpha_h, self.beta_h),
            (self.alpha_c, self.beta_c),
        ):
            nn.init.ones_(alpha)
            nn.init.zeros_(beta)
        with torch.no_grad():
            self.beta_x[..., 2 * K : 3 * K] = self.forget_bias

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Outputs of every step and the last state, as the class says."""
        x = sequences(x, self.members, self.input_size)
        K = self.hidden_size
        start = x.new_zeros(x.shape[0], x.shape[2], 2 * K)
        if state is not None:
            start = torch.cat([states(value, self.members, x.shape[2], K) for value in state], dim=-1)
        norms = (self.alpha_x, self.beta_x, self.alpha_h, self.beta_h, self.alpha_c, self.beta_c)
        A, v = (
            torch.cat([stacked(value, self.members) for value in values], dim=-1)
            for values in ((self.W, self.U), norms)
        )
        every, last = recurrence("ln-lstm", self._steps, x, start, A, v, variant=self.published)
        h, c = last.chunk(2, dim=-1)
        return outward(every, self.members), (outward(h, self.members), outward(c, self.members))

    def _steps(self, x: Tensor, start: Tensor, A: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """x (E, T, B, I), start (E, B, 2K), A = [W, U], v all α, β -> h of every step, the last h and c."""
        K = self.hidden_size
        alpha_x, beta_x, alpha_h, beta_h, alpha_c, beta_c = torch.split(v, 4 * [4 * K] + 2 * [K], dim=-1)
        W, U = A[..., : self.input_size], A[..., self.input_size :].mT
        (h, c), outputs = start.chunk(2, dim=-1), []
        for drive in normalised(project(x, W), alpha_x, beta_x).unbind(1):
            z = drive + normalised(torch.bmm(h, U), alpha_h, beta_h)
            i, o, f = torch.sigmoid(z[..., :-K]).chunk(3, dim=-1)
            c = f * c + i * torch.tanh(z[..., -K:])
            seen = normalised(c, alpha_c, beta_c)
            h, c = o * torch.tanh(seen), seen if self.published else c
            outputs.append(h)
        return torch.stack(outputs, dim=1), torch.cat([h, c], dim=-1)

    def extra_repr(self) -> str:
        variant = ", published: carried cells are normalised" if self.published else ""
        return f"{self.input_size}, {self.hidden_size}, members={self.members}{variant}"


def normalised(z: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
    """LN over the last dimension of z (E, ..., N), with α and β (E, N) of its member."""
    shape = (z.shape[0], *[1] * (z.dim() - 2), z.shape[-1])
    return torch.addcmul(beta.view(shape), alpha.view(shape), layer_norm(z, z.shape[-1:]))
