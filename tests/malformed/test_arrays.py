"""Malformed npz and traffic4cast: damaged files, hostile content, and sound files of the wrong shape."""

import io
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

Refused = Callable[[list[str], str], None]
TIMES = np.arange("2001-01-01", "2001-01-11", dtype="datetime64[D]")


class Bomb:
    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        return open, ("/tmp/mclstm-pickle-was-run", "w")


def saved(**arrays: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, time=TIMES, **arrays)
    return stream.getvalue()


def pickled() -> bytes:
    """An array of objects: numpy would unpickle it if it were allowed to."""
    member, archive = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array(member, np.array([Bomb()], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("rain.npy", member.getvalue())
    return archive.getvalue()


def packed(content: bytes) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("rain.npy", content)
    return archive.getvalue()


def claimed() -> bytes:
    """A directory that claims two gigabytes for a member of a few bytes."""
    data = bytearray(packed(bytes(100)))
    place = data.index(b"PK\x01\x02") + 24
    data[place : place + 4] = (2**31).to_bytes(4, "little")
    return bytes(data)


def endless() -> bytes:
    """A header that declares more elements than the file holds."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**40,)})
    return packed(header.getvalue())


NPZ: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty": (lambda: b"", "cannot be read as npz"),
    "text": (lambda: b"date,rain\n", "cannot be read as npz"),
    "cut short": (lambda: saved(rain=np.ones(10))[:-40], "cannot be read as npz"),
    "plain pickle": (lambda: pickle.dumps(Bomb()), "cannot be read as npz"),
    "pickle inside": (pickled, "without objects"),
    "packed bomb": (claimed, "declares"),
    "endless array": (endless, "cannot be read as npz"),
    "no time": (lambda: saved(rain=np.ones(10)).replace(b"time", b"tame"), "named date or time"),
    "wrong length": (lambda: saved(rain=np.ones(9)), "has 9 rows"),
    "text instead of numbers": (lambda: saved(rain=np.full(10, "wet")), "is not a number"),
    "negative mass": (lambda: saved(rain=-np.ones(10)), "negative"),
    "complex numbers": (lambda: saved(rain=np.ones(10) * 1j), "complex numbers"),
}


@pytest.mark.parametrize("name", NPZ)
def test_npz(name: str, tmp_path: Path, refused: Refused) -> None:
    make, word = NPZ[name]
    path = tmp_path / "data.npz"
    path.write_bytes(make())
    refused([str(path), "--mass", "rain"], word)
    assert not Path("/tmp/mclstm-pickle-was-run").exists()


def dataset(
    name: str = "array", shape: tuple[int, ...] = (288, 4, 4, 9), dtype: str = "u1"
) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with h5py.File(path, "w") as file:
            file[name] = np.zeros(shape, dtype)

    return write


def one_block(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("array", (288, 495, 436, 9), "u1", chunks=(288, 495, 436, 9), compression="gzip")
        file["padding"] = np.arange(2**17)  # so that the size is plausible


def linked(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["array"] = h5py.ExternalLink("/etc/passwd", "/")


DAYS: dict[str, tuple[Callable[[Path], object], str]] = {
    "no dataset": (dataset("volumes"), "no dataset 'array'"),
    "half a day": (dataset(shape=(144, 4, 4, 9)), "(288, height, width, 8 or 9)"),
    "seven channels": (dataset(shape=(288, 4, 4, 7)), "(288, height, width, 8 or 9)"),
    "a single row": (dataset(shape=(288, 1, 4, 9)), "(288, height, width, 8 or 9)"),
    "not uint8": (dataset(dtype="f4"), "(288, height, width, 8 or 9)"),
    "packed in one block": (one_block, "one step per chunk"),
    "external link": (linked, "external link"),
    "not HDF5": (lambda path: path.write_text("no"), "damaged"),
}


@pytest.mark.parametrize("name", DAYS)
def test_traffic4cast(name: str, tmp_path: Path, refused: Refused) -> None:
    make, word = DAYS[name]
    path = tmp_path / "2019-01-02_berlin_9ch.h5"
    make(path)
    refused([str(path), "--mass", "in_W"], word)


def test_a_day_that_does_not_exist(tmp_path: Path, refused: Refused) -> None:
    path = tmp_path / "2019-02-31_berlin_9ch.h5"
    dataset()(path)
    refused([str(path), "--mass", "in_W"], "2019-02-31 is no date")
