"""Amounts below zero, which a model without stores can predict and no river can have, count as zero."""

import numpy as np
import xarray as xr

from mclstm.data.units import parse

__all__ = ["MARK", "nonnegative"]

MARK = "nonnegative"  # the attribute of a simulation that says whether this was done
SIMULATIONS = ("simulated", "continuous")


def nonnegative(predictions: xr.Dataset, wanted: bool | None = None) -> xr.Dataset:
    """max(y, 0) of every simulation y; its attribute `nonnegative` says whether that was done.

    wanted: None does it for targets in the unit of the inflow, for they are amounts of the same mass.
    The ledger stays as it is. The mean of members that were treated so needs no further treatment.

    >>> days = {"site": ["A"], "time": [0, 1]}
    >>> flow = xr.Dataset({"simulated": (("site", "time"), [[-0.5, 2.0]])}, days)
    >>> nonnegative(flow, True)["simulated"].to_numpy().tolist()
    [[0.0, 2.0]]
    """
    result = predictions.copy()
    for name in (str(name) for name in predictions.data_vars):
        if name.split("_")[0] not in SIMULATIONS:
            continue
        flow = predictions[name]
        done = _is_mass(predictions, flow) if wanted is None else wanted
        # NaN stays NaN: a step without inputs has no prediction.
        values = np.maximum(flow.to_numpy(), 0.0) if done else flow.to_numpy()
        result[name] = flow.copy(data=values).assign_attrs({MARK: int(done)})
    return result


def _is_mass(predictions: xr.Dataset, flow: xr.DataArray) -> bool:
    """Whether a simulation is declared in the unit of what flows in."""
    if "inflow" not in predictions:
        return False
    units = [str(item.attrs.get("units", "")) for item in (flow, predictions["inflow"])]
    return all(units) and parse(units[0]) == parse(units[1])
