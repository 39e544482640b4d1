"""zarr, format 2 or 3: a folder of chunks over (site, time), of which only the named sites are read."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import xarray as xr

from mclstm.data.readers.hdf5_safety import require_plausible_size
from mclstm.data.readers.netcdf import selected, sites_in, split_by_site
from mclstm.data.site_tables import Raw, Request
from mclstm.errors import DataError

__all__ = ["holds_zarr", "load", "open_group", "sites"]

MARKS = ("zarr.json", ".zgroup")
# What arrays may be packed with; others may run code, or need packages.
CODECS = {
    "bytes", "transpose", "sharding_indexed", "vlen-utf8", "vlen-bytes", "crc32c", "crc32", "adler32",
    "blosc", "zstd", "gzip", "zlib", "lz4", "bz2", "lzma", "shuffle", "delta", "fixedscaleoffset",
}  # fmt: skip


def holds_zarr(path: Path) -> bool:
    """Whether a folder is a group of zarr."""
    return any((path / name).is_file() for name in MARKS)


def load(path: Path, request: Request) -> Raw:
    """Read all sites, or the named ones; the others stay on the disk."""
    data, size = open_group(path)
    with _one_sentence(path), data:
        chosen = selected(data, path, request)
        require_plausible_size(path, sum(item.nbytes for item in chosen.variables.values()), size)
        chosen = chosen.load()
    return split_by_site(chosen, path, request)


def sites(path: Path, request: Request) -> list[str]:
    """The sites that it holds; no values are read."""
    with _one_sentence(path), open_group(path)[0] as data:
        return sites_in(data, path, request)


def open_group(path: Path) -> tuple[xr.Dataset, int]:
    """The group with its values still on the disk, and the bytes of all its files."""
    import zarr

    if not holds_zarr(path):
        raise DataError(f"{path} is no group of zarr. Name its folder, or choose another --reader.")
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    with _one_sentence(path):
        # Not the copy of all metadata that some writers add: it may say something else.
        group = zarr.open_group(path, mode="r", use_consolidated=False)
        for name, array in group.arrays():
            _require_known_codecs(path, name, array.metadata.to_dict())
            # A chunk is unpacked as a whole, and coordinates are read when the group is opened.
            chunk = math.prod(array.shards or array.chunks) * array.dtype.itemsize
            require_plausible_size(path, max(chunk, array.nbytes if array.ndim == 1 else 0), size)
        return xr.open_zarr(path, chunks=None, consolidated=False, decode_timedelta=False), size


@contextmanager
def _one_sentence(path: Path) -> Iterator[None]:
    """Metadata may be damaged anywhere, and chunks are unpacked by many libraries: any error is theirs."""
    try:
        yield
    except (DataError, MemoryError):
        raise
    except Exception as error:
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise DataError(f"{path} cannot be read ({reason}). Copy or export it again.") from None


def _require_known_codecs(path: Path, name: str, about: dict[str, Any]) -> None:
    packed = [*(about.get("codecs") or ()), *(about.get("filters") or ()), about.get("compressor")]
    for codec in _names(packed):
        if codec not in CODECS:
            raise DataError(f"{path}: {name!r} is packed with {codec!r}. Export it with zstd or blosc.")


def _names(codecs: Any) -> Iterator[str]:
    """The names of codecs and of those inside them."""
    for codec in codecs:
        if isinstance(codec, dict):
            yield str(codec.get("name") or codec.get("id"))
            inside = codec.get("configuration") or {}
            yield from _names([*inside.get("codecs", ()), *inside.get("index_codecs", ())])
