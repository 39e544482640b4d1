"""netCDF: variables over (site, time) in any order, or over time alone for a single site."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from mclstm.data.checks.guess import SITE_NAMES, TIME_NAMES, listed, require_columns
from mclstm.data.finding import ERROR, Finding
from mclstm.data.readers.attributes import attribute_table
from mclstm.data.readers.hdf5_door import require_safe
from mclstm.data.readers.text import require_file
from mclstm.data.slug import require_site
from mclstm.data.tables import Raw, Request, Table, trimmed
from mclstm.errors import DataError

__all__ = ["load", "open_netcdf", "site_tables"]

ENGINES = {b"CDF\x01": "scipy", b"CDF\x02": "scipy", b"\x89HDF": "h5netcdf"}


def load(path: Path, request: Request) -> Raw:
    """Read one netCDF file, version 3 or 4."""
    data = open_netcdf(path)
    tables, attributes, found = site_tables(data, path, path.stem, request)
    if request.attributes is not None:
        attributes = attribute_table([Path(request.attributes)], request.static, request.site)
    return Raw("netcdf", tables, attributes, units_of(data), found, request.attributes or str(path))


def open_netcdf(path: Path) -> xr.Dataset:
    """The file in memory, refused when it is damaged, reaches outside itself or declares absurd sizes."""
    require_file(path)
    with path.open("rb") as stream:
        magic = stream.read(4)
    if magic not in ENGINES:
        raise DataError(f"{path} is not a netCDF file. Name a netCDF file, or choose another --reader.")
    engine = ENGINES[magic]
    if engine == "h5netcdf":
        require_safe(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with xr.open_dataset(path, engine=engine, decode_timedelta=False, cache=False) as data:
                return data.load()
    except Exception as error:
        # Three libraries read this file, and a damaged one makes each raise almost anything.
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise DataError(
            f"{path} cannot be read as netCDF ({reason}). Check its time units or export it again."
        ) from None


def units_of(data: xr.Dataset) -> dict[str, str]:
    """The units the variables state."""
    return {
        str(name): str(item.attrs["units"])
        for name, item in data.data_vars.items()
        if item.attrs.get("units")
    }


def site_tables(
    data: xr.Dataset, path: Path, name: str, request: Request
) -> tuple[list[Table], pd.DataFrame, list[Finding]]:
    """One table a site, and the variables over sites alone; `name` is the site when there is only one."""
    time = _time(data, path, request.time)
    site = _site(data, time, path, request.site)
    dynamic = [str(key) for key, item in data.data_vars.items() if time in item.dims]
    static = [str(key) for key, item in data.data_vars.items() if site is not None and item.dims == (site,)]
    required = [key for key in request.dynamic if key not in request.optional]
    require_columns(dynamic, required, str(path))
    chosen = (
        [key for key in request.dynamic if key in dynamic] if request.dynamic else _numeric(data, dynamic)
    )
    index = _index(data, time, path)
    sites = [name] if site is None else _names(data, site, path)
    values, found = {}, []
    for key in chosen:
        if not np.issubdtype(data[key].dtype, np.number):
            remedy = "Export it as numbers"
            found.append(Finding(ERROR, "text", "it does not hold numbers", remedy, str(path), "", key))
        else:
            values[key] = _matrix(data[key], time, site, path)
    tables = []
    for row, label in enumerate(sites):
        if not request.sites or label in request.sites:
            table = Table(label, str(path), index, {key: matrix[row] for key, matrix in values.items()})
            tables.append(table if site is None or not values else trimmed(table))
    wanted = [key for key in static if key in request.static] if request.static else static
    return tables, pd.DataFrame({key: data[key].to_numpy() for key in wanted}, index=sites), found


def _numeric(data: xr.Dataset, names: list[str]) -> list[str]:
    """Without the flags that our own files carry beside the mass."""
    return [name for name in names if np.issubdtype(data[name].dtype, np.number)]


def _time(data: xr.Dataset, path: Path, declared: str | None) -> str:
    dims = [str(name) for name in data.dims]
    found = [declared] if declared in dims else [name for name in dims if name.lower() in TIME_NAMES]
    if declared is not None and declared not in dims:
        raise DataError(
            f"{path} has no dimension {declared!r}; its dimensions are {listed(dims)}. Correct --time."
        )
    if len(found) != 1:
        raise DataError(
            f"{path} has {len(found)} dimensions named date or time among {listed(dims)}. "
            "Name the one with --time."
        )
    return str(found[0])


def _site(data: xr.Dataset, time: str, path: Path, declared: str | None) -> str | None:
    used = {str(dim) for item in data.data_vars.values() if time in item.dims for dim in item.dims} - {time}
    if declared is not None and declared not in data.dims:
        raise DataError(
            f"{path} has no dimension {declared!r}; it has {listed(sorted(used))}. Correct --site."
        )
    others = sorted(used - {declared})
    if declared is None:
        found = [name for name in others if name.lower() in SITE_NAMES] or others
        if len(found) == 1 and found == others:
            return found[0]
    if others:
        raise DataError(
            f"{path} has the dimensions {listed(others)} besides {time!r}. "
            "Average or select so that only a dimension of sites is left, and name it with --site."
        )
    return declared


def _index(data: xr.Dataset, time: str, path: Path) -> pd.DatetimeIndex:
    if time not in data.coords:
        raise DataError(
            f"{path} has no coordinate for its dimension {time!r}. Export the dates with the data."
        )
    values = data[time].to_numpy()
    if values.ndim != 1 or not np.issubdtype(values.dtype, np.datetime64):
        raise DataError(
            f"{path}: the coordinate {time!r} holds no dates of the usual calendar. "
            "Give it units such as 'days since 1980-01-01' and a standard calendar."
        )
    if not len(values) or np.isnat(values).any():
        raise DataError(
            f"{path}: the coordinate {time!r} is empty or has missing dates. Export it with all its dates."
        )
    try:
        return pd.DatetimeIndex(values).as_unit("ns")
    except pd.errors.OutOfBoundsDatetime:
        raise DataError(
            f"{path}: the coordinate {time!r} has dates beyond 1678 to 2261. Correct them."
        ) from None


def _names(data: xr.Dataset, site: str, path: Path) -> list[str]:
    labels = data[site].to_numpy() if site in data.coords else np.arange(data.sizes[site])
    texts = [label.decode("utf-8", "replace") if isinstance(label, bytes) else str(label) for label in labels]
    return [require_site(text, str(path)) for text in texts]


def _matrix(item: xr.DataArray, time: str, site: str | None, path: Path) -> np.ndarray:
    """(site, time) in float64."""
    values = item.transpose(..., time).to_numpy().astype(np.float64)
    if site is not None and site not in item.dims:
        raise DataError(f"{path}: {item.name!r} has no dimension {site!r}. Give it one value for each site.")
    return values if site is not None else values[np.newaxis]
