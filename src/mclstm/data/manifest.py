"""The manifest of the data that a run was trained on: enough to notice a change."""

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from pandas.tseries.frequencies import to_offset

from mclstm.data.steps import grid
from mclstm.errors import CheckpointError, DataError

__all__ = [
    "digest", "manifest", "manifest_of_parts", "ranges_in", "require_same", "require_step", "step_in",
    "units_in",
]  # fmt: skip


def manifest(series: xr.Dataset, path: str) -> dict[str, Any]:
    """Sites, span and step; the role, unit, range and gaps of every variable; a digest over all values."""
    variables = {str(name): _variable(item) for name, item in series.data_vars.items()}
    return {**_extent(series, path), "variables": variables, "sha256": digest(series)}


def manifest_of_parts(outline: xr.Dataset, parts: Iterable[xr.Dataset], path: str) -> dict[str, Any]:
    """The same of a series in parts; its digest is that of the digests of the variables.

    outline: the sites and dates of all parts
    """
    variables: dict[str, dict[str, Any]] = {}
    digests: dict[str, Any] = {}
    for part in parts:
        for name, item in part.data_vars.items():
            about = _variable(item)
            variables[str(name)] = _joined(variables.get(str(name), about | {"missing": 0}), about)
            digests.setdefault(str(name), hashlib.sha256()).update(_bytes(item))
    total = _begun(outline)
    for name, one in digests.items():
        total.update(name.encode() + one.digest())
    return {**_extent(outline, path), "variables": variables, "sha256": total.hexdigest()}


def _extent(series: xr.Dataset, path: str) -> dict[str, Any]:
    time = series["time"].to_index()
    return {
        "path": path,
        "sites": series.sizes["site"],
        "steps": series.sizes["time"],
        "first": str(time[0]),
        "last": str(time[-1]),
        "step": series.attrs.get("step", ""),
    }


def _variable(item: xr.DataArray) -> dict[str, Any]:
    values = item.to_numpy().astype(np.float64)
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (None, None)
    about = {key: item.attrs.get(key, "") for key in ("role", "units", "source")}
    return {**about, "min": low, "max": high, "missing": int(values.size - known.size)}


def _joined(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """What two parts say of a variable."""
    ends = {
        name: choose([about[name] for about in (first, second) if about[name] is not None], default=None)
        for name, choose in (("min", min), ("max", max))
    }
    return first | ends | {"missing": first["missing"] + second["missing"]}


def digest(series: xr.Dataset) -> str:
    """SHA-256 over sites, dates and values."""
    total = _begun(series)
    for name, item in series.data_vars.items():
        total.update(str(name).encode())
        total.update(_bytes(item))
    return total.hexdigest()


def _begun(series: xr.Dataset) -> "hashlib._Hash":
    """The digest of sites and dates."""
    total = hashlib.sha256("\n".join(map(str, series["site"].to_numpy())).encode())
    total.update(np.ascontiguousarray(series["time"].to_numpy().astype("datetime64[ns]")).tobytes())
    return total


def _bytes(item: xr.DataArray) -> bytes:
    return np.ascontiguousarray(item.to_numpy()).tobytes()


def require_same(sha256: str, stored: dict[str, Any], path: str) -> None:
    """Refuse to continue a run with data of another digest than it began with."""
    if sha256 != stored.get("sha256"):
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
