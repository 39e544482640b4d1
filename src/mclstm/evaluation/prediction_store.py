"""Predictions as a folder of zarr, written part after part: no more than one part is ever in memory."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import xarray as xr

from mclstm.data.readers.hdf5_safety import require_safe
from mclstm.data.readers.zarr import open_group
from mclstm.errors import DataError
from mclstm.training.atomic import new_folder, storage_errors

__all__ = [
    "has_predictions", "open_predictions", "open_store", "prediction_store", "require_zarr",
]  # fmt: skip

FORMAT = 2  # of zarr, which every reader knows; format 3 has no stable form of text yet


def require_zarr() -> None:
    """Say what to install before hours of reading, training or simulation, not after them."""
    import zarr  # noqa: F401


@contextmanager
def prediction_store(
    path: Path, sites: Sequence[str], *, replace: bool = False
) -> Iterator[Callable[[xr.Dataset], None]]:
    """Yield a function that appends the predictions of the next sites; the folder is there at the end only.

    sites: of all parts in their order · replace: earlier predictions stay until these are whole
    """
    width = np.array(list(sites), dtype=str).dtype  # every part writes names of the same length
    with new_folder(path, replace=replace) as folder:

        def append(part: xr.Dataset) -> None:
            part = _as_stored(part, width)
            first = not any(folder.iterdir())
            chunks = {str(name): {"chunks": item.shape} for name, item in part.data_vars.items()}
            how = {"mode": "w", "encoding": chunks} if first else {"mode": "a", "append_dim": "site"}
            with storage_errors(f"write {path}", "Make room, then run the command again."):
                part.to_zarr(folder, zarr_format=FORMAT, consolidated=False, **how)

        yield append


def open_store(path: Path) -> xr.Dataset:
    """The predictions with their values still on the disk."""
    return open_group(path)[0]


def open_predictions(path: Path) -> xr.Dataset:
    """The predictions.nc of an evaluation, or the folder of zarr in its place; values stay on the disk."""
    if path.is_file():
        require_safe(path)
        return xr.open_dataset(path, engine="h5netcdf", decode_timedelta=False)
    if not has_predictions(path):
        raise DataError(f"{path} does not exist. Make it with: mclstm evaluate {path.parents[2]}")
    return open_store(path.with_suffix(".zarr"))


def has_predictions(path: Path) -> bool:
    """Whether there are any."""
    return path.is_file() or path.with_suffix(".zarr").is_dir()


def _as_stored(part: xr.Dataset, width: np.dtype[np.str_]) -> xr.Dataset:
    """The part with plain text, and with stores in the float32 that they were computed in."""
    short = {name: part[name].astype(np.float32) for name in ("storage", "outflow") if name in part}
    names = part["site"].to_numpy().astype(width)
    return part.assign(short).assign_coords(site=("site", names, part["site"].attrs))
