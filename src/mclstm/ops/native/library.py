"""Finds the library that this processor can run, and says what is missing if there is none."""

import ctypes
from functools import cache
from pathlib import Path
from typing import NamedTuple

from mclstm.ops.native.build import FAILURE, SOURCE, TARGETS, digest

__all__ = ["VIEWS", "Call", "Status", "View", "library", "status"]

SIZES = [
    "E",
    "T",
    "B",
    "M",
    "A",
    "K",
    "G",
    "F",
    "wide",
    "input_norm",
    "cell_norm",
    "sees_state",
    "sees_mass",
    "is_signed",
    "keeps_outflow",
    "own_base",
    "threads",
]
VIEWS = ["x", "a", "c0", "h", "c", "dh", "dc", "dx", "da", "dc0"]
ARRAYS = ["W", "base", "fixed", "fallback", "mask", "valid", "dW", "dbase", "dfixed"]
REBUILD = "run `python -m mclstm.ops.native.build` (needs g++), or use backend='torch'"


class View(ctypes.Structure):
    """`struct View` of call.h: where a tensor (E, T, B, entries) lies."""

    _fields_ = [("data", ctypes.c_void_p)] + [
        (name, ctypes.c_int64) for name in ("member", "step", "sample", "entry")
    ]


class Call(ctypes.Structure):
    """`struct Call` of call.h, field by field."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in SIZES),
        *((name, View) for name in VIEWS),
        *((name, ctypes.c_void_p) for name in ARRAYS),
    ]


class Status(NamedTuple):
    """Whether the native backend can run, by which library, and if not, why and what to do."""

    available: bool
    library: str | None
    reason: str | None


def status() -> Status:
    """What `mclstm doctor` says about the native backend.

    >>> found = status()
    >>> found.available == (found.reason is None)
    True
    """
    return _search(SOURCE.parent)[1]


def library() -> ctypes.CDLL | None:
    """The loaded kernel, or None."""
    return _search(SOURCE.parent)[0]


@cache
def _search(directory: Path) -> tuple[ctypes.CDLL | None, Status]:
    reasons = []
    for name in TARGETS:
        loaded, reason = _open(directory / name)
        if loaded is not None:
            return loaded, Status(True, name, None)
        reasons.append(f"{name}: {reason}")
    failure = directory / FAILURE
    said = failure.read_text() if failure.exists() else ""
    return None, Status(False, None, f"{'; '.join(reasons)}; {REBUILD}. {said}".strip())


def _open(path: Path) -> tuple[ctypes.CDLL | None, str]:
    if not path.exists():
        return None, "not built"
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError as error:
        return None, f"cannot be loaded ({error})"
    loaded.mclstm_source.restype = ctypes.c_char_p
    if loaded.mclstm_source() != digest().encode():
        return None, "built from another source"
    if not loaded.mclstm_runs_here():
        return None, "not for this processor"
    return loaded, ""
