"""What a process model consists of, and the loop over days that runs all basins and parameter sets at once.

Letters: T days, N basins, C parameter sets per basin. Forcing is (T, N). Parameters are (N,) or (C, N).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_leaves, tree_structure, tree_unflatten
from torch.utils.checkpoint import checkpoint

__all__ = [
    "Bound", "Forcing", "Parameters", "ProcessModel", "ProcessRun", "Water", "convolve", "flow", "run",
    "season_of", "snow_share",
]  # fmt: skip

Parameters = dict[str, Tensor]  # each (N,) or (C, N), in its unit
State = Any  # a tuple of tensors, each (N,) or (C, N), or a tuple of such tuples


class Bound(NamedTuple):
    """The range of a parameter; `log` searches it on the logarithmic scale."""

    low: float
    high: float
    log: bool = False


class Forcing(NamedTuple):
    """The weather of N basins on T days."""

    precipitation: Tensor  # (T, N) mm/day
    temperature: Tensor  # (T, N) degC
    pet: Tensor  # (T, N) potential evapotranspiration, mm/day
    season: Tensor  # (T, N) or (T, 1), from -1 at midwinter to 1 at midsummer


class Water(NamedTuple):
    """What moved on a day, mm: each (N,) or (C, N)."""

    entered: Tensor  # precipitation, corrected for what the gauge does not catch
    runoff: Tensor  # on its way to the outlet
    evaporated: Tensor


class ProcessRun(NamedTuple):
    """entered = flow + evaporated + change of all stores, on every day, up to rounding."""

    flow: Tensor  # (T, ..., N) mm/day at the outlet
    entered: Tensor  # (T, ..., N)
    evaporated: Tensor  # (T, ..., N)
    stores: dict[str, Tensor]  # each (T + 1, ..., N) mm over the basin; the first is the initial state


class ProcessModel(NamedTuple):
    """A conceptual model as pure functions of its parameters, each of which has a name and a range."""

    bounds: dict[str, Bound]
    prepare: Callable[[Parameters, Forcing], tuple[Parameters, tuple[Tensor, ...]]]
    """Parameters with what follows from them alone, and the weather of all days: tensors (T, N)."""
    start: Callable[[Parameters], State]
    step: Callable[..., tuple[State, Water]]
    """(parameters, state, *weather of the day) -> state after the day, what moved"""
    stores: Callable[[Parameters, State], dict[str, Tensor]]
    hydrograph: Callable[[Parameters], Tensor]
    """(L, ..., N) share of a day's runoff that reaches the outlet on each of the next L days; sums to one."""


def run(model: ProcessModel, parameters: Parameters, forcing: Forcing) -> ProcessRun:
    """Run a model through all days and keep everything."""
    p, weather = model.prepare(parameters, forcing)
    state = model.start(p)
    days: list[Water] = []
    stores = {name: [value] for name, value in model.stores(p, state).items()}
    for day in zip(*weather, strict=True):
        state, water = model.step(p, state, *day)
        days.append(water)
        for name, value in model.stores(p, state).items():
            stores[name].append(value)
    entered, runoff, evaporated = (torch.stack(column) for column in zip(*days, strict=True))
    shares = model.hydrograph(p)
    # The channel holds of each day's runoff what comes later.
    channel = convolve(runoff, 1 - shares.cumsum(0))
    kept = {
        name: torch.stack([value.expand_as(values[-1]) for value in values])
        for name, values in stores.items()
    }
    kept["channel"] = torch.cat([torch.zeros_like(channel[:1]), channel])
    return ProcessRun(convolve(runoff, shares), entered, evaporated, kept)


def flow(
    model: ProcessModel, parameters: Parameters, forcing: Forcing, *, at_once: int | None = None
) -> Tensor:
    """Only the flow, (T, ..., N): what calibration needs.

    at_once: so many days are in memory for a gradient, which needs `backward` then. They run a second time.
    """
    p, weather = model.prepare(parameters, forcing)
    state, parts = model.start(p), []
    for stretch in zip(*(torch.split(column, at_once or len(column)) for column in weather), strict=True):
        state, runoff = _after(model, p, state, stretch, twice=at_once is not None)
        parts.append(runoff)
    return convolve(torch.cat(parts), model.hydrograph(p))


def _after(
    model: ProcessModel, p: Parameters, state: State, weather: tuple[Tensor, ...], twice: bool
) -> tuple[State, Tensor]:
    """The state after a stretch, and the runoff of its days, (T, ..., N)."""
    # A checkpoint passes gradients to tensors in a row, not to those in tuples and dictionaries.
    leaves, shape = tree_flatten((p, state, weather))

    def stretch(*values: Tensor) -> tuple[Tensor, ...]:
        (p, now, weather), runoff = tree_unflatten(values, shape), []
        for day in zip(*weather, strict=True):
            now, water = model.step(p, now, *day)
            runoff.append(water.runoff)
        return torch.stack(runoff), *tree_leaves(now)

    runoff, *last = checkpoint(stretch, *leaves, use_reentrant=True) if twice else stretch(*leaves)
    return tree_unflatten(last, tree_structure(state)), runoff


def convolve(runoff: Tensor, shares: Tensor) -> Tensor:
    """q_t = sum over k of u_k r_{t-k}: what reaches the outlet of the runoff of this and earlier days.

    runoff: (T, ..., N) · shares: u (L, ..., N) -> (T, ..., N)

    >>> convolve(torch.tensor([[4.0], [0.0], [8.0]]), torch.tensor([[0.75], [0.25]])).flatten().tolist()
    [3.0, 1.0, 6.0]
    """
    days, before = len(runoff), len(shares) - 1
    padded = torch.cat([runoff.new_zeros(before, *runoff.shape[1:]), runoff])
    total = runoff * shares[0]
    for later in range(1, before + 1):
        total = torch.addcmul(total, padded[before - later : before - later + days], shares[later])
    return total


def snow_share(temperature: Tensor, middle: Tensor, span: Tensor) -> Tensor:
    """The share of precipitation that falls as snow: 1/2 at `middle`, from 1 to 0 over `span` degrees.

    temperature: (N,) · middle, span: (..., N) -> (..., N). A small span is the threshold of the literature;
    a wide one gives the threshold a gradient.
    """
    return ((middle - temperature) / span + 0.5).clamp(0.0, 1.0)


def season_of(day: Tensor) -> Tensor:
    """From -1 at midwinter to 1 at midsummer north of the equator, 0 on 21 March; day of the year, any shape.

    >>> season_of(torch.tensor([80.0, 171.5])).round(decimals=2).abs().tolist()
    [0.0, 1.0]
    """
    return torch.sin(2 * torch.pi * (day - 80) / 366)
