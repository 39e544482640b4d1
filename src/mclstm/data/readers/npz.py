"""npz: named arrays over time in one file of numpy; objects are refused.

A vector is a column; a matrix (T, N) is N columns, `name_0` to `name_{N-1}`. One vector holds the dates, and
one may name the sites, as in a CSV.
"""

import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

from mclstm.data.readers.csv import split_by_site
from mclstm.data.readers.hdf5_safety import require_plausible_size
from mclstm.data.readers.text import require_file
from mclstm.data.site_tables import Raw, Request
from mclstm.errors import DataError

__all__ = ["load"]

MOST_COLUMNS = 10_000


def load(path: Path, request: Request) -> Raw:
    """Read one npz file: a single site, or rows of several."""
    return split_by_site(pd.DataFrame(columns_of(arrays(require_file(path)), path)), path, request)


def arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays by name. Refused when the file is damaged, holds objects or unpacks to an absurd size."""
    try:
        with zipfile.ZipFile(path) as archive:
            require_plausible_size(path, sum(member.file_size for member in archive.infolist()))
        with np.load(path, allow_pickle=False) as file:
            return {name: np.asarray(file[name]) for name in file.files}
    except DataError:
        raise
    except Exception as error:
        # Damaged files make zipfile and numpy raise almost anything.
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise DataError(
            f"{path} cannot be read as npz ({reason}). Write it with numpy.savez, without objects."
        ) from None


def columns_of(named: dict[str, np.ndarray], path: Path) -> dict[str, np.ndarray]:
    """One vector per column, all of the same length."""
    columns: dict[str, np.ndarray] = {}
    for name, array in named.items():
        if np.iscomplexobj(array):
            raise DataError(f"{path}: {name!r} holds complex numbers. Save its parts as two real arrays.")
        if array.ndim not in (1, 2):
            raise DataError(
                f"{path}: {name!r} has {array.ndim} dimensions. Give arrays of shape (time,) or (time, N)."
            )
        parts = (
            {name: array} if array.ndim == 1 else {f"{name}_{n}": array[:, n] for n in range(array.shape[1])}
        )
        twice = next((part for part in parts if part in columns), None)
        if twice is not None:
            raise DataError(f"{path}: the column {twice!r} is there twice. Rename one of its arrays.")
        columns |= parts
        if len(columns) > MOST_COLUMNS:
            raise DataError(f"{path} has more than {MOST_COLUMNS:,} columns. Put time first: (time, N).")
    lengths = {name: len(column) for name, column in columns.items()}
    odd = next((name for name, length in lengths.items() if length != next(iter(lengths.values()))), None)
    if odd is not None:
        first = next(iter(lengths))
        raise DataError(
            f"{path}: {odd!r} has {lengths[odd]} rows, {first!r} has {lengths[first]}. Give all the same."
        )
    return columns
