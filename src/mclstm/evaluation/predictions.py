"""What is kept of a simulation, with names, coordinates and units."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor, nn

from mclstm.data.amounts import amount_unit
from mclstm.data.series import names
from mclstm.models.output import Output
from mclstm.nn.heads import MCFCHead, SumHead

__all__ = ["as_netcdf", "dataset", "measured"]

Arrays = dict[str, NDArray[np.float64]]
DIMS = ("site", "time")


def measured(model: nn.Module, output: Output, stores: bool = True, cells: bool = True) -> dict[str, Tensor]:
    """What is kept of one run, each (T, B, ...) float64; the stores only if they are wanted.

    Without `cells` the storage is the total of all cells, as if there were one.
    """
    kept = {"simulated": output.y[..., : len(model.targets)].double()}  # type: ignore[arg-type]
    if not stores or output.x is None or output.h is None or output.c is None:
        return kept
    stored = output.c[1:].double()
    beside = {name: output.y[..., at].double() for name, at in free_outlets(model).items()}
    return kept | beside | {
        "entered": output.x.double().sum(-1),
        "storage": stored if cells else stored.sum(-1, keepdim=True),
        "stored_before": output.c[:-1].double().sum(-1),
        "outflow": outflow(model, output.y, output.h).double(),
    }  # fmt: skip


def outflow(model: nn.Module, y: Tensor, h: Tensor) -> Tensor:
    """Mass by outlet, (T, B, outlets): those of a conserving head and what none counts, or the total."""
    if isinstance(model.head, SumHead):
        return torch.cat([y, h.sum(-1, keepdim=True) - y.sum(-1, keepdim=True)], dim=-1)
    return y if isinstance(model.head, MCFCHead) else h.sum(-1, keepdim=True)


def outlet_names(model: nn.Module) -> list[str]:
    """The names that belong to the outflow's last dimension."""
    if isinstance(model.head, SumHead):
        return [*model.head.outlets, "trash"]
    return list(model.head.outlets) if isinstance(model.head, MCFCHead) else ["total"]


def free_outlets(model: nn.Module) -> dict[str, int]:
    """Outlets beside the targets of a head that need not conserve, and their places in its output.

    They are estimates: the ledger books the total outflow instead, and they may even be negative.
    """
    if isinstance(model.head, (SumHead, MCFCHead)):
        return {}
    first = len(model.targets)  # type: ignore[arg-type]
    return {name: first + at for at, name in enumerate(model.head.outlets[first:])}  # type: ignore[union-attr, index]


def dataset(
    model: nn.Module, values: Arrays, inside: xr.Dataset, target_units: Mapping[str, str] | None = None
) -> xr.Dataset:
    """Arrays of the period (site, time, ...) as a Dataset; a single target has no suffix to its name.

    target_units: what the model was trained in, where the period may hold no target; by default its own
    """
    masses = names(inside, "mass")
    unit = str(inside[masses[0]].attrs.get("units", ""))
    result = xr.Dataset(coords={"site": inside["site"], "time": inside["time"]})
    _put_targets(result, model, values["simulated"], inside, target_units or {})
    inflow = np.sum([inside[name].to_numpy() for name in masses], axis=0)
    filled = np.sum([inside[f"{m}_filled"].to_numpy() * inside[m].to_numpy() for m in masses], axis=0)
    result["inflow"] = (DIMS, inflow, {"units": unit})
    marks = np.any([inside[f"{name}_filled"].to_numpy() for name in masses], axis=0)
    result["filled"] = (DIMS, filled, {"units": unit, "long_name": "inflow that was filled in"})
    result["was_filled"] = (DIMS, marks.astype(np.int8), {"long_name": "1 where inflow was filled in"})
    return _with_stores(result, model, values, unit) if "storage" in values else result


def as_netcdf(predictions: xr.Dataset) -> bytes:
    """A netCDF-4 file in memory; simulated numbers are as precise as the float32 they came from."""
    packed = {str(name): {"dtype": "float32"} for name in ("storage", "outflow") if name in predictions}
    return bytes(predictions.to_netcdf(engine="h5netcdf", encoding=packed))


def _put_targets(
    result: xr.Dataset,
    model: nn.Module,
    simulated: NDArray[np.float64],
    inside: xr.Dataset,
    trained: Mapping[str, str],
) -> None:
    targets = tuple(model.targets)  # type: ignore[arg-type]
    for at, target in enumerate(targets):
        suffix = "" if len(targets) == 1 else f"_{target}"
        own = str(inside[target].attrs.get("units", "")) if target in inside else ""
        about = {"units": trained.get(target, own), "long_name": f"simulated {target}"}
        result[f"simulated{suffix}"] = (DIMS, simulated[..., at], about)
        if target in inside:
            about = {"units": own, "long_name": f"observed {target}"}
            result[f"observed{suffix}"] = (DIMS, inside[target].to_numpy(), about)


def _with_stores(result: xr.Dataset, model: nn.Module, values: Arrays, unit: str) -> xr.Dataset:
    amount = amount_unit(unit, pd.DatetimeIndex(result["time"].to_numpy()))
    whole = values["storage"].shape[-1] == 1  # of several cells, if there were any
    trash = isinstance(model.head, SumHead) and not bool(model.head.membership[0].any()) and not whole
    before = _first(values["stored_before"])
    stored = values["storage"].sum(-1)
    books = (
        before[:, np.newaxis] + np.nancumsum(values["entered"] - values["outflow"].sum(-1), axis=1) - stored
    )
    scaled = int(getattr(model, "scaling", None) is not None)
    about = {"units": unit, "long_name": "inflow to the stores", "scaled": scaled}
    result["entered"] = (DIMS, values["entered"], about)
    result["outflow"] = ((*DIMS, "outlet"), values["outflow"], {"units": unit})
    result["storage"] = (
        (*DIMS, "cell"),
        values["storage"],
        {"units": amount, "trash_cell": 0 if trash else -1},
    )
    result["storage_before"] = (
        "site",
        before,
        {"units": amount, "long_name": "stored before the first step"},
    )
    for name in free_outlets(model):
        about = {"units": unit, "long_name": f"outlet {name} of a free head, no part of the ledger"}
        result[name] = (DIMS, values[name], about)
    result["residual"] = (DIMS, books, {"units": amount, "long_name": "missing from the ledger since then"})
    return result.assign_coords(outlet=outlet_names(model), cell=np.arange(result.sizes["cell"]))


def _first(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The first number of every row, 0 where a site has none: (site, time) -> (site,)."""
    known = np.isfinite(values)
    found = values[np.arange(len(values)), known.argmax(1)]
    return np.where(known.any(1), found, 0.0)
