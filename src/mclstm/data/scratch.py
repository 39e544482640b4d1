"""Arrays in a file without a name, which is gone when its process is, killed or not."""

import tempfile
import weakref
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mclstm.data.readers import cache
from mclstm.errors import StorageError

__all__ = ["Place", "Scratch"]


class Place(NamedTuple):
    """Where an array lies in a file."""

    offset: int  # bytes
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


class Scratch:
    """A file that arrays are appended to and read from."""

    def __init__(self) -> None:
        folder = cache.folder()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        except OSError as error:
            raise _storage(error) from error
        weakref.finalize(self, self.file.close)  # it is open as long as this object lives

    def append(self, values: NDArray[Any]) -> Place:
        """Write an array behind the others."""
        try:
            place = Place(self.file.seek(0, 2), values.dtype, values.shape)
            self.file.write(values.tobytes())
            self.file.flush()  # here, where a full disk is named, and not in a later read
        except OSError as error:
            raise _storage(error) from error
        return place

    def read(self, place: Place) -> NDArray[Any]:
        """An array that was written, in new memory."""
        self.file.seek(place.offset)
        count = int(np.prod(place.shape))
        values: NDArray[Any] = np.fromfile(self.file, place.dtype, count).reshape(place.shape)
        return values


def _storage(error: OSError) -> StorageError:
    remedy = "Make room there, or name another folder in the environment variable MCLSTM_CACHE."
    reason = error.strerror or error
    return StorageError(f"Cannot keep the data in parts in {cache.folder()}: {reason}. {remedy}")
