"""CSV: one file (one site, long or wide) or a folder with one file per site.

A long table has a column of sites, a wide table one column per variable and site. Parquet holds the same
tables and is taken apart here, too.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from mclstm.data.columns import (
    SITE_NAMES,
    TIME_NAMES,
    dates,
    numbers,
    require_columns,
    site_column,
    time_column,
)  # fmt: skip
from mclstm.data.findings import ERROR, Finding
from mclstm.data.readers.text import read_table, with_attributes
from mclstm.data.site_names import require_site
from mclstm.data.site_tables import Raw, Request, Table, read_each, trimmed
from mclstm.errors import DataError

__all__ = ["load", "site_paths", "split_by_site"]

ATTRIBUTES = "attributes.csv"  # in a folder of sites: the static attributes


def load(path: Path, request: Request) -> Raw:
    """Read a CSV file or a folder of them."""
    if path.is_dir():
        return _folder(path, request)
    texts = [*TIME_NAMES, *SITE_NAMES, (request.time or "").lower(), (request.site or "").lower()]
    return split_by_site(read_table(path, tuple(texts), request.decimal), path, request)


def _folder(path: Path, request: Request) -> Raw:
    files = [file for file in site_paths(path, ".csv", request.sites) if file.name != ATTRIBUTES]
    raw = read_each(files, lambda file: load(file, request))
    beside = path / ATTRIBUTES
    if request.attributes is None and beside.is_file():
        return with_attributes(raw, request._replace(attributes=str(beside)))
    return raw


def site_paths(folder: Path, suffix: str, sites: tuple[str, ...]) -> list[Path]:
    """The files of a folder with one file per site, sorted: all of them, or those of the named sites."""
    try:
        files = sorted(file for file in folder.iterdir() if file.suffix.lower() == suffix)
    except OSError as error:
        raise DataError(f"{folder} cannot be read: {error.strerror}. Name a folder of {suffix}.") from None
    if not files:
        raise DataError(f"{folder} holds no {suffix} file. Name a folder with one {suffix} file per site.")
    return [file for file in files if not sites or file.stem in sites or file.name == ATTRIBUTES]


def split_by_site(frame: pd.DataFrame, path: Path, request: Request) -> Raw:
    """One file's table as one table per site. Without a column of sites, the file's name is the site."""
    file, header = str(path), [str(column) for column in frame.columns]
    time = time_column(header, request.time, file)
    site = site_column([column for column in header if column != time], request.site, file)
    if len(frame) == 0:
        raise DataError(f"{file} has a header but no rows. Add the data below the line of column names.")
    times, bad_dates = dates(frame[time], file, request.date_format)
    usable = ~np.asarray(times.isna())
    rest = frame.loc[usable, [column for column in frame.columns if column not in (time, site)]]
    times = times[usable]
    if site is None and _is_wide(header, request):
        raw = _wide(rest, times, file, request)
    else:
        sites = pd.Series(path.stem, index=rest.index) if site is None else frame.loc[usable, site]
        raw = _long(rest, times, sites, file, request)
    return raw._replace(findings=bad_dates + raw.findings)


def _is_wide(header: list[str], request: Request) -> bool:
    """Wide when a separator is declared, or when declared columns exist only as `name.site`."""
    if request.separator:
        return True
    return bool(request.dynamic) and all(
        name not in header and any(column.startswith(f"{name}.") for column in header)
        for name in request.required()
    )


def _long(rest: pd.DataFrame, times: pd.DatetimeIndex, sites: pd.Series, file: str, request: Request) -> Raw:
    static = [name for name in request.static if name in rest.columns]
    require_columns(rest.columns, request.required(), file)
    dynamic = [name for name in request.dynamic if name in rest.columns]
    dynamic = dynamic or [name for name in rest.columns if name not in static]
    values, findings = numbers(rest[dynamic], times, file, "", request.dynamic)
    keys = sites.fillna("").astype(str).to_numpy()
    tables = []
    for key, rows in pd.Series(keys).groupby(keys, sort=False).indices.items():
        if not request.sites or key in request.sites:
            columns = {name: column[rows] for name, column in values.items()}
            tables.append(Table(require_site(str(key), file), file, times[rows], columns))
    attributes, varying = _static(rest[static], keys, file)
    return Raw(tables, attributes, {}, findings + varying)


def _static(frame: pd.DataFrame, keys: np.ndarray, file: str) -> tuple[pd.DataFrame, list[Finding]]:
    """Columns that must be the same in every row of a site."""
    findings = []
    for name in frame.columns:
        distinct = frame[name].groupby(keys).nunique()
        if (distinct > 1).any():
            site = str(distinct.index[distinct > 1][0])
            what, remedy = "a static column changes with time", "Declare it with --aux, or make it constant"
            findings.append(Finding(ERROR, "static", what, remedy, file, site, str(name)))
    return frame.groupby(keys).first() if len(frame.columns) else pd.DataFrame(), findings


def _wide(rest: pd.DataFrame, times: pd.DatetimeIndex, file: str, request: Request) -> Raw:
    separator = request.separator or "."
    grouped: dict[str, dict[str, str]] = {}
    for column in rest.columns:
        name, mark, site = str(column).partition(separator)
        if mark and (not request.dynamic or name in request.dynamic):
            grouped.setdefault(require_site(site, file), {})[column] = name
    if not grouped:
        raise DataError(f"{file} has no column named name{separator}site. Correct or omit --separator.")
    tables, findings = [], []
    for site, names in grouped.items():
        if request.sites and site not in request.sites:
            continue
        values, bad = numbers(rest[list(names)], times, file, site, tuple(names))
        require_columns(names.values(), request.required(), f"{file} (site {site})")
        columns = {names[column]: item for column, item in values.items()}
        tables.append(trimmed(Table(site, file, times, columns)))
        findings += bad
    return Raw(tables, pd.DataFrame(), {}, findings)
