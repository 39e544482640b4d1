"""A model run through a period, continuously and site by site, as an xarray Dataset with units."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor, nn

from mclstm.data.windows import Tensors
from mclstm.evaluation.predictions import dataset, measured
from mclstm.models.output import Output, State

__all__ = ["Simulation", "simulate"]

SITES = 64  # run side by side: bounds the memory, not the result


class Simulation(NamedTuple):
    """Predictions of a period, and the state of every site after it."""

    predictions: xr.Dataset  # (site, time)
    state: State  # each (sites, ...)


class Run(NamedTuple):
    """Sites that cover the same steps, run together."""

    sites: NDArray[np.int64]
    first: int
    after: int


def simulate(
    model: nn.Module,
    data: Tensors,
    series: xr.Dataset,
    period: tuple[int, int],
    warmup: int,
    state: State | None = None,
) -> Simulation:
    """Run every site from `warmup` steps before the period, or from a given state at its first step.

    Steps at which a site has no inputs stay NaN.
    """
    start = period[0] if state is not None else max(0, period[0] - warmup)
    collected: dict[str, NDArray[np.float64]] = {}
    final: State = {}
    model.eval()
    for run in _runs(data.covered, start, period[1]):
        rows = torch.from_numpy(run.sites)
        before = None if state is None else {name: value[rows] for name, value in state.items()}
        output = _forward(model, data, rows, run, before)
        for name, values in measured(model, output).items():
            shape = (len(data.x), period[1] - start, *values.shape[2:])
            into = collected.setdefault(name, np.full(shape, np.nan))
            into[run.sites, run.first - start : run.after - start] = values.transpose(0, 1).numpy()
        for name, value in output.state.items():
            final.setdefault(name, value.new_zeros(len(data.x), *value.shape[1:]))[rows] = value
    inside = {name: values[:, period[0] - start :] for name, values in collected.items()}
    return Simulation(dataset(model, inside, series.isel(time=slice(*period))), final)


def _runs(covered: NDArray[np.bool_], start: int, after: int) -> Iterator[Run]:
    """Sites grouped by the steps they cover, at most SITES together."""
    inside = covered[:, start:after]
    spans: dict[tuple[int, int], list[int]] = {}
    for site in np.flatnonzero(inside.any(1)):
        steps = np.flatnonzero(inside[site])
        spans.setdefault((start + int(steps[0]), start + int(steps[-1]) + 1), []).append(int(site))
    for (first, last), members in spans.items():
        for at in range(0, len(members), SITES):
            yield Run(np.array(members[at : at + SITES]), first, last)


@torch.no_grad()
def _forward(model: nn.Module, data: Tensors, rows: Tensor, run: Run, before: State | None) -> Output:
    steps = slice(run.first, run.after)
    x, a = (value[rows, steps].transpose(0, 1).contiguous() for value in (data.x, data.a))
    output: Output = model(x, a, data.static[rows], before)
    return output
