"""MNIST from its four IDX files, checked, in the splits of the published experiments."""

import gzip
import hashlib
import os
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from mclstm.errors import DataError

__all__ = [
    "FILES",
    "SPLITS",
    "Digits",
    "find_mnist",
    "home",
    "is_mnist",
    "normalised",
    "read_idx",
    "read_mnist",
]

# MD5 of the uncompressed content: compressed copies depend on the tool.
FILES: dict[str, str] = {
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}

SPLITS: dict[str, tuple[str, slice]] = {
    "train": ("train", slice(0, 55_000)),
    "validation": ("train", slice(55_000, 60_000)),
    "test": ("t10k", slice(0, 10_000)),
}


class Digits(NamedTuple):
    """Images as they are stored, and what they show."""

    images: Tensor  # (N, 28, 28) uint8
    labels: Tensor  # (N,) int64


def home() -> Path:
    """The usual folder of MNIST: `$MCLSTM_DATA/mnist`, or `data/mnist` without that variable."""
    return Path(os.environ.get("MCLSTM_DATA") or "data") / "mnist"


def find_mnist(folder: Path | str | None = None) -> Path | None:
    """The folder with the files: the given one, else the usual one; None if they are not there."""
    if folder is not None and not has_mnist(Path(folder)):
        raise DataError(
            f"{folder} lacks some of MNIST's four files, {', '.join(FILES)}, each .gz. "
            "Name another folder, or fetch them with --download."
        )
    place = home() if folder is None else Path(folder)
    return place if has_mnist(place) else None


def has_mnist(place: Path) -> bool:
    """Whether a folder has the four files."""
    return all((place / f"{name}.gz").is_file() for name in FILES)


def read_mnist(folder: Path | str | None = None) -> dict[str, Digits]:
    """The digits of each split: 55 000 train, 5 000 validation, 10 000 test.

    >>> folder = find_mnist()
    >>> digits = read_mnist(folder) if folder else None
    >>> digits is None or digits["validation"].images.shape == (5000, 28, 28)
    True
    """
    place = find_mnist() if folder is None else Path(folder)
    if place is None:
        raise DataError(
            "MNIST is not here; fetch it with `mclstm experiment mnist-sum --download`, or put its four "
            f".gz files into {home()} or into the folder mnist of a folder that MCLSTM_DATA names."
        )
    parts = {name: read_idx(place / f"{name}.gz", check) for name, check in FILES.items()}
    return {
        split: Digits(
            parts[f"{file}-images-idx3-ubyte"][part], parts[f"{file}-labels-idx1-ubyte"][part].long()
        )
        for split, (file, part) in SPLITS.items()
    }


def read_idx(path: Path, md5: str | None = None) -> Tensor:
    """A gzipped IDX file of bytes: (N,) or (N, rows, columns) uint8."""
    try:
        content = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read as a gzip file ({error}); fetch it again.") from error
    if md5 is not None and not is_mnist(content, md5):
        raise DataError(f"{path} is not the MNIST file of that name (its MD5 differs); fetch it again.")
    # Header: two zero bytes, the type (8: bytes), the number of dimensions, their sizes as big-endian words.
    dims = content[3] if len(content) > 3 and content[:3] == b"\0\0\x08" else 0
    shape = np.frombuffer(content, ">i4", dims, 4).tolist() if 0 < dims <= (len(content) - 4) // 4 else []
    if not shape or len(content) != 4 + 4 * dims + int(np.prod(shape)):
        raise DataError(f"{path} is not an IDX file of bytes, or is cut short; fetch it again.")
    return torch.from_numpy(np.frombuffer(content, np.uint8, offset=4 + 4 * dims).reshape(shape).copy())


def is_mnist(content: bytes, md5: str) -> bool:
    """Whether the uncompressed content is the file with this entry of FILES.

    >>> is_mnist(b"", "d41d8cd98f00b204e9800998ecf8427e")
    True
    """
    return hashlib.md5(content, usedforsecurity=False).hexdigest() == md5


def normalised(images: Tensor) -> Tensor:
    """Bytes to (value / 255 - 0.1307) / 0.3081, the mean and deviation of the training images.

    images: (...) uint8 -> (...) float32

    >>> normalised(torch.tensor([0, 255], dtype=torch.uint8)).round(decimals=2).tolist()
    [-0.41999998688697815, 2.819999933242798]
    """
    return images.to(torch.float32).mul_(1 / (255 * 0.3081)).sub_(0.1307 / 0.3081)
