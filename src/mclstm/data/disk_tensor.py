"""Tensors of all sites on the disk, of which a batch reads its windows.

Training reads some hundred windows at a time from all over the sites. A memory map of plain float32 rows
gives them without unpacking and without a call for each; chunks of zarr would be unpacked for every window.
"""

import mmap
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mclstm.data.scratch import Scratch

__all__ = ["DiskTensor"]


class DiskTensor:
    """A float32 tensor (sites, ...) on the disk: `tensor[key]` reads what the key names into memory.

    >>> rows = DiskTensor()
    >>> for part in (torch.zeros(2, 3), torch.ones(1, 3)):
    ...     rows.append(part)
    >>> len(rows), rows[torch.tensor([2, 0]), 1].tolist()
    (3, [1.0, 0.0])
    """

    def __init__(self) -> None:
        self._scratch = Scratch()
        self._shape: tuple[int, ...] = (0,)
        self._map: mmap.mmap | None = None

    def append(self, rows: Tensor) -> None:  # (some sites, ...)
        """Add the rows of further sites; all of them are written before any is read."""
        self._scratch.append(rows.numpy().astype(np.float32, copy=False))
        self._shape = (self._shape[0] + len(rows), *rows.shape[1:])

    def __len__(self) -> int:
        return self._shape[0]

    def __getitem__(self, key: Any) -> Tensor:
        keys = key if isinstance(key, tuple) else (key,)
        plain = tuple(part.numpy() if isinstance(part, Tensor) else part for part in keys)
        if 0 in self._shape:  # an empty file has no map
            return torch.from_numpy(np.zeros(self._shape, np.float32)[plain])
        if self._map is None:
            self._map = mmap.mmap(self._scratch.file.fileno(), 0, access=mmap.ACCESS_READ)
        values = np.array(np.frombuffer(self._map, np.float32).reshape(self._shape)[plain])
        if hasattr(self._map, "madvise"):
            # Pages that were read would count as memory of this process until the system needs them.
            self._map.madvise(mmap.MADV_DONTNEED)
        return torch.from_numpy(values)
