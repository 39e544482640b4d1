"""The paper's kernels as a loaded library, found and checked as the library's own kernel is."""

import ctypes
from functools import cache
from pathlib import Path

from mclstm.ops.native.library import Status, search

__all__ = ["SOURCE", "library", "status"]

SOURCE = Path(__file__).with_name("paper.cpp")


def status() -> Status:
    """Whether the kernels can run here, by which library, and if not, why."""
    return search(SOURCE, SOURCE.parent)[1]


@cache
def library() -> ctypes.CDLL | None:
    """The loaded library, or None: torch then computes the same."""
    return search(SOURCE, SOURCE.parent)[0]
