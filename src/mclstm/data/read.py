"""From a path or DataFrames to a checked series, the one in-memory form.

>>> from mclstm.data.fulda import AREA_KM2, UNITS, fulda
>>> series = read(fulda(), mass=["precipitation"], aux=["tmean"], target=["discharge"], units=UNITS,
...               convert={"discharge": "mm/day"}, area_km2=AREA_KM2)
>>> dict(series.sizes), series.discharge.attrs["units"]
({'site': 1, 'time': 3653}, 'mm/day')
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from mclstm.data.checks.table_check import inspect
from mclstm.data.column_names import units_in_names
from mclstm.data.columns import listed, require_columns
from mclstm.data.findings import raise_first
from mclstm.data.readers import load
from mclstm.data.series import Policy, build, require_policy
from mclstm.data.site_tables import Raw, Request, Roles, Table, declare_missing, first_step, in_periods
from mclstm.data.units import in_units, site_areas
from mclstm.errors import ConfigError, DataError

__all__ = ["from_frames", "read", "require_roles", "require_units"]


def read(
    path: str | Path,
    reader: str = "auto",
    *,
    mass: Sequence[str],
    aux: Sequence[str] = (),
    static: Sequence[str] = (),
    target: Sequence[str] = (),
    time: str | None = None,
    site: str | None = None,
    sites: Sequence[str] = (),
    units: Mapping[str, str] | None = None,
    convert: Mapping[str, str] | None = None,
    assume: Mapping[str, str] | None = None,
    area_km2: float | str | Mapping[str, float] | None = None,
    attributes: str | None = None,
    date_format: str | None = None,
    separator: str | None = None,
    decimal: str = ".",
    missing: Sequence[float] = (),
    missing_mass: str = "error",
    missing_aux: str = "error",
    require_target: bool = True,
    allow_negative_mass: bool = False,
    within: Sequence[tuple[datetime, datetime]] = (),
) -> xr.Dataset:
    """Data from a path as a checked series; the first mistake is raised as a DataError.

    `units` declares the units of the file, where its columns do not name them (`flow [m3/s]`); `convert`
    declares those of the series. `assume` holds the units of columns for which neither the caller nor the
    file names one. A volume becomes a depth over `area_km2`: a number, one number per site, or the name of an
    attribute. Prediction needs no observations: with `require_target=False` a target that is not there is
    left out. `within`: periods, each from a date to the first one after it; observations outside them and
    everything after the last one are not read.
    """
    policy = require_policy(missing_mass, missing_aux)
    roles = Roles(tuple(mass), tuple(aux), tuple(static), tuple(target))
    require_roles(roles, need_mass=True)
    require_units(convert or {}, roles.columns())
    attribute = (area_km2,) if isinstance(area_km2, str) else ()
    request = Request(
        roles.dynamic(), tuple(dict.fromkeys(roles.static + attribute)),
        () if require_target else roles.target, time, site, date_format, separator, decimal,
        attributes, tuple(map(str, sites)),
    )  # fmt: skip
    raw = declare_missing(load(Path(path), reader, request), tuple(missing))
    raise_first(raw.findings)
    raw = raw._replace(tables=[in_periods(table, roles.target, within) for table in raw.tables])
    absent = sorted(set(request.sites) - {table.site for table in raw.tables})
    if absent:
        raise DataError(f"{path} has no site {listed(absent)}. Correct the list of sites.")
    stated = {name: unit for name, unit in raw.units.items() if unit}
    named = units_in_names(roles.dynamic(), first_step(raw.tables))
    raw = raw._replace(units=dict(assume or {}) | named | stated | dict(units or {}))
    present = [name for name in roles.target if all(name in table.values for table in raw.tables)]
    series = _checked(raw, roles._replace(target=tuple(present)), policy, allow_negative_mass)
    areas = site_areas(list(series["site"].to_numpy()), area_km2, raw.attributes)
    return in_units(series, convert or {}, areas)


def from_frames(
    frames: Mapping[str, pd.DataFrame],
    roles: Roles,
    *,
    units: Mapping[str, str] | None = None,
    static: pd.DataFrame | None = None,
    missing_mass: str = "error",
    missing_aux: str = "error",
    allow_negative_mass: bool = False,
) -> xr.Dataset:
    """A checked series from one DataFrame per site, indexed by date; `static` has one row per site.

    >>> dates = pd.date_range("2001-01-01", periods=3)
    >>> frame = pd.DataFrame({"rain": [0.0, 1.0, 2.0]}, index=dates)
    >>> series = from_frames({"A": frame}, Roles(mass=("rain",)))
    >>> dict(series.sizes), series.rain.attrs["role"], series.attrs["step"]
    ({'site': 1, 'time': 3}, 'mass', 'D')
    """
    require_roles(roles, need_mass=True)
    policy = require_policy(missing_mass, missing_aux)
    tables = [_table(str(site), frame, roles.dynamic()) for site, frame in frames.items()]
    stated = units_in_names(roles.dynamic(), first_step(tables)) | dict(units or {})
    raw = Raw(tables, pd.DataFrame() if static is None else static, stated, [])
    return _checked(raw, roles, policy, allow_negative_mass)


def require_roles(roles: Roles, *, need_mass: bool = False) -> None:
    """Refuse a column with two roles and, if mass is needed, roles without mass."""
    columns = roles.columns()
    twice = [name for name in dict.fromkeys(columns) if columns.count(name) > 1]
    if twice:
        raise ConfigError(f"the column {twice[0]!r} is named more than once. Give every column one role.")
    if need_mass and not roles.mass:
        raise ConfigError("no mass column is declared. Name at least one, for example mass: [rain].")


def require_units(units: Mapping[str, str], columns: Iterable[str]) -> None:
    """Refuse a unit for a column that is not read."""
    names = list(columns)
    for name in units:
        if name not in names:
            raise ConfigError(f"{name!r} has a unit but is not read. The columns are {listed(names)}.")


def _checked(raw: Raw, roles: Roles, policy: Policy, allow_negative_mass: bool) -> xr.Dataset:
    raise_first(inspect(raw, roles, raw.units, policy, allow_negative_mass))
    return build(raw.tables, roles, raw.units, raw.attributes, policy)


def _table(site: str, frame: pd.DataFrame, dynamic: tuple[str, ...]) -> Table:
    if not isinstance(frame, pd.DataFrame):
        kind = type(frame).__name__
        raise DataError(f"the table of site {site} is of type {kind}. Give a pandas.DataFrame.")
    place = f"the DataFrame of site {site}"
    require_columns(frame.columns, dynamic, place)
    if not isinstance(frame.index, pd.DatetimeIndex) or frame.index.hasnans:
        raise DataError(f"{place} is not indexed by dates. Use frame.set_index(pd.to_datetime(...)).")
    imaginary = next((name for name in dynamic if np.iscomplexobj(frame[name])), None)
    if imaginary is not None:
        raise DataError(f"{place}: {imaginary!r} holds complex numbers. Give its parts as two real columns.")
    try:
        values = {name: frame[name].to_numpy(np.float64) for name in dynamic}
    except (TypeError, ValueError) as error:
        raise DataError(f"{place} has a column that is not numeric ({error}). Convert it first.") from None
    return Table(site, "DataFrame", frame.index.as_unit("ns"), values)
