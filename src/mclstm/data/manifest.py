"""The manifest of the data that a run was trained on: enough to notice a change."""

import hashlib
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from pandas.tseries.frequencies import to_offset

from mclstm.data.steps import grid
from mclstm.errors import CheckpointError, DataError

__all__ = ["manifest", "ranges_in", "require_same", "require_step", "step_in", "units_in"]


def manifest(series: xr.Dataset, path: str) -> dict[str, Any]:
    """Sites, span and step; the role, unit, range and gaps of every variable; a digest over all values."""
    time = series["time"].to_index()
    return {
        "path": path,
        "sites": series.sizes["site"],
        "steps": series.sizes["time"],
        "first": str(time[0]),
        "last": str(time[-1]),
        "step": series.attrs.get("step", ""),
        "variables": {str(name): _variable(item) for name, item in series.data_vars.items()},
        "sha256": digest(series),
    }


def _variable(item: xr.DataArray) -> dict[str, Any]:
    values = item.to_numpy().astype(np.float64)
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (None, None)
    about = {key: item.attrs.get(key, "") for key in ("role", "units", "source")}
    return {**about, "min": low, "max": high, "missing": int(values.size - known.size)}


def digest(series: xr.Dataset) -> str:
    """SHA-256 over sites, dates and values."""
    total = hashlib.sha256()
    total.update("\n".join(map(str, series["site"].to_numpy())).encode())
    total.update(np.ascontiguousarray(series["time"].to_numpy().astype("datetime64[ns]")).tobytes())
    for name, item in series.data_vars.items():
        total.update(str(name).encode())
        total.update(np.ascontiguousarray(item.to_numpy()).tobytes())
    return total.hexdigest()


def require_same(series: xr.Dataset, stored: dict[str, Any], path: str) -> None:
    """Refuse to continue a run with other data than it began with."""
    if digest(series) != stored.get("sha256"):
        raise DataError(
            f"{path} changed since this run began: sites, dates or values. Restore it, or start a new run."
        )


def step_in(stored: dict[str, Any], where: str) -> str:
    """The step that a run was trained on; empty in manifests of older runs, which do not name it."""
    step = stored.get("step", "")
    try:
        known = step == "" or to_offset(step) is not None
    except (TypeError, ValueError):
        known = False
    if not known or not isinstance(step, str):
        raise CheckpointError(f"{where} has no step called {step!r}. Restore it, or start a new run.")
    return step


def units_in(stored: dict[str, Any], where: str) -> dict[str, str]:
    """The units that a run was trained in, by variable."""
    try:
        return {str(name): str(about["units"]) for name, about in stored["variables"].items()}
    except (AttributeError, KeyError, TypeError) as error:
        raise CheckpointError(f"{where} names no units. Restore it, or start a new run.") from error


def ranges_in(stored: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """The lowest and highest value of each variable that a run was trained on, where they are stated."""
    spans = {name: (about.get("min"), about.get("max")) for name, about in stored["variables"].items()}
    numbers = (int, float)
    return {
        name: (float(low), float(high))
        for name, (low, high) in spans.items()
        if isinstance(low, numbers) and isinstance(high, numbers)
    }


def require_step(series: xr.Dataset, step: str, path: str) -> None:
    """Refuse data whose dates do not have the step that a run was trained on."""
    time = pd.DatetimeIndex(series["time"].to_numpy()).as_unit("ns")
    if not step or len(time) < 2:
        return
    # Dates are compared, not names: three months of 31, 31 and 30 days look like steps of 31 days.
    if not np.array_equal(grid(time[0], time[-1], step).asi8, time.asi8):
        raise DataError(
            f"{path} has steps of {series.attrs.get('step') or 'another length'}, but the run was trained on "
            f"steps of {step}. Bring the data to steps of {step}, or train on data like it."
        )
