"""Unitary evolution recurrent network with an ensemble dimension."""

from typing import Unpack

import torch
from torch import Tensor, nn

from mclstm.nn.ensemble_dim import Seeds, draw, generators, leading, project, stacked
from mclstm_paper.baselines.construction import (
    MemberOptions,
    empty,
    initial_state,
    outward,
    sequences,
    uniform,
)
from mclstm_paper.kernels.recurrence import recurrence

__all__ = ["URNN", "mod_relu"]


def mod_relu(
    z: Tensor,  # (..., 2n): real parts, then imaginary parts
    b: Tensor,  # broadcastable to (..., n)
    squared: bool = False,
) -> Tensor:
    """modReLU(z) = ReLU(|z| + b) z / (|z| + 1e-5): the modulus is rectified, the phase kept; (..., 2n).

    `squared=True` takes |z|² for |z| in both places, as the published code did.

    >>> mod_relu(torch.tensor([3.0, 4.0]), torch.tensor([-5.0 / 2])).round(decimals=4).tolist()
    [1.5, 2.0]
    """
    real, imaginary = z.chunk(2, dim=-1)
    modulus = real.square() + imaginary.square()
    if not squared:  # the root has no derivative at 0: a zero stays zero and passes no gradient
        modulus = modulus.clamp(min=torch.finfo(z.dtype).tiny).sqrt()
    factor = torch.relu(modulus + b) / (modulus + 1e-5)
    return torch.cat([factor * real, factor * imaginary], dim=-1)


class URNN(nn.Module):
    """Unitary RNN (Arjovsky et al., 2016): complex cells whose L2 norm the recurrence keeps.

        h_t = modReLU(W h_{t-1} + V x_t),    W = D₃ R₂ F⁻¹ D₂ Π R₁ F D₁
        D = diag(exp(iθ)),  R = I - 2 v v* / |v|²,  Π a fixed permutation,  F the unitary Fourier transform

    Start: θ uniform ±π, Re and Im of V ±√(6 / (I + 2n)), of v ±√(6 / (2 + 2n)), of the learned h_0
    ±√(3 / 2n), b ±0.01. `published=True`: modulus squared in modReLU, and b = 0. Outputs are [Re h, Im h];
    the paper's output layer is a `Linear(2n, O, start="xavier")` behind it.

    x: (T, B, I) -> h: (T, B, 2n), h_n: (B, 2n);
    with members x: (T, B, I) shared or (E, T, B, I) -> h: (E, T, B, 2n), h_n: (E, B, 2n)

    >>> layer = URNN(2, 10, members=3)
    >>> W = layer.unitary()
    >>> torch.allclose(W @ W.mH, torch.eye(10, dtype=W.dtype), atol=1e-5), layer(torch.rand(7, 4, 2))[0].shape
    (True, torch.Size([3, 7, 4, 20]))
    """

    order: Tensor

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        published: bool = False,
        **options: Unpack[MemberOptions],
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.members = input_size, hidden_size, options.get("members")
        self.published, self.output_size = published, 2 * hidden_size
        self.theta, self.v = empty(options, 3, hidden_size), empty(options, 2, hidden_size, 2)
        self.V, self.b = empty(options, self.output_size, input_size), empty(options, hidden_size)
        self.h0 = empty(options, self.output_size)
        order = torch.empty(*leading(self.members), hidden_size, dtype=torch.long)
        self.register_buffer("order", order.to(options.get("device")))
        self.reset_parameters(options.get("seeds"))

    def reset_parameters(self, seeds: Seeds | None = None) -> None:
        """Uniform within the bounds of the paper, and a fresh permutation."""
        n, sources = self.hidden_size, generators(self.members, seeds)
        bounds = (
            (self.theta, torch.pi),
            (self.v, (6 / (2 + 2 * n)) ** 0.5),
            (self.V, (6 / (self.input_size + 2 * n)) ** 0.5),
            (self.b, 0.0 if self.published else 0.01),
            (self.h0, (3 / (2 * n)) ** 0.5),
        )
        for parameter, bound in bounds:
            draw(parameter, self.members, sources, uniform(-bound, bound))
        draw(self.order, self.members, sources, lambda p, g: p.copy_(torch.randperm(n, generator=g)))

    def unitary(self) -> Tensor:
        """W, complex: (n, n) or (E, n, n)."""
        return outward(self._transposed().transpose(-1, -2), self.members)

    def _transposed(self) -> Tensor:
        """The factors of W applied to the unit vectors, one per row: W transposed, (E, n, n)."""
        theta, v = stacked(self.theta, self.members), torch.view_as_complex(stacked(self.v, self.members))
        d = torch.polar(torch.ones_like(theta), theta).unsqueeze(2)
        order = stacked(self.order, self.members).unsqueeze(1)
        h = torch.diag_embed(d[:, 0, 0])
        h = reflected(torch.fft.fft(h, norm="ortho"), v[:, 0])
        h = h.gather(-1, order.expand_as(h)) * d[:, 1]
        return reflected(torch.fft.ifft(h, norm="ortho"), v[:, 1]) * d[:, 2]

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Outputs of every step and the last of them, as the class says."""
        x = sequences(x, self.members, self.input_size)
        # W is computed once per sequence: one real product per step is faster than eight small complex ones.
        W = self._transposed().mT
        W = torch.cat([torch.cat([W.real, -W.imag], dim=-1), torch.cat([W.imag, W.real], dim=-1)], dim=-2)
        start = initial_state(self.h0, state, self.members, x.shape[2])
        V, b = stacked(self.V, self.members), stacked(self.b, self.members)
        A = torch.cat([V, W], dim=-1)
        every, h = recurrence("unitary", self._steps, x, start, A, b, variant=self.published)
        return outward(every, self.members), outward(h, self.members)

    def _steps(self, x: Tensor, h: Tensor, A: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        """x (E, T, B, I), h (E, B, 2n), A = [V, W], b (E, n) -> h of every step, and the last."""
        V, W = A[..., : self.input_size], A[..., self.input_size :].mT
        outputs = []
        for z in project(x, V).unbind(1):
            h = mod_relu(torch.baddbmm(z, h, W), b.unsqueeze(1), squared=self.published)
            outputs.append(h)
        return torch.stack(outputs, dim=1), h

    def extra_repr(self) -> str:
        variant = ", published: squared modulus" if self.published else ""
        return f"{self.input_size}, {self.hidden_size}, members={self.members}{variant}"


def reflected(h: Tensor, v: Tensor) -> Tensor:
    """h - 2 v (v* h) / |v|² for every row of h: h (E, N, n), v (E, n), complex."""
    along = torch.bmm(h, v.conj().unsqueeze(-1))
    return h - 2.0 * along * (v / v.abs().square().sum(dim=-1, keepdim=True)).unsqueeze(1)
