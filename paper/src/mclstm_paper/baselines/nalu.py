"""NALU, the neural arithmetic logic unit: a gate between NAC and NAC•."""

import torch
from torch import Tensor, nn

from mclstm.nn.members import Seeds, applied, draw, generators, leading, rows, stacked, uniform
from mclstm_paper.baselines.nac import log_product, nac_bound, nac_weight

__all__ = ["NALU"]


class NALU(nn.Module):
    """Neural arithmetic logic unit (Trask et al., 2018), with one W for sums and products.

        y = g * (W x) + (1 - g) * exp(W log(|x| + 1e-7)),    g = σ(G x),    W = tanh(Ŵ) * σ(M̂)

    Start (Madsen & Johansen, 2020): Ŵ, M̂ as NAC, G uniform ±√(6 / (I + O)). No bias.

    x: (..., I) -> y: (..., O); with members x: (B, I) shared or (E, ..., I) -> y: (E, ..., O)

    >>> NALU(3, 2)(torch.rand(7, 5, 3)).shape
    torch.Size([7, 5, 2])
    """

    def __init__(
        self,
        input_size: int,
        output_size: int,
        *,
        members: int | None = None,
        seeds: Seeds | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.input_size, self.output_size, self.members = input_size, output_size, members
        shape = (*leading(members), output_size, input_size)
        self.W_hat = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
        self.M_hat = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
        self.G = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
        self.reset_parameters(seeds)

    def reset_parameters(self, seeds: Seeds | None = None) -> None:
        """Uniform: weights with the bound of `nac_bound`, gates with Glorot's."""
        sources = generators(self.members, seeds)
        r = nac_bound(self.input_size, self.output_size)
        glorot = (6 / (self.input_size + self.output_size)) ** 0.5
        for parameter, bound in ((self.W_hat, r), (self.M_hat, r), (self.G, glorot)):
            draw(parameter, self.members, sources, uniform(-bound, bound))

    def weight(self) -> Tensor:
        """The weights sums and products share: (O, I) or (E, O, I)."""
        return nac_weight(self.W_hat, self.M_hat)

    def prepare(self) -> Tensor:
        """What `step` needs, made once a sequence: W, and G below it, (E, 2 O, I)."""
        return torch.cat([stacked(value, self.members) for value in (self.weight(), self.G)], dim=1)

    def step(self, x: Tensor, both: Tensor) -> Tensor:
        """The gated mixture of every member: x (E, N, I), both (E, 2 O, I) -> (E, N, O)."""
        total, gate = applied(both, x).chunk(2, dim=-1)
        g = torch.sigmoid(gate)
        return g * total + (1.0 - g) * log_product(x, both[:, : self.output_size])

    def forward(self, x: Tensor) -> Tensor:
        """x (..., I) -> (..., O), as the class says."""
        flat, shape = rows(x, self.members, self.input_size)
        return self.step(flat, self.prepare()).view(*shape, self.output_size)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.output_size}, members={self.members}"
