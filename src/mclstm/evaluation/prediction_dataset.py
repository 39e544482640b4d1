"""The Dataset of predictions: made from a model's output, written as predictions.nc, read back."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor, nn

from mclstm.data.series import names
from mclstm.data.units import amount_unit, parse
from mclstm.errors import DataError
from mclstm.evaluation.outlets import targets, variable
from mclstm.evaluation.prediction_store import open_predictions
from mclstm.models.output import Output
from mclstm.nn.heads import MCFCHead, SumHead

__all__ = [
    "as_netcdf", "is_mass", "nonnegative", "output_series", "prediction_dataset", "read_flows", "read_outlet",
]  # fmt: skip

Arrays = dict[str, NDArray[np.float64]]
DIMS = ("site", "time")
NONNEGATIVE = "nonnegative"  # attribute of a simulation: 1 where values below zero were set to zero


def output_series(model: nn.Module, output: Output, stores: bool, cells: bool) -> dict[str, Tensor]:
    """The series of a model's output that are kept, each (T, B, ...) float64; the stores if wanted.

    Without `cells` the storage is the total of all cells, in one column.
    """
    simulated = {"simulated": output.y[..., : len(model.targets)].double()}  # type: ignore[arg-type]
    if not stores or output.x is None or output.h is None or output.c is None:
        return simulated
    storage = output.c[1:].double()
    beside = {name: output.y[..., at].double() for name, at in free_outlets(model).items()}
    return simulated | beside | {
        "entered": output.x.double().sum(-1),
        "storage": storage if cells else storage.sum(-1, keepdim=True),
        "storage_before": output.c[:-1].double().sum(-1),
        "outflow": outflow(model, output.y, output.h).double(),
    }  # fmt: skip


def losses_of(model: nn.Module) -> str | None:
    """The name of what leaves through no target; None where the ledger has no such outlet."""
    name, head = str(model.losses), model.head
    if isinstance(head, SumHead):
        return None if bool(head.membership.any(-1).all()) else name
    return name if isinstance(head, MCFCHead) and name in head.outlets else None


def outflow(model: nn.Module, y: Tensor, h: Tensor) -> Tensor:
    """Mass by outlet, (T, B, outlets): the outlets of a conserving head and the losses, or the total.

    y: (T, B, outlets), h: (T, B, K)
    """
    if isinstance(model.head, (SumHead, MCFCHead)):
        y = y[..., : len(model.head.outlets)]  # guided cells stand behind
    if isinstance(model.head, SumHead):
        lost = [] if losses_of(model) is None else [h.sum(-1, keepdim=True) - y.sum(-1, keepdim=True)]
        return torch.cat([y, *lost], dim=-1)
    return y if isinstance(model.head, MCFCHead) else h.sum(-1, keepdim=True)


def outlet_names(model: nn.Module) -> list[str]:
    """The names that belong to the outflow's last dimension."""
    if isinstance(model.head, SumHead):
        return [*model.head.outlets, *filter(None, [losses_of(model)])]
    return list(model.head.outlets) if isinstance(model.head, MCFCHead) else ["total"]


def free_outlets(model: nn.Module) -> dict[str, int]:
    """Outlets beside the targets of a head that need not conserve, and their places in its output.

    They are estimates and may be negative. The ledger books the total outflow instead.
    """
    if isinstance(model.head, (SumHead, MCFCHead)):
        return {}
    first = len(model.targets)  # type: ignore[arg-type]
    return {name: first + at for at, name in enumerate(model.head.outlets[first:])}  # type: ignore[union-attr, index]


def prediction_dataset(
    model: nn.Module,
    values: Arrays,
    inside: xr.Dataset,
    target_units: Mapping[str, str] | None = None,
    sequence: NDArray[np.int64] | None = None,  # (site, time)
) -> xr.Dataset:
    """Arrays of a period (site, time, ...) as a Dataset; a single target has no suffix to its name.

    inside: the series of the period · target_units: units of the targets in training, by default the
    series' own; new data may hold no target · sequence: the number of the sequence that a step belongs to, -1
    for none, if each began anew; mass that flows in between sequences is then no part of the result
    """
    masses = names(inside, "mass")
    unit = str(inside[masses[0]].attrs.get("units", ""))
    result = xr.Dataset(coords={"site": inside["site"], "time": inside["time"]})
    _put_targets(result, model, values["simulated"], inside, target_units or {})
    inflow = np.sum([inside[name].to_numpy() for name in masses], axis=0)
    filled = np.sum([inside[f"{m}_filled"].to_numpy() * inside[m].to_numpy() for m in masses], axis=0)
    marks = np.any([inside[f"{name}_filled"].to_numpy() for name in masses], axis=0)
    if sequence is not None:
        about = {"long_name": "number of the sequence, -1 between sequences"}
        result["sequence"] = (DIMS, sequence, about)
        inflow, filled = (np.where(sequence >= 0, mass, np.nan) for mass in (inflow, filled))
        marks = marks & (sequence >= 0)
    result["inflow"] = (DIMS, inflow, {"units": unit})
    result["filled"] = (DIMS, filled, {"units": unit, "long_name": "inflow that was filled in"})
    result["was_filled"] = (DIMS, marks.astype(np.int8), {"long_name": "1 where inflow was filled in"})
    if "storage" in values:
        _put_ledger(result, model, values, unit)
    return result


def _put_targets(
    result: xr.Dataset,
    model: nn.Module,
    simulated: NDArray[np.float64],  # (site, time, target)
    inside: xr.Dataset,
    target_units: Mapping[str, str],
) -> None:
    outlets = tuple(model.targets)  # type: ignore[arg-type]
    for at, target in enumerate(outlets):
        suffix = target if len(outlets) > 1 else ""
        unit = str(inside[target].attrs.get("units", "")) if target in inside else ""
        about = {"units": target_units.get(target, unit), "long_name": f"simulated {target}"}
        result[variable("simulated", suffix)] = (DIMS, simulated[..., at], about)
        if target in inside:
            about = {"units": unit, "long_name": f"observed {target}"}
            result[variable("observed", suffix)] = (DIMS, inside[target].to_numpy(), about)


def _put_ledger(result: xr.Dataset, model: nn.Module, values: Arrays, unit: str) -> None:
    amount = amount_unit(unit, pd.DatetimeIndex(result["time"].to_numpy()))
    entered, outflow, storage = (values[name] for name in ("entered", "outflow", "storage"))
    stored, before = storage.sum(-1), values["storage_before"]
    # Where a sequence begins, what is stored before a step is not what the step before it left.
    residual = np.nancumsum(before + entered - outflow.sum(-1) - stored, axis=1)
    residual = np.where(np.isfinite(stored), residual, np.nan)
    several = storage.shape[-1] > 1  # else a total, which has no cell of losses
    trash = isinstance(model.head, SumHead) and not bool(model.head.membership[0].any()) and several
    scaled = int(getattr(model, "scaling", None) is not None)
    about = {"units": unit, "long_name": "inflow to the stores", "scaled": scaled}
    result["entered"] = (DIMS, entered, about)
    losses = losses_of(model)
    named = {} if losses is None else {"losses": losses}
    result["outflow"] = ((*DIMS, "outlet"), outflow, {"units": unit, **named})
    result["storage"] = ((*DIMS, "cell"), storage, {"units": amount, "trash_cell": 0 if trash else -1})
    if "turnover" in values:
        about = {"units": "d", "long_name": "mean time that mass stays in a cell before it moves on"}
        result["turnover"] = (("site", "cell"), values["turnover"], about)
    _put_ends(result, before, stored, amount)
    for name in free_outlets(model):
        about = {"units": unit, "long_name": f"outlet {name} of a free head, no part of the ledger"}
        result[name] = (DIMS, values[name], about)
    about = {"units": amount, "long_name": "missing from the ledger since then"}
    result["residual"] = (DIMS, residual, about)
    result.coords.update({"outlet": outlet_names(model), "cell": np.arange(storage.shape[-1])})


def _put_ends(
    result: xr.Dataset, before: NDArray[np.float64], stored: NDArray[np.float64], amount: str
) -> None:
    """What was stored before the first step; for sequences the sum over them, and of what they left."""
    if "sequence" not in result:
        about = {"units": amount, "long_name": "stored before the first step"}
        result["storage_before"] = ("site", _first(before), about)
        return
    number = result["sequence"].to_numpy()
    outside = np.full((len(number), 1), -1)
    begins, ends = (
        (number >= 0) & (np.diff(number, prepend=outside) != 0),
        (number >= 0) & (np.diff(number, append=outside) != 0),
    )
    about = {"units": amount, "long_name": "stored before the sequences, their sum"}
    result["storage_before"] = ("site", np.where(begins, before, 0.0).sum(1), about)
    about = {"units": amount, "long_name": "left in the stores at the ends of the sequences, their sum"}
    result["storage_left"] = ("site", np.where(ends, stored, 0.0).sum(1), about)


def _first(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The first number of every row, 0 where a site has none: (site, time) -> (site,)."""
    known = np.isfinite(values)
    return np.where(known.any(1), values[np.arange(len(values)), known.argmax(1)], 0.0)


def nonnegative(predictions: xr.Dataset, choice: bool | None = None) -> xr.Dataset:
    """max(y, 0) of every simulation y (site, time): models without stores can predict less than nothing.

    choice: None means only targets in the unit of the inflow, which are amounts of the same mass.
    The attribute `nonnegative` of a simulation says whether this was done. The ledger is not changed.

    >>> days = {"site": ["A"], "time": [0, 1]}
    >>> flow = xr.Dataset({"simulated": (("site", "time"), [[-0.5, 2.0]])}, days)
    >>> nonnegative(flow, True)["simulated"].to_numpy().tolist()
    [[0.0, 2.0]]
    """
    result = predictions.copy()
    for name in (str(name) for name in predictions.data_vars):
        if name.split("_")[0] in ("simulated", "continuous"):
            flow = predictions[name]
            raised = _is_mass(predictions, flow) if choice is None else choice
            # NaN stays NaN: a step without inputs has no prediction.
            values = np.maximum(flow.to_numpy(), 0.0) if raised else flow.to_numpy()
            result[name] = flow.copy(data=values).assign_attrs({NONNEGATIVE: int(raised)})
    return result


def _is_mass(predictions: xr.Dataset, flow: xr.DataArray) -> bool:
    if "inflow" not in predictions:
        return False
    return is_mass(*(str(item.attrs.get("units", "")) for item in (flow, predictions["inflow"])))


def is_mass(unit: str, mass_unit: str) -> bool:
    """Whether a simulation is in the unit of the inflow; not if one of them is not stated.

    >>> is_mass("mm d-1", "mm/day"), is_mass("m3/s", "mm/day"), is_mass("", "")
    (True, False, False)
    """
    return bool(unit and mass_unit) and parse(unit) == parse(mass_unit)


def as_netcdf(predictions: xr.Dataset) -> bytes:
    """A netCDF-4 file in memory; storage and outflow keep the precision of the float32 they came from."""
    encoding = {name: {"dtype": "float32"} for name in ("storage", "outflow") if name in predictions}
    return bytes(predictions.to_netcdf(engine="h5netcdf", encoding=encoding))


def read_flows(path: Path) -> xr.Dataset:
    """Simulated and observed targets and the inflow, (site, time), of a run's predictions.nc.

    The stores stay unread.
    """
    with open_predictions(path) as file:
        simulated, observed = (
            [variable(w, t) for t in targets(file) or [""]] for w in ("simulated", "observed")
        )
        wanted = [*simulated, *observed, "inflow"]
        missing = [name for name in wanted if name not in file]
        if missing:
            raise DataError(
                f"{path} has no variable {missing[0]!r}. "
                "Reports compare targets that were observed: evaluate a run with observations."
            )
        flows = file[wanted].load()
    # Files of old versions lack the attribute: they are scored as new ones are by default.
    return flows if all(NONNEGATIVE in flows[name].attrs for name in simulated) else nonnegative(flows)


def read_outlet(path: Path, name: str, site: str) -> pd.Series | None:
    """The outflow of one site through a named outlet by day, from predictions.nc; None without the outlet."""
    with open_predictions(path) as file:
        at = [str(known) for known in file["site"].to_numpy()].index(site)
        if name in file.data_vars:
            return file[name].isel(site=at).to_series()
        if "outlet" not in file.coords or name not in file["outlet"].to_numpy():
            return None
        return file["outflow"].isel(site=at).sel(outlet=name).drop_vars(["outlet", "site"]).to_series()
