"""The one in-memory form: an xarray Dataset over (site, time), every variable with its role, unit and source.

Roles are mass, aux, static and target, and `filled` for the boolean companions `<name>_filled` of mass.
Sites may cover different spans; a step at which a site has no inputs is NaN and is not `covered`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from mclstm.data.policy import filled
from mclstm.data.steps import grid, step_of
from mclstm.data.tables import Roles, Table
from mclstm.data.units import convert
from mclstm.errors import DataError

__all__ = ["ROLES", "areas", "build", "covered", "from_frames", "in_units", "names", "require_series"]

ROLES = ("mass", "aux", "static", "target", "filled")


def from_frames(
    frames: Mapping[str, pd.DataFrame],
    roles: Roles,
    *,
    units: Mapping[str, str] | None = None,
    static: pd.DataFrame | None = None,
    missing_mass: str = "error",
    missing_aux: str = "error",
) -> xr.Dataset:
    """A series from one DataFrame a site, indexed by date.

    >>> dates = pd.date_range("2001-01-01", periods=3)
    >>> frame = pd.DataFrame({"rain": [0.0, 1.0, 2.0]}, index=dates)
    >>> series = from_frames({"A": frame}, Roles(mass=("rain",)))
    >>> dict(series.sizes), series.rain.attrs["role"], series.attrs["step"]
    ({'site': 1, 'time': 3}, 'mass', 'D')
    """
    tables = [Table(str(site), "DataFrame", frame) for site, frame in frames.items()]
    attributes = pd.DataFrame() if static is None else static
    return build(tables, roles, dict(units or {}), attributes, missing_mass, missing_aux)


def build(
    tables: list[Table],
    roles: Roles,
    units: Mapping[str, str],
    attributes: pd.DataFrame,
    missing_mass: str = "error",
    missing_aux: str = "error",
) -> xr.Dataset:
    """Join checked tables on one time axis; the door for data that passed `inspect`."""
    time, step = _axis(tables)
    sites = [table.site for table in tables]
    dynamic = [name for name in roles.dynamic() if all(name in table.frame.columns for table in tables)]
    values = {name: np.full((len(sites), len(time)), np.nan) for name in dynamic}
    marks = {name: np.zeros((len(sites), len(time)), dtype=bool) for name in roles.mass}
    for row, table in enumerate(tables):
        frame = _on_grid(table.frame, step)
        frame, was_missing = filled(
            frame, roles, missing_mass, missing_aux, f"{table.file}, site {table.site}"
        )
        start = int(time.searchsorted(frame.index[0]))
        for name in dynamic:
            values[name][row, start : start + len(frame)] = frame[name].to_numpy()
        for name in roles.mass:
            marks[name][row, start : start + len(frame)] = was_missing[name].to_numpy()
    series = xr.Dataset(coords={"site": ("site", np.array(sites, dtype=object)), "time": ("time", time)})
    sources = "; ".join(dict.fromkeys(table.file for table in tables[:3])) + (
        " ..." if len(tables) > 3 else ""
    )
    for name in dynamic:
        attrs = {"role": roles.of(name), "units": units.get(name, ""), "source": sources}
        series[name] = (("site", "time"), values[name], attrs)
    for name in roles.mass:
        series[f"{name}_filled"] = (
            ("site", "time"),
            marks[name],
            {"role": "filled", "units": "", "source": sources},
        )
    for name in roles.static:
        column = pd.to_numeric(attributes[name].reindex(sites)).to_numpy(np.float64)
        series[name] = (
            "site",
            column,
            {"role": "static", "units": units.get(name, ""), "source": "attributes"},
        )
    series.attrs["step"] = step or ""
    return require_series(series)


def require_series(series: xr.Dataset) -> xr.Dataset:
    """Refuse a Dataset that is not in the form this module describes; returns it."""
    if not {"site", "time"} <= set(series.dims):
        raise DataError(
            f"a series needs the dimensions site and time, this one has {sorted(map(str, series.dims))}."
        )
    time = pd.DatetimeIndex(series["time"].to_numpy())
    if not (time.is_monotonic_increasing and time.is_unique):
        raise DataError("the dates of a series must rise and be unique. Sort them and remove the duplicates.")
    if len(time) > 2 and step_of(time) is None:
        raise DataError("the dates of a series must have a regular step. Insert the missing dates.")
    if len(set(series["site"].to_numpy())) != series.sizes["site"]:
        raise DataError("a site appears more than once in the series. Give every site its own name.")
    for name, variable in series.data_vars.items():
        _require_variable(str(name), variable)
    if not names(series, "mass"):
        raise DataError("a series needs at least one mass variable. Declare one with mass=[...].")
    return series


def names(series: xr.Dataset, role: str) -> list[str]:
    """The variables that have a role, in order."""
    return [str(name) for name, variable in series.data_vars.items() if variable.attrs.get("role") == role]


def covered(series: xr.Dataset) -> xr.DataArray:
    """Where a site has all its inputs, (site, time) bool: only there can windows lie."""
    present = [np.isfinite(series[name].to_numpy()) for name in names(series, "mass") + names(series, "aux")]
    return xr.DataArray(np.logical_and.reduce(present), dims=("site", "time"), coords=series.coords)


def areas(
    series: xr.Dataset, area_km2: float | str | Mapping[str, float] | None, attributes: pd.DataFrame
) -> Any:
    """The area of each site in km2, (site, 1), from a number, a mapping, or the name of an attribute."""
    if area_km2 is None:
        return None
    sites = list(series["site"].to_numpy())
    if isinstance(area_km2, str):
        if area_km2 not in attributes.columns:
            raise DataError(
                f"there is no attribute {area_km2!r} with the area. Give the area in km2 or an attribute."
            )
        found = pd.to_numeric(attributes[area_km2].reindex(sites), errors="coerce").to_numpy(np.float64)
    elif isinstance(area_km2, Mapping):
        found = np.array([area_km2.get(site, np.nan) for site in sites], dtype=np.float64)
    else:
        found = np.full(len(sites), float(area_km2))
    bad = ~(found > 0) | ~np.isfinite(found)
    if bad.any():
        raise DataError(
            f"the area of site {sites[int(np.argmax(bad))]} is not a positive number of km2. Correct it."
        )
    return found[:, np.newaxis]


def in_units(series: xr.Dataset, wanted: Mapping[str, str], area_km2: Any) -> xr.Dataset:
    """The same series with some variables in other units: the only scaling mass ever sees."""
    for name, unit in wanted.items():
        item = series[name]
        stated = item.attrs["units"]
        if not stated:
            raise DataError(
                f"{name} is to be converted to {unit}, but its unit is not declared. Declare it in units."
            )
        values = convert(item.to_numpy(), stated, unit, area_km2=area_km2, role=item.attrs["role"])
        series[name] = (item.dims, values, item.attrs | {"units": unit})
    return series


def _require_variable(name: str, variable: xr.DataArray) -> None:
    role = variable.attrs.get("role")
    if role not in ROLES:
        raise DataError(f"the variable {name!r} has the role {role!r}. Choose one of {', '.join(ROLES)}.")
    dims = ("site",) if role == "static" else ("site", "time")
    if variable.dims != dims:
        raise DataError(
            f"the variable {name!r} ({role}) has the dimensions {variable.dims}. Arrange it as {dims}."
        )
    kind = np.dtype(bool) if role == "filled" else np.dtype(np.float64)
    if variable.dtype != kind:
        raise DataError(f"the variable {name!r} ({role}) is {variable.dtype}. Convert it to {kind}.")


def _axis(tables: list[Table]) -> tuple[pd.DatetimeIndex, str | None]:
    """The time axis that holds every site's dates, and its step."""
    if not tables or not all(len(table.frame) for table in tables):
        raise DataError("there is no row of data. Check the path, the sites and the dates.")
    union = tables[0].frame.index.unique()
    for table in tables[1:]:
        if not table.frame.index.equals(tables[0].frame.index):
            union = union.union(table.frame.index)
    union = pd.DatetimeIndex(union).sort_values().as_unit("ns")
    step = step_of(union)
    if step is None and len(union) > 1:
        raise DataError("the sites' dates do not share a regular step. Bring all sites to the same step.")
    axis = union if step is None else grid(union[0], union[-1], step)
    if not len(axis):
        raise DataError(
            f"the dates run from {union[0].date()} to {union[-1].date()} in steps of {step}. Check the years."
        )
    return axis, step


def _on_grid(frame: pd.DataFrame, step: str | None) -> pd.DataFrame:
    """Sorted, without holes in the dates; what was not there is NaN."""
    index = pd.DatetimeIndex(frame.index).as_unit("ns")
    frame = frame.set_axis(index, axis=0)
    if not index.is_monotonic_increasing:
        frame = frame.sort_index()
    if not index.is_unique:
        raise DataError(f"a date appears twice ({index[index.duplicated()][0].date()}). Keep one row a date.")
    if step is None:
        return frame
    full = grid(frame.index[0], frame.index[-1], step)
    return frame if len(full) == len(frame) else frame.reindex(full)
