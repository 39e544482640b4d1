"""One file's table becomes one table a site: long (a column of sites), wide (a column a site), one site."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from mclstm.data.checks.guess import require_columns, site_column, time_column
from mclstm.data.columns import dates, numbers
from mclstm.data.finding import ERROR, Finding
from mclstm.data.slug import require_site
from mclstm.data.tables import Request, Table, trimmed
from mclstm.errors import DataError

__all__ = ["Split", "split"]


class Split(NamedTuple):
    """The sites of one file, the static columns it carries, and what was found."""

    tables: list[Table]
    attributes: pd.DataFrame
    findings: list[Finding]


def split(frame: pd.DataFrame, file: str, name: str, request: Request) -> Split:
    """Take a file's table apart; `name` is the site when the table has no column of sites."""
    header = [str(column) for column in frame.columns]
    time = time_column(header, request.time, file)
    site = site_column([column for column in header if column != time], request.site, file)
    if len(frame) == 0:
        raise DataError(f"{file} has a header but no rows. Add the data below the line of column names.")
    times, found = dates(frame[time], file, request.date_format)
    usable = ~np.asarray(times.isna())
    rest = frame.loc[usable, [column for column in frame.columns if column not in (time, site)]]
    sites = None if site is None else frame.loc[usable, site]
    times = times[usable]
    if sites is None and _is_wide(header, request):
        return _with(_wide(rest, times, file, request), found)
    if sites is None:
        sites = pd.Series(name, index=rest.index)
    return _with(_long(rest, times, sites, file, request), found)


def _with(result: Split, found: list[Finding]) -> Split:
    return result._replace(findings=found + result.findings)


def _is_wide(header: list[str], request: Request) -> bool:
    """Wide when a separator is declared, or when declared columns exist only as `name.site`."""
    if request.separator:
        return True
    return bool(request.dynamic) and all(
        name not in header and any(column.startswith(f"{name}.") for column in header)
        for name in request.dynamic
        if name not in request.optional
    )


def _long(
    rest: pd.DataFrame, times: pd.DatetimeIndex, sites: pd.Series, file: str, request: Request
) -> Split:
    static = [name for name in request.static if name in rest.columns]
    wanted = _wanted(list(rest.columns), request, file) or [
        name for name in rest.columns if name not in static
    ]
    values, found = numbers(rest[wanted], times, file, "", request.dynamic)
    keys = sites.fillna("").astype(str).to_numpy()
    tables = []
    for key, rows in pd.Series(keys).groupby(keys, sort=False).indices.items():
        if not request.sites or key in request.sites:
            columns = {name: column[rows] for name, column in values.items()}
            tables.append(Table(require_site(str(key), file), file, times[rows], columns))
    attributes, varying = _static(rest[static], keys, file)
    return Split(tables, attributes, found + varying)


def _wanted(columns: list[str], request: Request, file: str) -> list[str]:
    """The columns to keep of those asked for; none when every column is wanted."""
    required = [name for name in request.dynamic if name not in request.optional]
    require_columns(columns, required, file)
    return [name for name in request.dynamic if name in columns]


def _static(frame: pd.DataFrame, keys: np.ndarray, file: str) -> tuple[pd.DataFrame, list[Finding]]:
    """Columns that must be the same in every row of a site."""
    found = []
    for name in frame.columns:
        distinct = frame[name].groupby(keys).nunique()
        if (distinct > 1).any():
            site = str(distinct.index[distinct > 1][0])
            remedy = "Declare it with --aux, or make it constant"
            found.append(
                Finding(ERROR, "static", "a static column changes with time", remedy, file, site, str(name))
            )
    return frame.groupby(keys).first() if len(frame.columns) else pd.DataFrame(), found


def _wide(rest: pd.DataFrame, times: pd.DatetimeIndex, file: str, request: Request) -> Split:
    separator = request.separator or "."
    grouped: dict[str, dict[str, str]] = {}
    for column in rest.columns:
        name, mark, site = str(column).partition(separator)
        if mark and (not request.dynamic or name in request.dynamic):
            grouped.setdefault(require_site(site, file), {})[column] = name
    if not grouped:
        raise DataError(
            f"{file} has no column of the form name{separator}site. Correct --separator, or leave it out."
        )
    tables, found = [], []
    for site, names in grouped.items():
        if request.sites and site not in request.sites:
            continue
        values, bad = numbers(rest[list(names)], times, file, site, tuple(names))
        required = [name for name in request.dynamic if name not in request.optional]
        require_columns(names.values(), required, f"{file} (site {site})")
        columns = {names[column]: item for column, item in values.items()}
        tables.append(trimmed(Table(site, file, times, columns)))
        found += bad
    return Split(tables, pd.DataFrame(), found)
