"""The one in-memory form: an xarray Dataset over (site, time), every variable with its role, unit and source.

Roles are mass, aux, static and target, and `filled` for the boolean companions `<name>_filled` of mass.
Sites may cover different spans; a step at which a site has no inputs is NaN and is not `covered`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from mclstm.data.guess import require_columns
from mclstm.data.policy import filled
from mclstm.data.steps import grid, is_regular, step_of
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
    tables = [_table(str(site), frame, roles.dynamic()) for site, frame in frames.items()]
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
    dynamic = [name for name in roles.dynamic() if all(name in table.values for table in tables)]
    values = {name: np.full((len(sites), len(time)), np.nan) for name in dynamic}
    marks = {name: np.zeros((len(sites), len(time)), dtype=bool) for name in roles.mass}
    for row, table in enumerate(tables):
        whole = _on_grid(table, step)
        columns, was_missing = filled(whole, roles, missing_mass, missing_aux)
        start = int(time.searchsorted(whole.times[0]))
        span = slice(start, start + len(whole.times))
        for name in dynamic:
            values[name][row, span] = columns[name]
        for name in roles.mass:
            marks[name][row, span] = was_missing[name]
    series = xr.Dataset(coords={"site": ("site", np.array(sites, dtype=object)), "time": ("time", time)})
    source = "; ".join(dict.fromkeys(table.file for table in tables[:3])) + (
        " ..." if len(tables) > 3 else ""
    )
    both = ("site", "time")
    for name in dynamic:
        series[name] = (both, values[name], _attrs(roles.of(name), units.get(name, ""), source))
    for name in roles.mass:
        series[f"{name}_filled"] = (both, marks[name], _attrs("filled", "", source))
    for name in roles.static:
        column = pd.to_numeric(attributes[name].reindex(sites)).to_numpy(np.float64)
        series[name] = ("site", column, _attrs("static", units.get(name, ""), "attributes"))
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
        if name not in series:
            continue  # a target that prediction goes without
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


def _attrs(role: str, units: str, source: str) -> dict[str, str]:
    return {"role": role, "units": units, "source": source}


def _table(site: str, frame: pd.DataFrame, dynamic: tuple[str, ...]) -> Table:
    require_columns(frame.columns, dynamic, f"the DataFrame of site {site}")
    if not isinstance(frame.index, pd.DatetimeIndex):
        raise DataError(
            f"the DataFrame of site {site} is not indexed by dates. Use frame.set_index(pd.to_datetime(...))."
        )
    return Table(
        site,
        "DataFrame",
        frame.index.as_unit("ns"),
        {name: frame[name].to_numpy(np.float64) for name in dynamic},
    )


def _axis(tables: list[Table]) -> tuple[pd.DatetimeIndex, str | None]:
    """The time axis that holds every site's dates, and its step."""
    if not tables or not all(len(table.times) for table in tables):
        raise DataError("there is no row of data. Check the path, the sites and the dates.")
    union = tables[0].times.unique()
    for table in tables[1:]:
        if not table.times.equals(union):
            union = pd.DatetimeIndex(union.union(table.times))
    union = union.sort_values()
    step = step_of(union)
    if step is None and len(union) > 1:
        raise DataError("the sites' dates do not share a regular step. Bring all sites to the same step.")
    axis = union if step is None else grid(union[0], union[-1], step)
    if not len(axis):
        raise DataError(f"the dates run from {union[0]} to {union[-1]} in steps of {step}. Check the years.")
    return axis, step


def _on_grid(table: Table, step: str | None) -> Table:
    """Sorted, without holes in the dates; what was not there is NaN."""
    if step is None or is_regular(table.times, step):
        return table
    if not table.times.is_unique:
        twice = table.times[table.times.duplicated()][0]
        raise DataError(f"{table.file}, site {table.site}: {twice} appears twice. Keep one row a date.")
    full = grid(table.times.min(), table.times.max(), step)
    places = full.get_indexer(table.times)
    values = {}
    for name, column in table.values.items():
        values[name] = np.full(len(full), np.nan)
        values[name][places] = column
    return table._replace(times=full, values=values)
