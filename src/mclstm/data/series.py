"""The one in-memory form: an xarray Dataset over (site, time), every variable with its role, unit and source.

Roles are mass, aux, static and target, and `filled` for the boolean companions `<name>_filled` of mass.
Sites may cover different spans; a step at which a site has no inputs is NaN and is not `covered`.
Missing inputs are an error unless a policy is declared; the ledger counts filled mass apart. The policy
`skip` leaves gaps: only whole sequences may be cut from such a series.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from mclstm.data.columns import day
from mclstm.data.site_tables import Roles, Table, all_times
from mclstm.data.steps import grid, is_regular, step_of
from mclstm.errors import ConfigError, DataError

__all__ = [
    "ROLES", "Policy", "build", "covered", "joint_axis", "names", "require_policy", "require_series", "times",
]  # fmt: skip

POLICIES = {
    "missing_mass": ("error", "zero", "interpolate", "skip"),
    "missing_aux": ("error", "interpolate", "skip"),
}
ROLES = ("mass", "aux", "static", "target", "filled")
BOTH = ("site", "time")


class Policy(NamedTuple):
    """What happens to missing values of mass and of auxiliary inputs."""

    missing_mass: str = "error"
    missing_aux: str = "error"


def require_policy(missing_mass: str, missing_aux: str) -> Policy:
    """The policy, refused when it does not exist."""
    policy = Policy(missing_mass, missing_aux)
    for name, value in policy._asdict().items():
        if value not in POLICIES[name]:
            raise ConfigError(f"{name} is {value!r}. Choose one of {', '.join(POLICIES[name])}.")
    return policy


def build(
    tables: list[Table], roles: Roles, units: Mapping[str, str], attributes: pd.DataFrame, policy: Policy
) -> xr.Dataset:
    """Join tables that passed `inspect` on one time axis."""
    time, step = joint_axis(tables)
    sites = [table.site for table in tables]
    dynamic = [name for name in roles.dynamic() if all(name in table.values for table in tables)]
    rows, marks = [], {name: np.zeros((len(sites), len(time)), dtype=bool) for name in roles.mass}
    for row, table in enumerate(tables):
        whole = _on_grid(table, step)
        start = int(time.searchsorted(whole.times[0]))
        columns = _filled(whole, roles, policy)
        for name in roles.mass:
            gaps = np.isnan(whole.values[name]) & np.isfinite(columns[name])
            marks[name][row, start : start + len(whole.times)] = gaps
        rows.append((start, columns))
    series = xr.Dataset(coords={"site": ("site", np.array(sites, dtype=object)), "time": ("time", time)})
    files = list(dict.fromkeys(table.file for table in tables))
    source = "; ".join(files[:3]) + (f" and {len(files) - 3} more" if len(files) > 3 else "")
    for name in dynamic:
        values = _matrix([(start, columns[name]) for start, columns in rows], len(time))
        series[name] = (BOTH, values, _attrs(roles.of(name), units.get(name, ""), source))
    for name in roles.mass:
        series[f"{name}_filled"] = (BOTH, marks[name], _attrs("filled", "", source))
    for name in roles.static:
        column = pd.to_numeric(attributes[name].reindex(sites)).to_numpy(np.float64)
        series[name] = ("site", column, _attrs("static", units.get(name, ""), "attributes"))
    series.attrs["step"] = step or ""
    return require_series(series)


def require_series(series: xr.Dataset) -> xr.Dataset:
    """The Dataset itself, refused when it does not have the form that this module describes."""
    if not {"site", "time"} <= set(series.dims):
        raise DataError(
            f"a series needs the dimensions site and time, not {sorted(map(str, series.dims))}. Rename them."
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


def times(series: xr.Dataset) -> pd.DatetimeIndex:
    """The dates of a series."""
    return pd.DatetimeIndex(series["time"].to_numpy())


def covered(series: xr.Dataset) -> xr.DataArray:
    """Where a site has all its inputs, (site, time) bool: windows lie only there."""
    present = [np.isfinite(series[name].to_numpy()) for name in names(series, "mass") + names(series, "aux")]
    return xr.DataArray(np.logical_and.reduce(present), dims=BOTH, coords=series.coords)


def _filled(table: Table, roles: Roles, policy: Policy) -> dict[str, np.ndarray]:
    """A site's columns without missing inputs. Targets keep their NaN: only observed steps are scored."""
    policies = dict.fromkeys(roles.mass, policy.missing_mass) | dict.fromkeys(roles.aux, policy.missing_aux)
    gaps = {name: np.isnan(table.values[name]) for name in policies}
    filled = {name: _fill(table, name, gaps[name], policies[name]) for name in policies if gaps[name].any()}
    return table.values | filled


def _fill(table: Table, name: str, missing: np.ndarray, policy: str) -> np.ndarray:
    values = table.values[name]
    if policy == "skip":
        return values
    if policy == "zero":
        return np.where(missing, 0.0, values)
    if policy == "interpolate" and not missing[0] and not missing[-1]:
        known = np.flatnonzero(~missing)
        # Steps are regular, so the position is the time.
        return np.asarray(np.interp(np.arange(len(values)), known, values[known]))
    ends = ", at an end of the series where nothing can be interpolated" if policy == "interpolate" else ""
    what = f"{int(missing.sum())} missing values from {day(table.times[int(np.argmax(missing))])}{ends}"
    place = f"{table.file}, site {table.site}, column {name}"
    raise DataError(f"{place}: {what}. Fill them, cut the rows off, or declare a policy.")


def _matrix(rows: list[tuple[int, np.ndarray]], steps: int) -> np.ndarray:
    """One column of all sites, (site, time), from the first step and the values of each; NaN elsewhere.

    The cache gives rows of one matrix. It is used as it is: new memory costs more than reading it did.
    """
    one = rows[0][1].base
    ours = all(row.flags.writeable for _, row in rows)  # pandas' views of a user's frame are read-only
    if ours and isinstance(one, np.ndarray) and one.shape == (len(rows), steps) and one.dtype == np.float64:
        parts = zip(rows, one, strict=True)
        if all(len(row) == steps and _address(row) == _address(part) for (_, row), part in parts):
            return one
    values = np.full((len(rows), steps), np.nan)
    for place, (start, row) in enumerate(rows):
        values[place, start : start + len(row)] = row
    return values


def _address(row: np.ndarray) -> tuple[int, tuple[int, ...]]:
    return row.__array_interface__["data"][0], row.strides


def _require_variable(name: str, variable: xr.DataArray) -> None:
    role = variable.attrs.get("role")
    if role not in ROLES:
        raise DataError(f"the variable {name!r} has the role {role!r}. Choose one of {', '.join(ROLES)}.")
    dims = ("site",) if role == "static" else BOTH
    if variable.dims != dims:
        raise DataError(f"the variable {name!r} ({role}) has dimensions {variable.dims}. Make them {dims}.")
    kind = np.dtype(bool) if role == "filled" else np.dtype(np.float64)
    if variable.dtype != kind:
        raise DataError(f"the variable {name!r} ({role}) is {variable.dtype}. Convert it to {kind}.")


def _attrs(role: str, units: str, source: str) -> dict[str, str]:
    return {"role": role, "units": units, "source": source}


def joint_axis(tables: list[Table]) -> tuple[pd.DatetimeIndex, str | None]:
    """The time axis that holds every site's dates, and its step."""
    if not tables or not all(len(table.times) for table in tables):
        raise DataError("there is no row of data. Check the path, the sites and the dates.")
    union = all_times(tables)
    step = step_of(union)
    axes = [table.times for table in tables]
    own = {step_of(times if times.is_monotonic_increasing else times.sort_values()) for times in axes}
    # Daily sites at midnight and at noon would make a half-daily axis, full of holes to be filled.
    if len(union) > 1 and (step is None or own - {None, step}):
        raise DataError("the sites' dates do not share a regular step. Bring all sites to the same step.")
    axis = union if step is None else grid(union[0], union[-1], step)
    if not len(axis):
        raise DataError(f"the dates run from {union[0]} to {union[-1]} in steps of {step}. Check the years.")
    return axis, step


def _on_grid(table: Table, step: str | None) -> Table:
    """The table sorted and with every date of its span; missing values are NaN."""
    if step is None or is_regular(table.times, step):
        return table
    if not table.times.is_unique:
        twice = table.times[table.times.duplicated()][0]
        raise DataError(f"{table.file}, site {table.site}: {twice} appears twice. Keep one row per date.")
    full = grid(table.times.min(), table.times.max(), step)
    places = full.get_indexer(table.times)
    values = {}
    for name, column in table.values.items():
        values[name] = np.full(len(full), np.nan)
        values[name][places] = column
    return table._replace(times=full, values=values)
