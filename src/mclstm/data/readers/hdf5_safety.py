"""Checks of an HDF5 file before it is read: links, data outside it, foreign filters, absurd sizes."""

import mmap
import struct
from pathlib import Path

import h5py
import numpy as np

from mclstm.errors import DataError

__all__ = ["LARGEST", "require_plausible_size", "require_safe"]

LARGEST = 16 * 2**30  # bytes declared in one file
FREE = 64 * 2**20  # bytes that may be declared whatever the size of the file
DENSEST = 2000  # declared bytes per byte; deflate reaches 1032, so more is a bomb or an unwritten variable
DEEPEST, MOST = 20, 10_000  # nested groups, objects
HEAP = b"GCOL\x01\0\0\0"  # signature and version of a global heap
HEAP_HEADER, SMALLEST_HEAP = 16, 4096  # bytes; every object in a heap has a header of the same length
FILTERS = {1, 2, 3, 4, 5, 6, 32000}  # those of HDF5 and h5py; others would load plugins


def require_safe(path: Path) -> None:
    """Refuse an unsafe file. The check walks through it without following its links."""
    _require_sound_heaps(path)
    try:
        with h5py.File(path, "r") as file:
            declared = _walk(file, path, 0, [0])
    except DataError:
        raise
    except Exception as error:
        # Damaged files make h5py raise almost anything.
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise DataError(f"{path} is damaged or cut short ({reason}). Copy or export it again.") from None
    require_plausible_size(path, declared)


def require_plausible_size(path: Path, declared: int, size: int | None = None) -> None:
    """Refuse packed data that declare more bytes than their size can hold, or than fit into memory.

    size: the bytes of all files, if `path` is not a single one
    """
    size = path.stat().st_size if size is None else size
    if declared > LARGEST or declared > max(FREE, DENSEST * size):
        raise DataError(
            f"{path} declares {declared / 2**30:.3g} GB of data but is {size / 2**20:.3g} MB. "
            "Export it again with the dimensions it really has."
        )


def _require_sound_heaps(path: Path) -> None:
    """Refuse a global heap that HDF5 would read for ever: with an object of no size, or beyond its heap."""
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        start = data.find(HEAP)
        while start >= 0:
            size = int.from_bytes(data[start + 8 : start + 16], "little")
            end = start + size
            place = start + HEAP_HEADER
            while size >= SMALLEST_HEAP and end <= len(data) and place + HEAP_HEADER <= end:
                index, _, _, length = struct.unpack_from("<HHIQ", data, place)
                place += HEAP_HEADER + -(-length // 8) * 8 if index else length
                if place > end or (index, length) == (0, 0):
                    raise DataError(f"{path} is damaged near byte {start}. Copy or export it again.")
            start = data.find(HEAP, start + 1)


def _walk(group: h5py.Group, path: Path, depth: int, seen: list[int]) -> int:
    """The bytes that all datasets declare."""
    declared = 0
    for name in group:
        seen[0] += 1
        if depth > DEEPEST or seen[0] > MOST:
            raise DataError(
                f"{path} nests or holds too many groups at {group.name}. Export the variables alone."
            )
        link = group.get(name, getlink=True)
        if not isinstance(link, h5py.HardLink):
            kind = "external" if isinstance(link, h5py.ExternalLink) else "soft"
            raise DataError(f"{path}: {name!r} is a {kind} link. Export the file with its data inside.")
        item = group[name]
        if isinstance(item, h5py.Group):
            declared += _walk(item, path, depth + 1, seen)
        elif isinstance(item, h5py.Dataset):
            declared += _dataset(item, name, path)
    return declared


def _dataset(item: h5py.Dataset, name: str, path: Path) -> int:
    if item.external or item.is_virtual:
        raise DataError(f"{path}: {name!r} has its data in another file. Export the file with its data.")
    settings = item.id.get_create_plist()
    used = {settings.get_filter(number)[0] for number in range(settings.get_nfilters())}
    if used - FILTERS:
        raise DataError(f"{path}: {name!r} is packed with filter {min(used - FILTERS)}. Export it with zlib.")
    # Python integers: numpy's would overflow on a hostile shape.
    size = int(item.dtype.itemsize)
    for length in item.shape or ():
        size *= int(length)
    return size if item.dtype.kind != "O" else size + int(np.prod(item.shape or (1,), dtype=np.float64)) * 8
