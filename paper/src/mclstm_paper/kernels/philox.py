"""Uniform random numbers by address, from the kernel library."""

import ctypes
from collections.abc import Sequence

from torch import Tensor

from mclstm_paper.kernels.library import library

__all__ = ["fill_uniform"]


def fill_uniform(out: Tensor, seeds: Sequence[int], stream: int, first: int) -> bool:
    """Fill with U[0, 1) by Philox 4x32-10, item j at position first + j of its seed; False without a kernel.

    out: (E, items, numbers) float32, contiguous

    >>> import torch
    >>> fill_uniform(torch.empty(2, 3, 5), seeds=[7, 8], stream=0, first=0) == (library() is not None)
    True
    """
    kernel = library()
    if kernel is None:
        return False
    members, items, numbers = out.shape
    keys = (ctypes.c_uint64 * members)(*seeds)
    kernel.mclstm_uniform(
        keys,
        ctypes.c_int64(members),
        ctypes.c_uint64(first),
        ctypes.c_int64(items),
        ctypes.c_uint32(stream),
        ctypes.c_int64(numbers),
        ctypes.c_void_p(out.data_ptr()),
    )
    return True
