"""Parsed text archives kept as netCDF outside the data folder, so that the second read takes a second.

A cache file is named by what was read and the sizes and times of the files: a changed archive is read anew.
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

from mclstm.data.tables import Table, all_times, trimmed

__all__ = ["cores", "fetch", "folder", "key", "store"]

VERSION = "1"  # raised when the stored form changes


def folder() -> Path:
    """$MCLSTM_CACHE, or ~/.cache/mclstm."""
    named = os.environ.get("MCLSTM_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "mclstm"


def cores() -> int:
    """How many threads can read at once: the cores of this process, where the system says."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def key(name: str, what: list[str], files: list[Path]) -> Path:
    """Where the tables read from these files are kept."""
    stats = [(str(file), os.stat(file)) for file in files]
    stamps = [f"{file} {stat.st_size} {stat.st_mtime_ns}" for file, stat in stats]
    return folder() / f"{name}-{_digest([VERSION, *what])}-{_digest(stamps)}.nc"


def fetch(path: Path, wanted: tuple[str, ...]) -> tuple[list[Table], dict[str, str]] | None:
    """The wanted columns (all, if none are named) and their units, or None when they cannot be used."""
    if not path.is_file():
        return None
    try:
        with h5py.File(path) as file:
            time = xr.decode_cf(xr.Dataset({"time": ("time", file["time"][:], dict(file["time"].attrs))}))
            sites, files = (file[name].asstr()[:] for name in ("site", "file"))
            names = [name for name, item in file.items() if item.ndim == 2]
            chosen = [name for name in names if not wanted or name in wanted]
            units = {name: str(file[name].attrs["units"]) for name in chosen}
            with ThreadPoolExecutor(cores()) as pool:
                read = pool.map(
                    lambda name: _matrix(path, file[name], (len(sites), len(time["time"]))), chosen
                )
                values = dict(zip(chosen, read, strict=True))
        index = pd.DatetimeIndex(time["time"].to_numpy()).as_unit("ns")
    except Exception:
        return None  # a damaged cache is no error: the archive is read again
    rows = enumerate(zip(sites, files, strict=True))
    return [
        trimmed(Table(str(site), str(file), index, {name: item[row] for name, item in values.items()}))
        for row, (site, file) in rows
    ], units


def store(path: Path, tables: list[Table], units: dict[str, str]) -> None:
    """Keep tables with the same columns; an archive too odd or a disk too full is simply not cached."""
    plain = all(table.times.is_unique and table.times.is_monotonic_increasing for table in tables)
    if not tables or not plain or any(table.values.keys() != tables[0].values.keys() for table in tables):
        return
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        with contextlib.suppress(OSError):  # such as of a full disk: the next reading parses again
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(draft, tables, units)
            with draft.open("rb+") as stream:
                os.fsync(stream.fileno())
            draft.replace(path)
            _forget_older(path)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


def _matrix(path: Path, variable: h5py.Dataset, shape: tuple[int, int]) -> np.ndarray:
    """A variable straight from where it lies in the file, so that threads can read at the same time.

    A map of the file would be quicker still, and a crash without a word where somebody shortens the file.
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
    """One column after the other by way of one matrix: memory that is new takes longer than the disk."""
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


def _forget_older(path: Path) -> None:
    stem = path.name.rsplit("-", 1)[0]
    for other in path.parent.glob(f"{stem}-*.nc"):
        if other != path:
            other.unlink(missing_ok=True)


def _digest(parts: list[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
