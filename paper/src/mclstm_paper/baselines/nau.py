"""NAU, the neural addition unit."""

import torch
from torch import Tensor, nn

from mclstm.nn.members import Seeds, applied, draw, generators, leading, rows, stacked, uniform

__all__ = ["NAU"]


class NAU(nn.Module):
    """Neural addition unit (Madsen & Johansen, 2020): a linear map pulled towards weights -1, 0 and 1.

        y = W x,    W clamped to [-1, 1]

    Start: W uniform ±r, r = min(1/2, √3 √(2 / (I + O))). No bias. `regularisers` has the pull and the clamp.

    x: (..., I) -> y: (..., O); with members x: (B, I) shared or (E, ..., I) -> y: (E, ..., O)

    >>> unit = NAU(2, 1)
    >>> with torch.no_grad(): _ = unit.W.copy_(torch.tensor([[1.0, -3.0]]))
    >>> unit(torch.tensor([5.0, 2.0])).tolist()
    [3.0]
    """

    limits = (-1.0, 1.0)

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
        self.W = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
        self.reset_parameters(seeds)

    def reset_parameters(self, seeds: Seeds | None = None) -> None:
        """Uniform with Glorot's variance, but never beyond 1/2."""
        r = min(0.5, (6 / (self.input_size + self.output_size)) ** 0.5)
        sources = generators(self.members, seeds)
        draw(self.W, self.members, sources, uniform(-r, r))

    def weight(self) -> Tensor:
        """The weights the inputs meet: (O, I) or (E, O, I)."""
        return self.W.clamp(*self.limits)

    def prepare(self) -> Tensor:
        """What `step` needs, made once a sequence: W (E, O, I)."""
        return stacked(self.weight(), self.members)

    def step(self, x: Tensor, W: Tensor) -> Tensor:
        """W x of every member: x (E, N, I), W (E, O, I) -> (E, N, O)."""
        return applied(W, x)

    def forward(self, x: Tensor) -> Tensor:
        """x (..., I) -> (..., O), as the class says."""
        flat, shape = rows(x, self.members, self.input_size)
        return self.step(flat, self.prepare()).view(*shape, self.output_size)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.output_size}, members={self.members}"
