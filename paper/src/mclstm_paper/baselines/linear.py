"""Linear: a fully connected layer with an ensemble dimension, the output layer of the recurrent baselines."""

from typing import Literal, Unpack

from torch import Tensor, nn

from mclstm.nn.arguments import one_of
from mclstm.nn.ensemble_dim import Seeds, applied, draw, generators, rows, stacked
from mclstm_paper.baselines.construction import MemberOptions, empty, uniform

__all__ = ["Linear"]


class Linear(nn.Module):
    """A free linear map: y = W x + b.

    `start` is "kaiming" (uniform, ±√(3 / I), the published output layer of the addition problem) or "xavier"
    (uniform, ±√(6 / (I + O)), that of recurrent arithmetic); b starts at 0.

    x: (..., I) -> y: (..., O); with members x: (B, I) shared or (E, ..., I) -> y: (E, ..., O)

    >>> import torch
    >>> Linear(3, 1, members=5)(torch.rand(8, 3)).shape
    torch.Size([5, 8, 1])
    """

    b: nn.Parameter | None

    def __init__(
        self,
        input_size: int,
        output_size: int,
        *,
        bias: bool = True,
        start: Literal["kaiming", "xavier"] = "kaiming",
        **options: Unpack[MemberOptions],
    ) -> None:
        super().__init__()
        self.input_size, self.output_size, self.members = input_size, output_size, options.get("members")
        self.start = one_of("start", start, ("kaiming", "xavier"))
        self.W = empty(options, output_size, input_size)
        self.register_parameter("b", empty(options, output_size) if bias else None)
        self.reset_parameters(options.get("seeds"))

    def reset_parameters(self, seeds: Seeds | None = None) -> None:
        """Uniform weights as `start` says, zero bias."""
        fans = {"kaiming": self.input_size / 3, "xavier": (self.input_size + self.output_size) / 6}
        bound = fans[self.start] ** -0.5
        sources = generators(self.members, seeds)
        draw(self.W, self.members, sources, uniform(-bound, bound))
        if self.b is not None:
            nn.init.zeros_(self.b)

    def forward(self, x: Tensor) -> Tensor:
        """x (..., I) -> (..., O), as the class says."""
        flat, shape = rows(x, self.members, self.input_size)
        y = applied(stacked(self.W, self.members), flat)
        y = y if self.b is None else y + stacked(self.b, self.members).unsqueeze(1)
        return y.view(*shape, self.output_size)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.output_size}, bias={self.b is not None}, members={self.members}"
