"""The kernels of the paper as a loaded library, searched and checked like the kernel of `mclstm`."""

import ctypes
from functools import cache
from pathlib import Path

from mclstm.ops.native.build import Status, search

__all__ = ["SOURCE", "library", "status"]

SOURCE = Path(__file__).with_name("paper.cpp")


def status() -> Status:
    """Whether the kernels can run here, the file they are in, and if not, the reason."""
    return search(SOURCE, SOURCE.parent)[1]


@cache
def library() -> ctypes.CDLL | None:
    """The loaded library, or None; then torch computes the same."""
    return search(SOURCE, SOURCE.parent)[0]
