"""Recurrent cells made of the arithmetic units."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from mclstm.nn.arguments import one_of
from mclstm.nn.members import Seeds, leading, outward, sequences, stacked, states
from mclstm_paper.baselines.nac import NAC, NACMul
from mclstm_paper.baselines.nalu import NALU
from mclstm_paper.baselines.nau import NAU
from mclstm_paper.baselines.nmu import NMU
from mclstm_paper.kernels.recurrence import recurrence

__all__ = ["UNITS", "RecurrentUnit"]

Unit = NAC | NACMul | NALU | NAU | NMU

# Each with what the kernel library calls its recurrence.
RECURRENCES: dict[str, tuple[Callable[..., Unit], str]] = {
    "nac": (NAC, "linear"),
    "nac-mul": (NACMul, "powers"),
    "nalu": (NALU, "nalu"),
    "nau": (NAU, "linear"),
    "nmu": (NMU, "products"),
}
UNITS: dict[str, Callable[..., Unit]] = {name: unit for name, (unit, _) in RECURRENCES.items()}


class RecurrentUnit(nn.Module):
    """An arithmetic unit applied at every step to the input and its own last output.

        h_t = Op([x_t, h_{t-1}]),    h_0 learned, starting at 0

    x: (T, B, I) -> h: (T, B, K), h_n: (B, K);
    with members x: (T, B, I) shared or (E, T, B, I) -> h: (E, T, B, K), h_n: (E, B, K)

    >>> h, h_n = RecurrentUnit("nau", 10, 2, members=3)(torch.rand(7, 4, 10))
    >>> h.shape, h_n.shape
    (torch.Size([3, 7, 4, 2]), torch.Size([3, 4, 2]))
    """

    unit: Unit

    def __init__(
        self,
        unit: str,
        input_size: int,
        hidden_size: int,
        *,
        members: int | None = None,
        seeds: Seeds | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.members = input_size, hidden_size, members
        self.output_size = hidden_size
        wide = input_size + hidden_size
        build, self.cell = RECURRENCES[one_of("unit", unit, RECURRENCES)]
        self.unit = build(wide, hidden_size, members=members, seeds=seeds, device=device, dtype=dtype)
        self.h0 = nn.Parameter(torch.zeros(*leading(members), hidden_size, device=device, dtype=dtype))

    def reset_parameters(self, seeds: Seeds | None = None) -> None:
        """A fresh unit and h_0 = 0."""
        self.unit.reset_parameters(seeds)
        nn.init.zeros_(self.h0)

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Outputs of every step and the last of them, as the class says."""
        x = sequences(x, self.members, self.input_size)
        h0 = stacked(self.h0, self.members).unsqueeze(1).expand(-1, x.shape[2], -1)
        start = h0 if state is None else states(state, self.members, x.shape[2], self.hidden_size)
        every, h = recurrence(self.cell, self._steps, x, start, self.unit.prepare())
        return outward(every, self.members), outward(h, self.members)

    def _steps(self, x: Tensor, h: Tensor, A: Tensor, _: Tensor) -> tuple[Tensor, Tensor]:
        """x (E, T, B, I), h (E, B, K), A as the unit prepared it -> h of every step, and the last."""
        outputs = []
        for now in x.unbind(1):
            # Samples stay side by side in memory, as the units' products like them.
            h = self.unit.step(torch.cat([now.mT, h.mT], dim=1).mT, A)
            outputs.append(h)
        return torch.stack(outputs, dim=1), h

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}, members={self.members}"
