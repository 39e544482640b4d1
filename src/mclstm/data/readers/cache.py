"""A cache of parsed text archives, as netCDF files outside the data folder: the second read takes a second.

A cache file is named after the sizes and times of the archive's files: a changed archive is read again.
"""

import contextlib
import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import xarray as xr

from mclstm.data.site_tables import Table, all_times, trimmed

__all__ = ["cores", "fetch", "folder", "key", "store"]

VERSION = "1"  # raised when the stored form changes


def folder() -> Path:
    """$MCLSTM_CACHE, or ~/.cache/mclstm."""
    return Path(os.environ.get("MCLSTM_CACHE") or Path.home() / ".cache" / "mclstm")


def cores() -> int:
    """The cores of this process, where the system tells; the machine's elsewhere."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def key(name: str, what: list[str], files: list[Path]) -> Path:
    """The cache file for the tables of these files."""
    stats = [(str(file), os.stat(file)) for file in files]
    stamps = [f"{file} {stat.st_size} {stat.st_mtime_ns}" for file, stat in stats]
    return folder() / f"{name}-{_digest([VERSION, *what])}-{_digest(stamps)}.nc"


def fetch(path: Path, wanted: tuple[str, ...]) -> tuple[list[Table], dict[str, str]] | None:
    """The wanted columns (all, if none are named) and their units; None without a usable cache file."""
    if not path.is_file():
        return None
    try:
        with h5py.File(path) as file:
            time = xr.decode_cf(xr.Dataset({"time": ("time", file["time"][:], dict(file["time"].attrs))}))
            sites, files = (file[name].asstr()[:] for name in ("site", "file"))
            names = [name for name, item in file.items() if item.ndim == 2]
            chosen = [name for name in names if not wanted or name in wanted]
            units = {name: str(file[name].attrs["units"]) for name in chosen}
            shape = (len(sites), len(time["time"]))
            with ThreadPoolExecutor(cores()) as pool:
                read = pool.map(lambda name: _matrix(path, file[name], shape), chosen)
                values = dict(zip(chosen, read, strict=True))
        index = pd.DatetimeIndex(time["time"].to_numpy()).as_unit("ns")
    except Exception:
        return None  # a damaged cache is no error: the archive is read again
    tables = [
        trimmed(Table(str(site), str(file), index, {name: item[row] for name, item in values.items()}))
        for row, (site, file) in enumerate(zip(sites, files, strict=True))
    ]
    return tables, units


def store(path: Path, tables: list[Table], units: dict[str, str]) -> None:
    """Store tables with the same columns. An odd archive or a full disk means no cache, not an error."""
    plain = all(table.times.is_unique and table.times.is_monotonic_increasing for table in tables)
    if not tables or not plain or any(table.values.keys() != tables[0].values.keys() for table in tables):
        return
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        with contextlib.suppress(OSError):  # such as a full disk: the next read parses again
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(draft, tables, units)
            with draft.open("rb+") as stream:
                os.fsync(stream.fileno())
            draft.replace(path)
            for other in path.parent.glob(f"{path.name.rsplit('-', 1)[0]}-*.nc"):
                if other != path:  # from an earlier state of the archive
                    other.unlink(missing_ok=True)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


def _matrix(path: Path, variable: h5py.Dataset, shape: tuple[int, int]) -> np.ndarray:
    """A variable, read directly from its place in the file, so that threads can read at the same time.

    A memory map would be faster, but would crash without a message if the file became shorter.
    """
    if variable.dtype != np.float64 or variable.shape != shape:
        raise ValueError(f"{variable.name} of {path} is not what was stored")
    matrix = np.empty(shape)
    with path.open("rb") as stream:
        stream.seek(variable.id.get_offset())
        if stream.readinto(matrix.data) != matrix.nbytes:
            raise ValueError(f"{path} ends inside {variable.name}")
    return matrix


def _write(path: Path, tables: list[Table], units: dict[str, str]) -> None:
    """Write column after column through one matrix: new memory costs more than the disk."""
    union = all_times(tables)
    places = [
        slice(None) if table.times.equals(union) else union.searchsorted(table.times) for table in tables
    ]
    about = xr.Dataset(coords={"site": [table.site for table in tables], "time": union})
    about["file"] = ("site", [table.file for table in tables])
    about.to_netcdf(path, engine="h5netcdf")
    matrix = np.empty((len(tables), len(union)))
    for name in tables[0].values:
        matrix.fill(np.nan)
        for row, table in enumerate(tables):
            matrix[row, places[row]] = table.values[name]
        column = xr.Dataset({name: (("site", "time"), matrix, {"units": units.get(name, "")})})
        column.to_netcdf(path, mode="a", engine="h5netcdf")


def _digest(parts: list[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
