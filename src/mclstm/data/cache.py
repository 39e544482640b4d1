"""Parsed text archives kept as netCDF outside the data folder, so that the second read takes a second.

A cache file is named by what was read and the sizes and times of the files: a changed archive is read anew.
"""

import contextlib
import hashlib
import os
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from mclstm.data.tables import Table, trimmed

__all__ = ["fetch", "folder", "key", "store"]

VERSION = "1"  # raised when the stored form changes


def folder() -> Path:
    """$MCLSTM_CACHE, or ~/.cache/mclstm."""
    named = os.environ.get("MCLSTM_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "mclstm"


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
        with xr.open_dataset(path, engine="h5netcdf", decode_timedelta=False) as kept:
            chosen = [name for name in kept.data_vars if not wanted or name in (*wanted, "file")]
            data = kept[chosen].load()
        index = pd.DatetimeIndex(data["time"].to_numpy()).as_unit("ns")
        sites, files = data["site"].to_numpy(), data["file"].to_numpy()
        values = {
            str(name): item.to_numpy()
            for name, item in data.data_vars.items()
            if item.dims == ("site", "time")
        }
        units = {name: str(data[name].attrs.get("units", "")) for name in values}
    except Exception:
        return None  # a damaged cache is no error: the archive is read again
    rows = enumerate(zip(sites, files, strict=True))
    return [
        trimmed(Table(str(site), str(file), index, {name: item[row] for name, item in values.items()}))
        for row, (site, file) in rows
    ], units


def store(path: Path, tables: list[Table], units: dict[str, str]) -> None:
    """Keep tables with the same columns; an archive too odd or a disk too full is simply not cached."""
    if (
        not all(table.times.is_unique and table.times.is_monotonic_increasing for table in tables)
        or not tables
    ):
        return
    data = _dense(tables, units)
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        data.to_netcdf(draft, engine="h5netcdf")
        with draft.open("rb+") as stream:
            os.fsync(stream.fileno())
        draft.replace(path)
        _forget_older(path)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink()


def _dense(tables: list[Table], units: dict[str, str]) -> xr.Dataset:
    union = tables[0].times
    for table in tables[1:]:
        if not table.times.equals(union):
            union = pd.DatetimeIndex(union.union(table.times))
    values = {name: np.full((len(tables), len(union)), np.nan) for name in tables[0].values}
    for row, table in enumerate(tables):
        places = union.searchsorted(table.times)
        for name in values:
            values[name][row, places] = table.values[name]
    data = xr.Dataset(coords={"site": [table.site for table in tables], "time": union})
    data["file"] = ("site", [table.file for table in tables])
    for name, matrix in values.items():
        data[name] = (("site", "time"), matrix, {"units": units.get(name, "")})
    return data


def _forget_older(path: Path) -> None:
    stem = path.name.rsplit("-", 1)[0]
    for other in path.parent.glob(f"{stem}-*.nc"):
        if other != path:
            other.unlink(missing_ok=True)


def _digest(parts: list[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
