"""What the paper's hydrology appendix adds to the layer: parts in front of it, and penalties for the loss."""

import torch
from torch import Tensor, nn

from mclstm.nn.arguments import require_size
from mclstm.nn.dropout import Dropout
from mclstm.nn.row_product import row_product

__all__ = [
    "AuxMemory", "InputScaling", "balance_penalty", "cell_penalty", "closure_penalty", "guide_penalty",
    "open_forget_gate", "scaling_penalty",
]  # fmt: skip


class AuxMemory(nn.Module):
    """An LSTM whose outputs steer the gates in place of what it reads: a memory that holds no mass.

    s_t = W D h_t + b with h_t = LSTM(a_1 ... a_t). D drops a share of the hidden values in training; without
    `outputs` there is no map and s_t = D h_t. The forget gate starts open.

    a: (T, B, A) -> (T, B, outputs or memory_size), and the state (2, B, memory_size) to continue from

    >>> memory, state = AuxMemory(4, 8, outputs=3)(torch.randn(10, 2, 4))
    >>> memory.shape, state.shape
    (torch.Size([10, 2, 3]), torch.Size([2, 2, 8]))
    """

    def __init__(
        self,
        aux_size: int,
        memory_size: int,
        *,
        outputs: int | None = None,
        dropout: float = 0.0,
        forget_bias: float = 3.0,
    ) -> None:
        super().__init__()
        require_size("aux_size", aux_size, least=1)
        require_size("memory_size", memory_size, least=1)
        self.outputs = memory_size if outputs is None else outputs
        require_size("outputs", self.outputs, least=1)
        self.lstm = nn.LSTM(aux_size, memory_size)
        self.dropout = Dropout(dropout)
        self.linear = nn.Identity() if outputs is None else nn.Linear(memory_size, outputs)
        open_forget_gate(self.lstm, forget_bias)

    def forward(self, a: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """a (T, B, A), state (2, B, memory_size) -> the memory at every step, and the new state."""
        before = None if state is None else (state[:1].contiguous(), state[1:].contiguous())
        memory, after = self.lstm(a, before)
        seen = self.dropout(memory)
        if self.training or isinstance(self.linear, nn.Identity):
            seen = self.linear(seen)
        else:  # A warm-up of a training needs no such care: what is dropped depends on the other rows anyway.
            seen = row_product(seen, self.linear.weight, self.linear.bias)
        return seen, torch.cat(after)


@torch.no_grad()
def open_forget_gate(lstm: nn.LSTM, bias: float) -> None:
    """Set the bias of the forget gate of a one-layer LSTM: the two that torch adds sum to it."""
    forget = slice(lstm.hidden_size, 2 * lstm.hidden_size)  # the second of the four blocks
    lstm.get_parameter("bias_ih_l0")[forget] = bias
    lstm.get_parameter("bias_hh_l0")[forget] = 0.0


class InputScaling(nn.Module):
    """Time-dependent factors on the mass input, from a small network of the auxiliaries: x' = s(a) x, s > 0.

    For biased rain gauges; `scaling_penalty` keeps the factors close to one. The layer conserves x', not x:
    `forward` also returns the factors, so that the mass added can be computed.

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


def cell_penalty(c: Tensor) -> Tensor:
    """Mean of c², against a trash cell that grows until it leaks into the output.

    c: (..., K) -> scalar

    >>> cell_penalty(torch.tensor([[1.0, 3.0]])).item()
    5.0
    """
    return c.square().mean()


def closure_penalty(h: Tensor, y: Tensor) -> Tensor:
    """Mean of (sum_k h_k - sum_n y_n)²: outlets of a free head should add up to the outflow.

    The paper uses it for an evapotranspiration outlet. It constrains the sum only: an outlet without a target
    becomes the rest that the others leave, in any season, and may be negative.

    h: (..., K) outflow · y: (..., N) outlets -> scalar

    >>> closure_penalty(torch.tensor([[1.0, 3.0]]), torch.tensor([[3.0, 0.0]])).item()
    1.0
    """
    return (h.sum(dim=-1) - y.sum(dim=-1)).square().mean()


def scaling_penalty(factors: Tensor) -> Tensor:
    """Mean of (s - 1)²: the factors of input scaling should stay close to one.

    factors: (..., M) -> scalar

    >>> scaling_penalty(torch.tensor([1.5, 1.0])).item()
    0.125
    """
    return (factors - 1.0).square().mean()


def balance_penalty(inflow: Tensor, outflow: Tensor, scale: Tensor) -> Tensor:
    """Mean of (max(0, O - I) / (I + s))², I and O summed since the start: more has left than ever came in.

    What a mass-conserving layer cannot do, as a soft rule for models without stores.

    inflow, outflow: (..., B) sums up to each step · scale: s > 0, keeps the first steps finite -> scalar

    >>> balance_penalty(torch.tensor([3.0, 4.0]), torch.tensor([5.0, 1.0]), torch.tensor(1.0)).item()
    0.125
    """
    return (torch.relu(outflow - inflow) / (inflow + scale)).square().mean()


def guide_penalty(c: Tensor, observed: Tensor) -> Tensor:
    """Mean of (c - observed)² where there is an observation: ties a chosen cell to a measured store.

    Missing observations are NaN; with none at all the penalty is zero.

    c: (...) one cell's storage · observed: (...) of the same shape -> scalar

    >>> guide_penalty(torch.tensor([1.0, 2.0]), torch.tensor([float("nan"), 4.0])).item()
    4.0
    """
    if c.shape != observed.shape:
        raise ValueError(
            f"c has shape {tuple(c.shape)} and observed {tuple(observed.shape)}; choose one cell, c[..., k]."
        )
    known = ~torch.isnan(observed)
    gap = torch.where(known, c - torch.where(known, observed, 0.0), 0.0)
    return gap.square().sum() / known.sum().clamp(min=1)
