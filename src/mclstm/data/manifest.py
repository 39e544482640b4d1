"""What data a run was made with: enough to notice that it changed."""

import hashlib
from typing import Any

import numpy as np
import xarray as xr

from mclstm.errors import DataError

__all__ = ["manifest", "require_same"]


def manifest(series: xr.Dataset, path: str) -> dict[str, Any]:
    """Sites, span, and of every variable its role, unit, range and gaps, with a digest over all values."""
    time = series["time"].to_index()
    return {
        "path": path,
        "sites": series.sizes["site"],
        "steps": series.sizes["time"],
        "first": str(time[0]),
        "last": str(time[-1]),
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
    """Refuse to go on with other data than a run began with."""
    if digest(series) != stored.get("sha256"):
        raise DataError(
            f"{path} is not the data this run began with: its values, dates or sites changed. "
            "Put the original back, or start a new run with mclstm train."
        )
