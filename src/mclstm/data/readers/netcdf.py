"""netCDF: variables over (site, time) in any order, or over time alone for one site; or a folder of these."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from mclstm.data.columns import TIME_NAMES, listed, require_columns
from mclstm.data.findings import ERROR, Finding
from mclstm.data.readers.csv import site_paths
from mclstm.data.readers.hdf5_safety import require_safe
from mclstm.data.readers.text import require_file
from mclstm.data.site_names import require_site
from mclstm.data.site_tables import Raw, Request, Table, read_each, trimmed
from mclstm.errors import DataError

__all__ = ["load", "open_netcdf", "selected", "sites", "sites_in", "split_by_site"]

ENGINES = {b"CDF\x01": "scipy", b"CDF\x02": "scipy", b"\x89HDF": "h5netcdf"}


def load(path: Path, request: Request) -> Raw:
    """Read one netCDF file, version 3 or 4, or a folder with one file per site."""
    if path.is_dir():
        return read_each(site_paths(path, ".nc", request.sites), lambda file: load(file, request))
    with _opened(path) as data:
        chosen = selected(data, path, request).load()
    return split_by_site(chosen, path, request)


def sites(path: Path, request: Request) -> list[str]:
    """The sites of a file or a folder; no values are read."""
    if path.is_dir():
        return [file.stem for file in site_paths(path, ".nc", request.sites)]
    with _opened(path) as data:
        return sites_in(data, path, request)


def open_netcdf(path: Path) -> xr.Dataset:
    """The file in memory. Refused when it is damaged, points outside itself or declares absurd sizes."""
    with _opened(path) as data:
        return data.load()


@contextmanager
def _opened(path: Path) -> Iterator[xr.Dataset]:
    """The file with its values still on the disk."""
    require_file(path)
    with path.open("rb") as stream:
        magic = stream.read(4)
    if magic not in ENGINES:
        raise DataError(f"{path} is not a netCDF file. Name a netCDF file, or choose another --reader.")
    engine = ENGINES[magic]
    if engine == "h5netcdf":
        _require_safe(path, path.stat().st_mtime_ns)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with xr.open_dataset(path, engine=engine, decode_timedelta=False, cache=False) as data:
                yield data
    except DataError:
        raise
    except Exception as error:
        # Three libraries read this file, and each may raise almost anything when it is damaged.
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise DataError(f"{path} cannot be read ({reason}). Check its time units, or export again.") from None


@lru_cache
def _require_safe(path: Path, changed: int) -> None:
    """Once for each state of a file: the check reads all of it, and its parts are read one by one."""
    require_safe(path)


def sites_in(data: xr.Dataset, path: Path, request: Request) -> list[str]:
    """The names of the sites of a dataset. A single site is named as the file."""
    site = _site(data, _time(data, path, request.time), path, request.site)
    return [path.stem] if site is None else _names(data, site, path)


def selected(data: xr.Dataset, path: Path, request: Request) -> xr.Dataset:
    """The requested sites and columns alone, so that no others are read; all if none are requested."""
    time = _time(data, path, request.time)
    site = _site(data, time, path, request.site)
    dynamic = [str(key) for key, item in data.data_vars.items() if time in item.dims]
    if request.dynamic and set(request.required()) <= set(dynamic):
        data = data.drop_vars([key for key in dynamic if key not in request.dynamic])
    if site is None or not request.sites:
        return data
    wanted = set(request.sites)
    rows = [row for row, label in enumerate(_names(data, site, path)) if label in wanted]
    together = rows and rows[-1] - rows[0] == len(rows) - 1
    return data.isel({site: slice(rows[0], rows[-1] + 1) if together else rows})


def split_by_site(data: xr.Dataset, path: Path, request: Request) -> Raw:
    """One table per site, and the variables over sites alone. A single site is named as the file."""
    time = _time(data, path, request.time)
    site = _site(data, time, path, request.site)
    dynamic = [str(key) for key, item in data.data_vars.items() if time in item.dims]
    static = [str(key) for key, item in data.data_vars.items() if site is not None and item.dims == (site,)]
    require_columns(dynamic, request.required(), str(path))
    chosen = [key for key in dynamic if _is_numeric(data[key])]  # without the flags that our own files carry
    if request.dynamic:
        chosen = [key for key in request.dynamic if key in dynamic]
    index = _index(data, time, path)
    sites = [path.stem] if site is None else _names(data, site, path)
    values = {key: _matrix(data[key], time, site, path) for key in chosen if _is_numeric(data[key])}
    what, remedy = "it does not hold numbers, or complex ones", "Export it as real numbers"
    text = [Finding(ERROR, "text", what, remedy, str(path), "", key) for key in chosen if key not in values]
    tables = []
    for row, label in enumerate(sites):
        if not request.sites or label in request.sites:
            table = Table(label, str(path), index, {key: matrix[row] for key, matrix in values.items()})
            tables.append(table if site is None or not values else trimmed(table))
    static = [key for key in static if key in request.static] if request.static else static
    imaginary = next((key for key in static if np.iscomplexobj(data[key])), None)
    if imaginary is not None:
        raise DataError(f"{path}: {imaginary!r} holds complex numbers. Export it as two real variables.")
    attributes = pd.DataFrame({key: data[key].to_numpy() for key in static}, index=sites)
    units = {str(key): str(item.attrs.get("units") or "") for key, item in data.data_vars.items()}
    return Raw(tables, attributes, {key: unit for key, unit in units.items() if unit}, text)


def _is_numeric(item: xr.DataArray) -> bool:
    """Whether it holds real numbers: a complex one would lose its imaginary part."""
    return np.issubdtype(item.dtype, np.number) and not np.iscomplexobj(item)


def _time(data: xr.Dataset, path: Path, declared: str | None) -> str:
    dims = [str(name) for name in data.dims]
    if declared is not None and declared not in dims:
        raise DataError(f"{path} has no dimension {declared!r}; it has {listed(dims)}. Correct --time.")
    fitting = [declared] if declared else [name for name in dims if name.lower() in TIME_NAMES]
    if len(fitting) != 1:
        raise DataError(
            f"{path}: {len(fitting)} of {listed(dims)} are named date or time. Name one with --time."
        )
    return fitting[0]


def _site(data: xr.Dataset, time: str, path: Path, declared: str | None) -> str | None:
    used = {str(dim) for item in data.data_vars.values() if time in item.dims for dim in item.dims} - {time}
    if declared is not None and declared not in data.dims:
        raise DataError(
            f"{path} has no dimension {declared!r}; it has {listed(sorted(used))}. Correct --site."
        )
    others = sorted(used - {declared})
    if declared is None and len(others) == 1:
        return others[0]
    if others:
        raise DataError(
            f"{path} has the dimensions {listed(others)} besides {time!r}. "
            "Average or select so that only a dimension of sites is left, and name it with --site."
        )
    return declared


def _index(data: xr.Dataset, time: str, path: Path) -> pd.DatetimeIndex:
    if time not in data.coords:
        raise DataError(f"{path} has no coordinate for dimension {time!r}. Export the dates with the data.")
    values = data[time].to_numpy()
    if values.ndim != 1 or not np.issubdtype(values.dtype, np.datetime64):
        raise DataError(
            f"{path}: the coordinate {time!r} holds no dates of the usual calendar. "
            "Give it units such as 'days since 1980-01-01' and a standard calendar."
        )
    if not len(values) or np.isnat(values).any():
        raise DataError(f"{path}: the coordinate {time!r} is empty or has missing dates. Export all dates.")
    try:
        return pd.DatetimeIndex(values).as_unit("ns")
    except pd.errors.OutOfBoundsDatetime:
        raise DataError(f"{path}: {time!r} has dates outside 1678-2261. Correct them.") from None


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
