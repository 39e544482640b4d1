"""NMU, the neural multiplication unit."""

import torch
from torch import Tensor, nn

from mclstm.nn.members import Seeds, draw, generators, leading, rows, stacked, uniform

__all__ = ["NMU"]


class NMU(nn.Module):
    """Neural multiplication unit (Madsen & Johansen, 2020): the product of the chosen inputs.

        y = Π_i (W_i x_i + 1 - W_i),    W clamped to [0, 1]

    Start: W uniform on [1/4, 3/4]. No bias. `regularisers` has the pull towards 0 and 1, and the clamp.

    x: (..., I) -> y: (..., O); with members x: (B, I) shared or (E, ..., I) -> y: (E, ..., O)

    >>> unit = NMU(3, 1)
    >>> with torch.no_grad(): _ = unit.W.copy_(torch.tensor([[1.0, 0.0, 1.0]]))
    >>> unit(torch.tensor([5.0, 2.0, 3.0])).tolist()
    [15.0]
    """

    limits = (0.0, 1.0)

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
        """Uniform around one half."""
        sources = generators(self.members, seeds)
        draw(self.W, self.members, sources, uniform(0.25, 0.75))

    def weight(self) -> Tensor:
        """The choice of inputs: (O, I) or (E, O, I)."""
        return self.W.clamp(*self.limits)

    def prepare(self) -> Tensor:
        """What `step` needs, made once a sequence: W (E, O, I)."""
        return stacked(self.weight(), self.members)

    def step(self, x: Tensor, W: Tensor) -> Tensor:
        """The products of every member: x (E, N, I), W (E, O, I) -> (E, N, O)."""
        return (W.unsqueeze(1) * (x.unsqueeze(2) - 1.0) + 1.0).prod(dim=-1)

    def forward(self, x: Tensor) -> Tensor:
        """x (..., I) -> (..., O), as the class says."""
        flat, shape = rows(x, self.members, self.input_size)
        return self.step(flat, self.prepare()).view(*shape, self.output_size)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.output_size}, members={self.members}"
