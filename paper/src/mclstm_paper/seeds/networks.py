"""Networks of the synthetic tasks for E members: a layer, an output layer, and the end marker they see."""

import math
from collections.abc import Collection
from typing import Literal

import torch
from torch import Tensor, nn

from mclstm.nn.ensemble_dim import draw, orthogonal
from mclstm.nn.layer import MCLSTM
from mclstm.nn.mcfc import MultiplicativeMCFC
from mclstm_paper.baselines.construction import uniform
from mclstm_paper.baselines.lstm import LSTM
from mclstm_paper.protocols import Protocol, Switch, is_on
from mclstm_paper.seeds.switches import GATES_SEE_AUX_ONLY, WEAK_IDENTITY

__all__ = [
    "OUTLET",
    "MassConserving",
    "Recurrent",
    "Sources",
    "end_marker",
    "fix_input_gate",
    "mass_layer",
    "sources",
    "start_as_torch_",
    "start_outlets_",
]

Sources = list[torch.Generator]
OUTLET = 20.0  # logit for `start_outlets_` that keeps outlets closed, and opens them, all but exactly


def sources(seeds: list[int]) -> Sources:
    """One generator per member: each layer continues the random numbers where the layer before stopped.

    >>> [source.initial_seed() for source in sources([3, 4])]
    [3, 4]
    """
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def end_marker(steps: int, samples: int) -> Tensor:
    """The auxiliary input of tasks with an answer at the last step: 1, and -1 at the last step; (T, B, 1).

    >>> end_marker(steps=3, samples=2)[..., 0].tolist()
    [[1.0, 1.0], [1.0, 1.0], [-1.0, -1.0]]
    """
    a = torch.ones(steps, 1, 1)
    a[-1] = -1.0
    return a.expand(-1, samples, 1)


class Recurrent(nn.Module):
    """A baseline layer and an output layer on its last output; with `marker` the end marker is an input.

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
        # An unconstrained initial state can make outflows negative, which have no logarithm.
        product = self.first is not None and isinstance(self.head, MultiplicativeMCFC)
        y: Tensor = self.head(h.clamp(min=0.0) if product else h)
        return y


def mass_layer(
    mass_size: int,
    hidden_size: int,
    generators: Sources,
    protocol: Protocol,
    redistribution: Literal["static", "dynamic"] = "static",
    signed: bool = False,
    flipped: Collection[Switch] = (),
) -> MCLSTM:
    """An MC-LSTM with one auxiliary input, started as the protocol says but for flipped switches.

    >>> mass_layer(1, 10, sources([0]), "stated")(torch.rand(5, 2, 1), torch.rand(5, 2, 1))[1].shape
    torch.Size([1, 2, 10])
    """
    weak = math.e / (math.e + hidden_size - 1) if redistribution == "static" else None
    return MCLSTM(
        mass_size,
        1,
        hidden_size,
        redistribution=redistribution,
        gates_see=("aux",) if is_on(GATES_SEE_AUX_ONLY, protocol, flipped) else ("aux", "state"),
        stay=weak if is_on(WEAK_IDENTITY, protocol, flipped) else 0.9,
        allow_negative_mass=signed,
        members=len(generators),
        seeds=generators,
    )


def fix_input_gate(layer: MCLSTM, generators: Sources) -> None:
    """Turn the input gate into one learned matrix, started with orthogonal logits; it sees no input."""
    W, b = layer.gates.W_i, layer.gates.b_i
    with torch.no_grad():
        W.zero_()
    draw(b, layer.gates.members, generators, orthogonal)
    W.requires_grad_(False)


def start_outlets_(layer: MCLSTM, logit: float) -> None:
    """Start with outlets closed at marker 1, open at marker -1: σ(∓logit); gates must see only the marker."""
    W_o, b_o = layer.gates.W_o, layer.gates.b_o
    assert W_o is not None
    assert b_o is not None
    with torch.no_grad():
        W_o.fill_(-logit)
        b_o.zero_()


def start_as_torch_(layer: LSTM, generators: Sources) -> None:
    """Start as `torch.nn.LSTMCell` does: all uniform ±1 / √K; our bias is the sum of its two.

    >>> layer = LSTM(2, 4, members=1)
    >>> start_as_torch_(layer, sources([0])); bool(layer.W.abs().max() < 0.5)
    True
    """
    bound, second = layer.hidden_size**-0.5, torch.empty_like(layer.b)
    for value in (layer.W, layer.U, layer.b, second):
        draw(value, layer.members, generators, uniform(-bound, bound))
    with torch.no_grad():
        layer.b.add_(second)
