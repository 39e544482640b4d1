"""The networks of the traffic forecast for E members, in counts: an MC-LSTM and an LSTM, and their grids."""

from itertools import product
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from mclstm.nn.layer import MCLSTM
from mclstm.nn.mcfc import MCFC
from mclstm_paper.baselines import Linear
from mclstm_paper.baselines.lstm import LSTM
from mclstm_paper.protocols import Protocol
from mclstm_paper.seeds.networks import Sources
from mclstm_paper.seeds.switches import WEAK_IDENTITY
from mclstm_paper.traffic.days import Clock
from mclstm_paper.traffic.switches import (
    FREE_START,
    LSTM_MISALIGNED_START,
    NO_HEAD_GATE,
    NORMALISED_PER_DAY,
)

__all__ = [
    "NETWORKS",
    "LSTMFlows",
    "MassFlows",
    "Scales",
    "Setting",
    "build",
    "clock_of",
    "our_grid",
    "our_variant",
    "papers_grid",
]

NETWORKS = ("mclstm", "lstm", "mclstm-harmonics", "lstm-harmonics", "mclstm-timeless", "lstm-timeless")
CLOCKS: dict[str, Clock] = {"": "number", "harmonics": "harmonics", "timeless": "none"}
HIDDEN, RATES = (10, 50, 100), (0.1, 0.05, 0.01, 0.005, 0.001)
FORGET_BIASES, STARTS = (0.0, 5.0), (0.0, 100.0)
OUR_RATES = {"mclstm": (0.05, 0.02), "lstm": (0.02, 0.005)}
OUR_FORGET_BIAS = 3.0
REACH = 8  # cells that mass passes at most in a step of a conveyor


class Setting(NamedTuple):
    """Hyper-parameters of one training; those of the other model are None."""

    hidden: int
    rate: float
    forget_bias: float | None = None
    start: float | None = None  # what each cell holds before the first step
    learned: bool | None = None  # whether that is trained

    def label(self) -> str:
        """A name for a folder.

        >>> Setting(10, 0.01, start=100.0, learned=True).label()
        'hidden-10-rate-0.01-start-100-learned'
        """
        parts = [f"hidden-{self.hidden}", f"rate-{self.rate:g}"]
        parts += [] if self.forget_bias is None else [f"forget-{self.forget_bias:g}"]
        parts += [] if self.start is None else [f"start-{self.start:g}"]
        return "-".join(parts + (["learned"] if self.learned else []))


def papers_grid(model: str, hidden: tuple[int, ...] = HIDDEN) -> list[Setting]:
    """The settings that the paper tried.

    >>> len(papers_grid("mclstm")), len(papers_grid("lstm"))
    (60, 30)
    """
    if model == "lstm":
        return [Setting(*each) for each in product(hidden, RATES, FORGET_BIASES)]
    return [
        Setting(size, rate, start=start, learned=learned)
        for size, rate, start, learned in product(hidden, RATES, STARTS, (False, True))
    ]


def clock_of(model: str) -> Clock:
    """What a model sees of the time, by the end of its name.

    >>> clock_of("mclstm"), clock_of("lstm-timeless")
    ('number', 'none')
    """
    return CLOCKS[model.partition("-")[2]]


def our_grid(model: str, hidden: tuple[int, ...] = (16, 32)) -> list[Setting]:
    """The settings of our own variants: as many for both networks."""
    kind = model.partition("-")[0]
    pairs = product(hidden, OUR_RATES[kind])
    if kind == "lstm":
        return [Setting(size, rate, OUR_FORGET_BIAS) for size, rate in pairs]
    return [Setting(size, rate, start=0.0, learned=True) for size, rate in pairs]


def our_variant(setting: str) -> str:
    """Our MC-LSTM for a setting: harmonics where every hour is observed, no clock where few are.

    >>> our_variant("flights-dense"), our_variant("flights-sparse-step")
    ('mclstm-harmonics', 'mclstm-timeless')
    """
    return "mclstm-timeless" if "-sparse-" in setting else "mclstm-harmonics"


class Scales(NamedTuple):
    """Mean and deviation of the counts in training, of every inlet (M,) and every outlet (O,)."""

    x_mean: Tensor
    x_deviation: Tensor
    y_mean: Tensor
    y_deviation: Tensor


class MassFlows(nn.Module):
    """An MC-LSTM whose outflow an MC-FC layer splits over the outlets: counts in, counts out.

    x: (E, T, B, M) or shared (T, B, M), a: (T, B, A) or (E, T, B, A) -> y: (E, T, B, O)
    """

    first: nn.Parameter | None

    def __init__(self, layer: MCLSTM, head: MCFC, free_start: Tensor | None = None) -> None:
        super().__init__()
        self.layer, self.head = layer, head
        self.register_parameter("first", None if free_start is None else nn.Parameter(free_start))

    def forward(self, x: Tensor, a: Tensor) -> Tensor:
        """The counts that leave at every step."""
        return self.with_stock(x, a)[0]

    def with_stock(self, x: Tensor, a: Tensor) -> tuple[Tensor, Tensor]:
        """Also the counts inside after every step, (E, T, B): all that the cells hold."""
        start = None if self.first is None else self.first.unsqueeze(1).expand(-1, x.shape[-2], -1)
        h, c = self.layer.trajectory(x, a, start)
        y: Tensor = self.head(h)
        return y, c[..., 1:, :, :].sum(-1)


class LSTMFlows(nn.Module):
    """An LSTM and a linear layer on normalised counts.

    Counts are normalised by the moments of training, or with `per_day` by those of the day's own inputs.
    Shapes as for MassFlows.
    """

    def __init__(self, layer: LSTM, head: Linear, scales: Scales, per_day: bool) -> None:
        super().__init__()
        self.layer, self.head, self.scales, self.per_day = layer, head, scales, per_day

    def forward(self, x: Tensor, a: Tensor) -> Tensor:
        """The counts that leave at every step."""
        x_mean, x_deviation, y_mean, y_deviation = self.scales
        if self.per_day:
            x_mean = y_mean = x.mean(dim=(-3, -1), keepdim=True)
            x_deviation = y_deviation = x.std(dim=(-3, -1), keepdim=True).clamp(min=1e-6)
        scaled = (x - x_mean) / x_deviation
        a = a.expand(*scaled.shape[:-1], a.shape[-1])
        h, _ = self.layer(torch.cat([scaled, a], dim=-1))
        y: Tensor = y_mean + y_deviation * self.head(h)
        return y

    def with_stock(self, x: Tensor, a: Tensor) -> tuple[Tensor, Tensor]:
        """Also what entered minus what left since the day began, (E, T, B): it may become negative."""
        y = self(x, a)
        return y, (x.sum(-1) - y.sum(-1)).cumsum(-2)


def build(
    model: str,
    setting: Setting,
    sizes: tuple[int, int, int],
    scales: Scales,
    protocol: Protocol,
    sources: Sources,
) -> MassFlows | LSTMFlows:
    """The network of a model for the members of some sources; sizes: inlets, auxiliary inputs, outlets."""
    inlets, aux, outlets = sizes
    members: Any = {"members": len(sources), "seeds": sources}
    if not model.startswith("mclstm"):
        bias, published = setting.forget_bias, LSTM_MISALIGNED_START.on(protocol)
        assert bias is not None
        layer = LSTM(inlets + aux, setting.hidden, forget_bias=bias, published=published, **members)
        head = Linear(setting.hidden, outlets, **members)
        return LSTMFlows(layer, head, scales, NORMALISED_PER_DAY.on(protocol))
    gate = model == "mclstm" and not NO_HEAD_GATE.on(protocol)
    return MassFlows(
        mass_layer(model, setting, inlets, aux, protocol, sources),
        MCFC(setting.hidden, outlets, output_gate=gate, allow_negative_mass=True, **members),
        free_start(setting, len(sources)) if FREE_START.on(protocol) else None,
    )


def mass_layer(
    model: str, setting: Setting, inlets: int, aux: int, protocol: Protocol, sources: Sources
) -> MCLSTM:
    """The MC-LSTM, with the paper's start or, in our variants, as a conveyor.

    On a conveyor R is one matrix, mass moves on by up to REACH cells in a step, never back, and all outlets
    start half open: a flight is under way for a while that hardly depends on the hour.
    """
    conveyor, timeless = model != "mclstm", clock_of(model) == "none"
    free, learned = FREE_START.on(protocol), bool(setting.learned)
    start: Any = {"initial_state": setting.start}
    if learned:
        start = {"initial_state": "learned", "learned_from": setting.start}
    return MCLSTM(
        inlets,
        aux,
        setting.hidden,
        redistribution="static" if conveyor else "dynamic",
        gates_see=() if timeless else ("aux", "state"),
        mask=onward(setting.hidden, REACH) if conveyor else None,
        stay=None if conveyor or WEAK_IDENTITY.on(protocol) else 0.9,
        output_bias=0.0 if conveyor else -3.0,
        allow_negative_mass=free and learned,
        members=len(sources),
        seeds=sources,
        **({} if free and learned else start),
    )


def onward(cells: int, reach: int) -> Tensor:
    """Which transfers exist on a conveyor, (K, K) bool: to the cell itself and the next ones.

    >>> onward(3, reach=1).int().tolist()
    [[1, 1, 0], [0, 1, 1], [0, 0, 1]]
    """
    ahead = torch.arange(cells) - torch.arange(cells).unsqueeze(1)
    return (ahead >= 0) & (ahead <= reach)


def free_start(setting: Setting, members: int) -> Tensor | None:
    """A learned initial state without bounds, (E, K)."""
    return torch.full((members, setting.hidden), float(setting.start or 0.0)) if setting.learned else None
