"""What NAU and NMU need beside the fit: the pull of their weights to whole numbers, its schedule, the clamp.

An ensemble has one penalty per member, (E,): their sum trains every member as if it were alone.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from mclstm_paper.baselines.arithmetic_units import ArithmeticUnit

__all__ = [
    "RECOMMENDED",
    "Schedule",
    "clamp_weights_",
    "sparsity_error",
    "sparsity_penalty",
    "zero_penalty",
]


class Schedule(NamedTuple):
    """How the sparsity penalty grows: weight * clip((step - start) / (end - start), 0, 1).

    >>> Schedule(10.0, 1_000, 2_000).at(1_500)
    5.0
    """

    weight: float
    start: int
    end: int

    def at(self, step: int) -> float:
        """The factor of the penalty at a step."""
        return self.weight * min(max((step - self.start) / (self.end - self.start), 0.0), 1.0)


# Madsen & Johansen's own settings. The MC-LSTM paper's recurrent runs took those of NMU for NAU as well.
RECOMMENDED: dict[str, Schedule] = {
    "nau": Schedule(0.01, 5_000, 50_000),
    "nmu": Schedule(10.0, 1_000_000, 2_000_000),
}


def units_of(model: nn.Module) -> list[ArithmeticUnit]:
    """All arithmetic units of a model."""
    return [layer for layer in model.modules() if isinstance(layer, ArithmeticUnit)]


def clamped_units(model: nn.Module) -> list[ArithmeticUnit]:
    """The NAU and NMU of a model."""
    units = [unit for unit in units_of(model) if unit.specification.limits is not None]
    if not units:
        raise ValueError("The model has no NAU and no NMU; leave its regulariser out.")
    return units


def distance(unit: ArithmeticUnit) -> Tensor:
    """min(|W|, |1 - |W||), for NMU min(|W|, |1 - W|): how far weights are from 0 and ±1; (E, O * I)."""
    (parameter,) = unit.parameters()
    W = parameter.flatten(start_dim=0 if unit.members is None else 1)
    size = W.abs() if unit.kind == "nau" else W
    return torch.minimum(W.abs(), (1.0 - size).abs())


def sparsity_penalty(model: nn.Module) -> Tensor:
    """R_W: the mean distance of a unit's weights from whole numbers, added over all NAU and NMU.

    Result: scalar, or (E,) with members.

    >>> unit = ArithmeticUnit("nmu", 2, 1)
    >>> with torch.no_grad(): _ = unit.W.copy_(torch.tensor([[0.75, 1.0]]))
    >>> sparsity_penalty(unit).item()
    0.125
    """
    return torch.stack([distance(unit).mean(dim=-1) for unit in clamped_units(model)]).sum(dim=0)


def sparsity_error(model: nn.Module) -> Tensor:
    """The largest distance of any weight from -1, 0 or 1, the paper's measure of a discrete solution.

    The weights of all arithmetic units count, those of NAC and NALU as they meet the inputs.
    Result: scalar, or (E,) with members.

    >>> unit = ArithmeticUnit("nau", 2, 1)
    >>> with torch.no_grad(): _ = unit.W.copy_(torch.tensor([[-0.75, 1.0]]))
    >>> sparsity_error(unit).item()
    0.25
    """
    units = units_of(model)
    if not units:
        raise ValueError("The model has no arithmetic unit; leave its sparsity out.")
    sizes = [
        unit.weight().detach().abs().flatten(start_dim=0 if unit.members is None else 1) for unit in units
    ]
    return torch.stack([torch.minimum(W, (1.0 - W).abs()).amax(dim=-1) for W in sizes]).amax(dim=0)


@torch.no_grad()
def clamp_weights_(model: nn.Module) -> None:
    """Clamp every NAU to [-1, 1] and NMU to [0, 1] in place; call it after each optimiser step.

    >>> unit = ArithmeticUnit("nau", 1, 1)
    >>> with torch.no_grad(): _ = unit.W.fill_(7.0)
    >>> clamp_weights_(unit); unit.W.item()
    1.0
    """
    for unit in clamped_units(model):
        for W in unit.parameters():
            W.clamp_(*(unit.specification.limits or ()))


def zero_penalty(
    W: Tensor,  # (O, I) or (E, O, I)
    x: Tensor,  # (..., I) or (E, ..., I)
) -> Tensor:
    """R_z = mean of (1 - |W|) (mean x)²: without it a CNN may output zeros, and only the mean is learned.

    Result: scalar, or (E,) with members.

    >>> zero_penalty(torch.tensor([[0.5, 1.0]]), torch.tensor([[1.0, 9.0], [3.0, 9.0]])).item()
    1.0
    """
    mean = x.flatten(start_dim=W.dim() - 2, end_dim=-2).mean(dim=-2, keepdim=True)
    return ((1.0 - W.abs()) * mean.square()).mean(dim=(-2, -1))
