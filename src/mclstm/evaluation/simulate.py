"""A model run through a period, continuously and site by site, as an xarray Dataset with units."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor, nn

from mclstm.data.series import covered, times
from mclstm.data.windows import Tensors, span, spans
from mclstm.errors import DataError
from mclstm.evaluation.prediction_dataset import output_series, prediction_dataset
from mclstm.evaluation.turnover import throughput, turnover_days
from mclstm.models.output import Output, State, device_of

__all__ = ["Simulation", "first_state", "require_periods", "simulate", "site_batches"]

SITES = 64  # at most so many run together, to bound the memory; with state_norm="batch" it changes the result


PASSED = "passed"  # what cells held and passed on, until the last batch has run


class Simulation(NamedTuple):
    """Predictions of a period, and the state of every site after it."""

    predictions: xr.Dataset  # (site, time)
    state: State  # each (sites, ...)


class SiteBatch(NamedTuple):
    """Sites that have inputs at the same steps, run together."""

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
    target_units: Mapping[str, str] | None = None,
    stores: bool = True,
    cells: bool = True,
) -> Simulation:
    """Run every site from `warmup` steps before the period on, with the stores of `state` or the model's own.

    Without `stores` only the targets are kept: with many sites, the cells take most of the memory.
    Without `cells` the storage of a site is one number, the total.
    Steps where a site has no inputs are NaN; a site without any inputs keeps its state.
    """
    _require_covered(data.covered, series, period, "the period")
    start = max(0, period[0] - warmup)
    collected: dict[str, NDArray[np.float64]] = {}
    final: State = {} if state is None else {name: value.clone() for name, value in state.items()}
    model.train(False)
    for batch in site_batches(data.covered, start, period[1]):
        rows = torch.from_numpy(batch.sites)
        before = None if state is None else {name: value[rows] for name, value in state.items()}
        output = _forward(model, data, rows, slice(batch.first, batch.after), before)
        for name, values in output_series(model, output, stores, cells).items():
            shape = (len(data.x), period[1] - start, *values.shape[2:])
            into = collected.setdefault(name, np.full(shape, np.nan))
            into[batch.sites, batch.first - start : batch.after - start] = (
                values.transpose(0, 1).cpu().numpy()
            )
        passed = throughput(model, output, data.static[rows]) if stores and cells else None
        if passed is not None:
            into = collected.setdefault(PASSED, np.zeros((len(data.x), *passed.shape[1:])))
            into[batch.sites] = passed
        for name, value in output.state.items():
            if name not in final:
                final[name] = first_state(name, output, len(data.x))
            final[name][rows] = value.cpu()
    passages = collected.pop(PASSED, None)
    arrays = {name: array[:, period[0] - start :] for name, array in collected.items()}
    inside = series.isel(time=slice(*period))
    if passages is not None:
        arrays["turnover"] = turnover_days(passages, times(series))
    return Simulation(prediction_dataset(model, arrays, inside, target_units), final)


def require_periods(
    parts: Iterable[xr.Dataset], outline: xr.Dataset, periods: Mapping[str, tuple[str, str] | None]
) -> None:
    """Refuse a period (first date, last date) in which no site has its inputs; periods by name.

    parts: of a series, whose dates `outline` holds
    """
    inside = np.stack([covered(part).to_numpy().any(0) for part in parts])  # (parts, time)
    for name, period in periods.items():
        if period is not None:
            _require_covered(inside, outline, span(outline, period, name), f"periods.{name}")


def _require_covered(
    inside: NDArray[np.bool_], series: xr.Dataset, period: tuple[int, int], what: str
) -> None:
    if not inside[:, slice(*period)].any():
        first, last = (series["time"].to_index()[at] for at in (period[0], period[1] - 1))
        raise DataError(
            f"no site has all its inputs at any step of {what}, {first} to {last}. "
            "Choose dates that the data covers, or add the missing inputs."
        )


def first_state(name: str, output: Output, sites: int) -> Tensor:
    """The state (sites, ...) before the first step of a model that began without one; cells may be full."""
    value = output.state[name]
    if name == "cells" and output.c is not None:
        return output.c[0, :1].cpu().expand(sites, -1).clone()
    return value.cpu().new_zeros(sites, *value.shape[1:])


def site_batches(covered: NDArray[np.bool_], start: int, after: int) -> Iterator[SiteBatch]:
    """Sites grouped by the steps they cover, at most SITES per batch; covered (sites, time)."""
    for first, last, sites in spans(covered[:, start:after]):
        for at in range(0, len(sites), SITES):
            yield SiteBatch(sites[at : at + SITES], start + first, start + last)


@torch.no_grad()
def _forward(model: nn.Module, data: Tensors, rows: Tensor, steps: slice, before: State | None) -> Output:
    place = device_of(model)
    x, a = (value[rows, steps].transpose(0, 1).contiguous().to(place) for value in (data.x, data.a))
    before = None if before is None else {name: value.to(place) for name, value in before.items()}
    output: Output = model(x, a, data.static[rows].to(place), before)
    return output
