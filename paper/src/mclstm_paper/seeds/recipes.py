"""Networks of the synthetic tasks for E members, each a layer and an output layer; what their loss adds."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from mclstm.nn.layer import MCLSTM
from mclstm.nn.mcfc import MultiplicativeMCFC
from mclstm.nn.members import draw, orthogonal, uniform
from mclstm_paper.baselines import Linear
from mclstm_paper.baselines.lstm import LSTM
from mclstm_paper.baselines.regularisers import Schedule, sparsity_penalty
from mclstm_paper.protocols import Protocol, switched

__all__ = [
    "Decay",
    "MassConserving",
    "OutputPenalty",
    "Penalty",
    "Recipe",
    "Recurrent",
    "Sources",
    "SparsityPenalty",
    "fix_input_gate",
    "mass_layer",
    "member_errors",
    "no_penalty",
    "sources",
    "start_as_torch_",
]

Sources = list[torch.Generator]
Penalty = Callable[[nn.Module, int], Tensor | None]  # (model, update) -> (E,), or None where there is nothing


class Decay(NamedTuple):
    """A learning rate that falls exponentially from one update to another, and stays there.

    >>> [round(Decay(start=100, end=200, to=0.01).at(update), 3) for update in (0, 100, 150, 200, 900)]
    [1.0, 1.0, 0.1, 0.01, 0.01]
    """

    start: int
    end: int
    to: float  # the factor at the end

    def at(self, update: int) -> float:
        """The factor of the rate at an update."""
        gone = (update - self.start) / (self.end - self.start)
        return float(self.to ** min(1.0, max(0.0, gone)))


def no_penalty(model: nn.Module, update: int) -> None:
    """Nothing is added to the squared error."""


class Recipe(NamedTuple):
    """A row of a table: how a model is built and trained."""

    build: Callable[[Sources], nn.Module]
    learning_rate: float
    penalty: Penalty = no_penalty
    cell_penalty: float = 0.0  # factor of the mean square of the cells
    clamped: bool = False  # weights of NAU and NMU go back into their range after every update
    decay: Decay | None = None  # of the learning rate
    epsilon: float = 1e-8  # what Adam adds to the size of a gradient before it divides by it


def sources(seeds: list[int]) -> Sources:
    """One generator a member: layers built one after the other draw on where the last one stopped.

    >>> [source.initial_seed() for source in sources([3, 4])]
    [3, 4]
    """
    return [torch.Generator().manual_seed(seed) for seed in seeds]


class Recurrent(nn.Module):
    """A baseline layer and an output layer on its last output; with `marker` it sees the marker as an input.

    x: (T, B, M) shared or (E, T, B, M), a: (T, B, 1) or (E, T, B, 1) -> (E, B, 1)
    """

    def __init__(self, layer: nn.Module, head: nn.Module, marker: bool) -> None:
        super().__init__()
        self.layer, self.head, self.marker = layer, head, marker

    def forward(self, x: Tensor, a: Tensor) -> Tensor:
        """The prediction at the last step."""
        # The last state begins with the last output: gradients then need no zeros for all other steps.
        _, last = self.layer(torch.cat([x, a], dim=-1) if self.marker else x)
        y: Tensor = self.head(last[0] if isinstance(last, tuple) else last)
        return y


class MassConserving(nn.Module):
    """An MC-LSTM and an output layer on its last outflow; `first` (E, K) is a learned initial state.

    x: (T, B, M) shared or (E, T, B, M), a: (T, B, 1) or (E, T, B, 1) -> (E, B, 1)
    """

    first: nn.Parameter | None

    def __init__(self, layer: MCLSTM, head: nn.Module, first: Tensor | None = None) -> None:
        super().__init__()
        self.layer, self.head = layer, head
        self.register_parameter("first", None if first is None else nn.Parameter(first))

    def forward(self, x: Tensor, a: Tensor) -> Tensor:
        """The prediction at the last step."""
        h, _ = self.layer.last(x, a, self._start(x))
        return self._predicted(h)

    def with_cells(self, x: Tensor, a: Tensor) -> tuple[Tensor, Tensor]:
        """The prediction and the cells at every step, (E, T + 1, B, K)."""
        h, c = self.layer.trajectory(x, a, self._start(x))
        return self._predicted(h[:, -1]), c

    def _start(self, x: Tensor) -> Tensor | None:
        return None if self.first is None else self.first.unsqueeze(1).expand(-1, x.shape[-2], -1)

    def _predicted(self, h: Tensor) -> Tensor:
        # An unconstrained initial state can make outflows negative, of which there is no logarithm.
        product = self.first is not None and isinstance(self.head, MultiplicativeMCFC)
        y: Tensor = self.head(h.clamp(min=0.0) if product else h)
        return y


def mass_layer(
    mass_size: int,
    hidden_size: int,
    drawn: Sources,
    protocol: Protocol,
    redistribution: Literal["static", "dynamic"] = "static",
    signed: bool = False,
) -> MCLSTM:
    """An MC-LSTM with one auxiliary input, started as the protocol says.

    >>> mass_layer(1, 10, sources([0]), "stated")(torch.rand(5, 2, 1), torch.rand(5, 2, 1))[1].shape
    torch.Size([1, 2, 10])
    """
    weak = math.e / (math.e + hidden_size - 1) if redistribution == "static" else None
    return MCLSTM(
        mass_size,
        1,
        hidden_size,
        redistribution=redistribution,
        gates_see=("aux",) if switched("mclstm: gates see aux only", protocol) else ("aux", "state"),
        stay=weak if switched("mclstm: weak identity", protocol) else 0.9,
        allow_negative_mass=signed,
        members=len(drawn),
        seeds=drawn,
    )


def fix_input_gate(layer: MCLSTM, drawn: Sources) -> None:
    """One learned matrix instead of a gate: nothing is seen, orthogonal logits."""
    W, b = layer.gates.W_i, layer.gates.b_i
    with torch.no_grad():
        W.zero_()
    draw(b, layer.gates.members, drawn, orthogonal)
    W.requires_grad_(False)


def start_outlets_(layer: MCLSTM, logit: float) -> None:
    """Outlets closed at the marker 1, open at the last step's -1: σ(∓logit); gates see the marker alone."""
    with torch.no_grad():
        layer.gates.W_o.fill_(-logit)
        layer.gates.b_o.zero_()


def start_as_torch_(layer: LSTM, drawn: Sources) -> None:
    """The start of `torch.nn.LSTMCell`: weights uniform ±1 / √K; of its two biases ours is the sum.

    >>> layer = LSTM(2, 4, members=1)
    >>> start_as_torch_(layer, sources([0])); bool(layer.W.abs().max() < 0.5)
    True
    """
    bound, second = layer.hidden_size**-0.5, torch.empty_like(layer.b)
    for value in (layer.W, layer.U, layer.b, second):
        draw(value, layer.members, drawn, uniform(-bound, bound))
    with torch.no_grad():
        layer.b.add_(second)


@dataclass(frozen=True)
class OutputPenalty:
    """factor / 2 times the mean square of the output layer's weights, the published L2."""

    factor: float

    def __call__(self, model: nn.Module, update: int) -> Tensor:
        head = model.get_submodule("head")
        assert isinstance(head, Linear)
        return self.factor / 2.0 * head.W.square().mean(dim=(1, 2))


@dataclass(frozen=True)
class SparsityPenalty:
    """The sparsity penalty of NAU and NMU with the factor of its schedule; nothing while that is 0."""

    schedule: Schedule

    def __call__(self, model: nn.Module, update: int) -> Tensor | None:
        factor = self.schedule.at(update)
        return factor * sparsity_penalty(model) if factor > 0.0 else None


def member_errors(y: Tensor, target: Tensor) -> Tensor:
    """Mean squared error of every member: (E, B, 1) each -> (E,)."""
    return (y - target).square().mean(dim=(1, 2))
