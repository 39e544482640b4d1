"""A model run through a period, continuously and site by site, as an xarray Dataset with units."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor, nn

from mclstm.data.series import names
from mclstm.data.windows import Tensors
from mclstm.models.output import Output, State
from mclstm.nn.heads import MCFCHead, SumHead
from mclstm.ops.ledger import ledger

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

    The ledger starts with the run. Steps at which a site has no inputs stay NaN.
    """
    start = period[0] if state is not None else max(0, period[0] - warmup)
    collected: dict[str, NDArray[np.float64]] = {}
    final: State = {}
    model.eval()
    for run in _runs(data.covered, start, period[1]):
        rows = torch.from_numpy(run.sites)
        before = None if state is None else {name: value[rows] for name, value in state.items()}
        output = _forward(model, data, rows, run, before)
        for name, values in _measured(model, data, output, rows, run).items():
            shape = (len(data.x), period[1] - start, *values.shape[2:])
            into = collected.setdefault(name, np.full(shape, np.nan))
            into[run.sites, run.first - start : run.after - start] = values.transpose(0, 1).numpy()
        for name, value in output.state.items():
            final.setdefault(name, value.new_zeros(len(data.x), *value.shape[1:]))[rows] = value
    inside = {name: values[:, period[0] - start :] for name, values in collected.items()}
    return Simulation(_dataset(model, inside, series, period), final)


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


def _measured(model: nn.Module, data: Tensors, output: Output, rows: Tensor, run: Run) -> dict[str, Tensor]:
    """What is kept of a run, each (T, B, ...)."""
    targets = data.y.shape[-1] or output.y.shape[-1]
    inflow = data.x[rows, run.first : run.after].transpose(0, 1).sum(-1)
    kept = {"simulated": output.y[..., :targets].double(), "inflow": inflow.double()}
    if output.x is None or output.h is None or output.c is None:
        return kept
    books = ledger(output.x, output.h, output.c)
    entered = output.x.double().sum(-1)
    return kept | {
        "entered": entered,
        "storage": output.c[1:].double(),
        "stored_before": output.c[:-1].double().sum(-1),
        "outflow": _outflow(model, output.y, output.h).double(),
        "residual": books.residual,
    }


def _outflow(model: nn.Module, y: Tensor, h: Tensor) -> Tensor:
    """Mass by outlet, (T, B, outlets): those of a conserving head and what none counts, or the total."""
    if isinstance(model.head, SumHead):
        return torch.cat([y, h.sum(-1, keepdim=True) - y.sum(-1, keepdim=True)], dim=-1)
    return y if isinstance(model.head, MCFCHead) else h.sum(-1, keepdim=True)


def outlet_names(model: nn.Module) -> list[str]:
    """The names that belong to the outflow's last dimension."""
    if isinstance(model.head, SumHead):
        return [*model.head.outlets, "trash"]
    return list(model.head.outlets) if isinstance(model.head, MCFCHead) else ["total"]


def _dataset(
    model: nn.Module, values: dict[str, NDArray[np.float64]], series: xr.Dataset, period: tuple[int, int]
) -> xr.Dataset:
    """Arrays with names, coordinates and units; a single target has no dimension of its own."""
    dims = ("site", "time")
    inside = series.isel(time=slice(*period))
    mass = names(series, "mass")[0]
    unit = str(series[mass].attrs.get("units", ""))
    result = xr.Dataset(coords={"site": inside["site"], "time": inside["time"]})
    targets = names(series, "target")
    for at, target in enumerate(targets or list(model.outlets)):  # type: ignore[arg-type]
        suffix = "" if len(targets or [0]) == 1 else f"_{target}"
        units = str(series[target].attrs.get("units", "")) if targets else unit
        about = {"units": units, "long_name": f"simulated {target}"}
        result[f"simulated{suffix}"] = (dims, values["simulated"][..., at], about)
        if targets:
            observed = inside[target].to_numpy()
            result[f"observed{suffix}"] = (
                dims,
                observed,
                {"units": units, "long_name": f"observed {target}"},
            )
    extra = {"storage": "cell", "outflow": "outlet", "inflow": "", "entered": "", "residual": ""}
    for name, dim in extra.items():
        if name in values:
            result[name] = ((*dims, dim) if dim else dims, values[name], {"units": unit})
    if "outflow" in result:
        before = values["stored_before"][:, 0]
        result["storage_before"] = (
            "site",
            before,
            {"units": unit, "long_name": "stored before the first step"},
        )
        result = result.assign_coords(outlet=outlet_names(model), cell=np.arange(result.sizes["cell"]))
    marks = [inside[f"{name}_filled"].to_numpy() * inside[name].to_numpy() for name in names(series, "mass")]
    result["filled"] = (
        dims,
        np.sum(marks, axis=0),
        {"units": unit, "long_name": "inflow that was filled in"},
    )
    return result
