"""Parts tried in the paper's hydrology appendix that go in front of the layer: memory and input scaling."""

import torch
from torch import Tensor, nn

from mclstm.nn.arguments import require_size

__all__ = ["AuxMemory", "InputScaling"]


class AuxMemory(nn.Module):
    """An LSTM over the auxiliary inputs, whose outputs replace them: memory for what is not mass.

    a: (T, B, A) -> (T, B, memory_size), and the state (2, B, memory_size) to go on from

    >>> memory, state = AuxMemory(4, 8)(torch.randn(10, 2, 4))
    >>> memory.shape, state.shape
    (torch.Size([10, 2, 8]), torch.Size([2, 2, 8]))
    """

    def __init__(self, aux_size: int, memory_size: int) -> None:
        super().__init__()
        require_size("aux_size", aux_size, least=1)
        require_size("memory_size", memory_size, least=1)
        self.lstm = nn.LSTM(aux_size, memory_size)

    def forward(self, a: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """a (T, B, A), state (2, B, memory_size) -> the memory at every step, and the new state."""
        before = None if state is None else (state[:1].contiguous(), state[1:].contiguous())
        memory, after = self.lstm(a, before)
        return memory, torch.cat(after)


class InputScaling(nn.Module):
    """Time-dependent factors on the mass input, from a small network of the auxiliaries: x' = s(a) x, s > 0.

    Meant for biased rain gauges and regularised towards one by `scaling_penalty`. The layer behind it
    conserves x', not x: `forward` returns the factors too, so that the ledger can say how much was added.

    x: (..., M) · a: (..., A) -> x': (..., M), s: (..., M)

    >>> x, a = torch.rand(10, 2, 1), torch.randn(10, 2, 4)
    >>> scaled, factors = InputScaling(1, 4)(x, a)
    >>> torch.equal(scaled, x), factors.unique().tolist()
    (True, [1.0])
    """

    def __init__(self, mass_size: int, aux_size: int, hidden_size: int = 16) -> None:
        super().__init__()
        require_size("mass_size", mass_size, least=1)
        require_size("aux_size", aux_size, least=1)
        self.hidden = nn.Linear(aux_size, hidden_size)
        self.log_factor = nn.Linear(hidden_size, mass_size)
        nn.init.zeros_(self.log_factor.weight)
        nn.init.zeros_(self.log_factor.bias)

    def forward(self, x: Tensor, a: Tensor) -> tuple[Tensor, Tensor]:
        """The scaled mass and its factors: x (..., M), a (..., A) -> (..., M) each."""
        factors = torch.exp(self.log_factor(torch.tanh(self.hidden(a))))
        return x * factors, factors
