"""MNIST from its four IDX files, checked, in the splits of the published experiments."""

import gzip
import hashlib
import os
import zlib
from pathlib import Path
from typing import BinaryIO, NamedTuple

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
    "unpacked",
]

# SHA-256 of the uncompressed content: compressed copies depend on the tool.
FILES: dict[str, str] = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}

LARGEST = 50_000_000  # bytes; the largest file has 47 MB unpacked

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


def read_idx(path: Path, digest: str | None = None) -> Tensor:
    """A gzipped IDX file of bytes: (N,) or (N, rows, columns) uint8."""
    try:
        with path.open("rb") as packed:
            content = unpacked(packed)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise DataError(f"{path} cannot be read as a gzip file ({error}); fetch it again.") from error
    if digest is not None and not is_mnist(content, digest):
        raise DataError(f"{path} is not the MNIST file of that name (its SHA-256 differs); fetch it again.")
    # Header: two zero bytes, the type (8: bytes), the number of dimensions, their sizes as big-endian words.
    dims = content[3] if len(content) > 3 and content[:3] == b"\0\0\x08" else 0
    shape = np.frombuffer(content, ">i4", dims, 4).tolist() if 0 < dims <= (len(content) - 4) // 4 else []
    if not shape or len(content) != 4 + 4 * dims + int(np.prod(shape)):
        raise DataError(f"{path} is not an IDX file of bytes, or is cut short; fetch it again.")
    return torch.from_numpy(np.frombuffer(content, np.uint8, offset=4 + 4 * dims).reshape(shape).copy())


def unpacked(packed: BinaryIO) -> bytes:
    """What a gzip stream holds; refused as soon as it is larger than any file of MNIST."""
    with gzip.GzipFile(fileobj=packed) as stream:
        content = stream.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError(f"it unpacks to more than {LARGEST} bytes")
    return content


def is_mnist(content: bytes, digest: str) -> bool:
    """Whether the uncompressed content is the file with this entry of FILES.

    >>> is_mnist(b"", hashlib.sha256().hexdigest())
    True
    """
    return hashlib.sha256(content).hexdigest() == digest


def normalised(images: Tensor) -> Tensor:
    """Bytes to (value / 255 - 0.1307) / 0.3081, the mean and deviation of the training images.

    images: (...) uint8 -> (...) float32

    >>> normalised(torch.tensor([0, 255], dtype=torch.uint8)).round(decimals=2).tolist()
    [-0.41999998688697815, 2.819999933242798]
    """
    return images.to(torch.float32).mul_(1 / (255 * 0.3081)).sub_(0.1307 / 0.3081)
