"""A series from DataFrames: the same examination as for files."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from mclstm.data.checks.guess import require_columns
from mclstm.data.checks.table_check import inspect
from mclstm.data.finding import raise_first
from mclstm.data.policy import require_policy
from mclstm.data.readers import require_roles
from mclstm.data.series import build
from mclstm.data.tables import Raw, Roles, Table
from mclstm.errors import DataError

__all__ = ["from_frames"]


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
    """A series from one DataFrame a site, indexed by date; `static` has one row a site.

    >>> dates = pd.date_range("2001-01-01", periods=3)
    >>> frame = pd.DataFrame({"rain": [0.0, 1.0, 2.0]}, index=dates)
    >>> series = from_frames({"A": frame}, Roles(mass=("rain",)))
    >>> dict(series.sizes), series.rain.attrs["role"], series.attrs["step"]
    ({'site': 1, 'time': 3}, 'mass', 'D')
    """
    require_roles(roles, need_mass=True)
    require_policy(missing_mass, missing_aux)
    tables = [_table(str(site), frame, roles.dynamic()) for site, frame in frames.items()]
    raw = Raw("frames", tables, pd.DataFrame() if static is None else static, dict(units or {}), [])
    policy = {"missing_mass": missing_mass, "missing_aux": missing_aux}
    raise_first(inspect(raw, roles, raw.units, **policy, allow_negative_mass=allow_negative_mass))
    return build(tables, roles, raw.units, raw.attributes, **policy)


def _table(site: str, frame: pd.DataFrame, dynamic: tuple[str, ...]) -> Table:
    if not isinstance(frame, pd.DataFrame):
        kind = type(frame).__name__
        raise DataError(f"the table of site {site} is of type {kind}. Give a pandas.DataFrame.")
    place = f"the DataFrame of site {site}"
    require_columns(frame.columns, dynamic, place)
    if not isinstance(frame.index, pd.DatetimeIndex) or frame.index.hasnans:
        raise DataError(f"{place} is not indexed by dates. Use frame.set_index(pd.to_datetime(...)).")
    try:
        values = {name: frame[name].to_numpy(np.float64) for name in dynamic}
    except (TypeError, ValueError) as error:
        raise DataError(f"{place} has a column that is not numeric ({error}). Convert it first.") from None
    return Table(site, "DataFrame", frame.index.as_unit("ns"), values)
