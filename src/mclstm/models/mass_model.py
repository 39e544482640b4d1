"""The mass-conserving model: parts in front of the layer, the layer, a head, and their penalties."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from mclstm.errors import ConfigError
from mclstm.models.output import Moments, Output, Sizes, State
from mclstm.nn.heads import LinearHead, MCFCHead, ScaledHead, SumHead
from mclstm.nn.hydrology import AuxMemory, InputScaling, closure_penalty, scaling_penalty
from mclstm.nn.hydrology import cell_penalty as squared_cells
from mclstm.nn.layer import MCLSTM
from mclstm.nn.trace import Trace

__all__ = ["MassModel", "build_hybrid", "build_mass", "start_of"]

EVAPOTRANSPIRATION = "evapotranspiration"
LOSSES = "losses"  # the usual name of what leaves through no target
SHORTEST, LONGEST = 0.01, 1e5  # steps of a residence time
PENALTY = 0.1  # weight of the closure and scaling penalties in a loss of order one


class Entering(NamedTuple):
    """What the parts in front of the layer hand on to it."""

    x: Tensor  # (T, B, M) mass
    a: Tensor  # (T, B, A)
    static: Tensor  # (B, S)
    state: State  # of those parts
    penalty: Tensor  # scalar


class MassModel(nn.Module):
    """[input scaling] -> [LSTM] -> MCLSTM -> head.

    Static inputs are auxiliaries that do not change, as in the paper: both parts in front see them, and the
    LSTM's output replaces all auxiliaries. In a hybrid the LSTM also reads the mass, scaled and as logarithm.
    It only steers the gates: all mass goes through the MCLSTM. Guided cells are targets, too.
    x: (T, B, M) mass, in its own unit · a: (T, B, A) and static: (B, S) standardised
    -> y: (T, B, outlets), outflow, storage and the mass that entered, see `Output`

    >>> import torch
    >>> model = build_mass(Sizes(1, 2, 0, ["flow"]), None, hidden_size=4)
    >>> model(torch.rand(5, 3, 1), torch.randn(5, 3, 2), torch.zeros(3, 0)).y.shape
    torch.Size([5, 3, 1])
    """

    mass_mean: Tensor
    mass_std: Tensor

    def __init__(
        self,
        layer: MCLSTM,
        head: nn.Module,
        targets: tuple[str, ...],
        memory: AuxMemory | None = None,
        scaling: InputScaling | None = None,
        cell_weight: float = 0.0,
        mass_moments: Moments | None = None,
        losses: str = LOSSES,
        guided: Sequence[int] = (),
    ) -> None:
        super().__init__()
        self.guided = list(guided)
        self.layer, self.head, self.memory, self.scaling = layer, head, memory, scaling
        self.targets, self.cell_weight, self.losses = targets, cell_weight, losses
        self.memory_sees_mass = mass_moments is not None
        if mass_moments is not None:
            for name in ("mass_mean", "mass_std"):
                values = torch.tensor(getattr(mass_moments, name), dtype=torch.get_default_dtype())
                self.register_buffer(name, values)

    @property
    def outlets(self) -> tuple[str, ...]:
        """The names of what flows out, the targets first."""
        return tuple(self.head.outlets)  # type: ignore[arg-type]

    @property
    def conserving(self) -> bool:
        """Whether all mass that came in is in the outflow or in the stores."""
        return self.layer.conserving and self.scaling is None

    def forward(
        self,
        x: Tensor,  # (T, B, M)
        a: Tensor,  # (T, B, A)
        static: Tensor,  # (B, S)
        state: State | None = None,
    ) -> Output:
        x, a, static, after, penalty = self.enter(x, a, static, state or {})
        h, c = self.layer.trajectory(x, a, (state or {}).get("cells"), static=static)
        y = self.head(h)
        if self.cell_weight:
            penalty = penalty + self.cell_weight * squared_cells(c)
        if EVAPOTRANSPIRATION in self.outlets:
            penalty = penalty + PENALTY * closure_penalty(h, y)
        y = torch.cat([y, c[1:][..., self.guided]], dim=-1) if self.guided else y
        return Output(y, {**after, "cells": c[-1]}, penalty, h, c, x, a)

    def enter(
        self,
        x: Tensor,  # (T, B, M)
        a: Tensor,  # (T, B, A)
        static: Tensor,  # (B, S)
        state: State,
    ) -> Entering:
        """Scale the mass and let the memory read, as far as the model has these parts."""
        penalty, after = x.new_zeros(()), State()
        if self.scaling is not None:
            x, factors = self.scaling(x, with_static(a, static))
            penalty = PENALTY * scaling_penalty(factors)
        if self.memory is not None:
            before = state["memory"].transpose(0, 1) if "memory" in state else None
            a, remembered = self.memory(self._read_by_memory(x, with_static(a, static)), before)
            static = static[:, :0]
            after["memory"] = remembered.transpose(0, 1)
        return Entering(x, a, static, after, penalty)

    @torch.no_grad()
    def trace(
        self,
        x: Tensor,  # (T, B, M)
        a: Tensor,  # (T, B, A)
        static: Tensor,  # (B, S)
        state: State | None = None,
    ) -> Trace:
        """Where the mass of a run came from and where it went; arguments as for `forward`."""
        x, a, static, _, _ = self.enter(x, a, static, state or {})
        return self.layer.trace(x, a, (state or {}).get("cells"), static=static)

    def trace_of(self, output: Output, static: Tensor) -> Trace:  # (B, S)
        """The trace of a run that was made already."""
        static = static if self.memory is None else static[:, :0]
        assert output.x is not None
        assert output.c is not None
        return self.layer.trace(output.x, output.a, output.c[0], static=static, c=output.c)

    def _read_by_memory(self, x: Tensor, a: Tensor) -> Tensor:  # (T, B, M), (T, B, A + S)
        if not self.memory_sees_mass:
            return a
        scaled = (x - self.mass_mean) / self.mass_std
        return torch.cat([scaled, x.sign() * torch.log1p(x.abs()), a], dim=-1)


def with_static(a: Tensor, static: Tensor) -> Tensor:  # (T, B, A), (B, S) -> (T, B, A + S)
    """The auxiliaries of every step, followed by the static ones."""
    return torch.cat([a, static.expand(a.shape[0], *static.shape)], dim=-1)


def build_mass(
    sizes: Sizes,
    moments: Moments | None,
    *,
    hidden_size: int,
    aux_memory: int | None = None,
    **options: Any,
) -> MassModel:
    """The model from its options; mass is never scaled, so `moments` are not used.

    >>> build_mass(Sizes(1, 0, 0, ["flow"]), None, hidden_size=3).outlets
    ('flow',)
    """
    memory = AuxMemory(sizes.aux + sizes.static, aux_memory) if aux_memory else None
    return assembled(sizes, memory, None, hidden_size=hidden_size, **options)


def build_hybrid(
    sizes: Sizes,
    moments: Moments | None,
    *,
    hidden_size: int,
    memory_size: int = 64,
    memory_outputs: int = 32,
    dropout: float = 0.3,
    **options: Any,
) -> MassModel:
    """All mass goes through the layer; an LSTM that reads everything, mass included, steers its gates.

    >>> model = build_hybrid(Sizes(1, 4, 27, ["flow"]), Moments([3.0], [8.0], [1.0], [2.0]), hidden_size=16)
    >>> model.memory.lstm.input_size, model.conserving
    (33, True)
    """
    if moments is None:
        raise ValueError("The hybrid's LSTM reads scaled mass; give the moments of the training period.")
    seen = 2 * sizes.mass + sizes.aux + sizes.static
    memory = AuxMemory(seen, memory_size, outputs=memory_outputs, dropout=dropout)
    return assembled(sizes, memory, moments, hidden_size=hidden_size, **options)


def assembled(
    sizes: Sizes,
    memory: AuxMemory | None,
    mass_moments: Moments | None,
    *,
    hidden_size: int,
    head: str = "sum",
    head_gate: bool = False,
    trash_cell: bool = True,
    trash_budget: float | None = None,
    losses: str = LOSSES,
    input_scaling: bool = False,
    evapotranspiration: bool = False,
    cell_penalty: float = 0.0,
    mask: Sequence[Sequence[bool]] | None = None,
    guided: Mapping[str, int] | None = None,
    **options: Any,
) -> MassModel:
    """The parts put together: the outputs of a memory replace auxiliaries and statics."""
    flows, cells = flows_and_cells(sizes.targets, guided or {})
    scaling = InputScaling(sizes.mass, sizes.aux + sizes.static) if input_scaling else None
    allowed = None if mask is None else torch.tensor(mask, dtype=torch.bool)
    aux, fixed = (sizes.aux, sizes.static) if memory is None else (memory.outputs, 0)
    layer = MCLSTM(sizes.mass, aux, hidden_size, static_size=fixed, mask=allowed, **options)
    outlets = (*flows, *([EVAPOTRANSPIRATION] if evapotranspiration else []))
    if trash_cell and losses in outlets:
        raise ConfigError(f"model.losses is {losses!r}, which is the name of a target. Choose another name.")
    last = make_head(head, hidden_size, outlets, losses if trash_cell else None, trash_budget, head_gate)
    parts = memory, scaling, cell_penalty, mass_moments, losses, cells
    return MassModel(layer, last, tuple(sizes.targets), *parts)


def flows_and_cells(targets: Sequence[str], guided: Mapping[str, int]) -> tuple[list[str], list[int]]:
    """The targets that are outflows, and the cells whose content the others are.

    >>> flows_and_cells(["flow", "snow"], {"snow": 1})
    (['flow'], [1])
    """
    flows = [name for name in targets if name not in guided]
    if [*flows, *guided] != list(targets):
        raise ConfigError(
            f"model.guided names {', '.join(guided)}, which must stand last among the targets "
            f"{', '.join(targets)}, in the same order. Change data.target."
        )
    return flows, list(guided.values())


def start_of(residence: float) -> dict[str, float]:
    """The options with which mass stays `residence` steps on average before training.

    A share o of a cell's mass leaves at every step, the step it came in included: it stays n = (1 - o) / o
    steps on average, so o = 1 / (1 + n). A cell hands on the same share to the others.

    >>> {name: round(value, 4) for name, value in start_of(3.0).items()}
    {'stay': 0.75, 'output_bias': -1.0986}
    """
    if not SHORTEST <= residence <= LONGEST:
        raise ConfigError(
            f"model.residence is {residence:g} steps of the data. Choose {SHORTEST:g} to {LONGEST:g} steps."
        )
    return {"stay": residence / (1.0 + residence), "output_bias": -math.log(residence)}


def make_head(
    name: str, cells: int, outlets: tuple[str, ...], losses: str | None, budget: float | None, gate: bool
) -> nn.Module:
    """The named head with these outlets, and losses if they have a name; `sum` and `scaled` have one."""
    if name in ("sum", "scaled") and len(outlets) > 1:
        raise ConfigError(
            f"model.head is {name!r}, which has one outlet, but there are {len(outlets)}: "
            f"{', '.join(outlets)}. Choose head: mcfc or head: linear."
        )
    if name == "sum":
        return SumHead(cells, {outlets[0]: range(int(losses is not None), cells)})
    if name == "scaled":
        return ScaledHead(cells, outlets[0])
    if name == "mcfc":
        names = outlets if losses is None else (*outlets, losses)
        return MCFCHead(cells, names, budget=budget, output_gate=gate)
    return LinearHead(cells, outlets)
