"""Finds the library that this processor can run, and says what is missing if there is none."""

import ctypes
from functools import cache
from pathlib import Path
from typing import NamedTuple

from mclstm.ops.native.build import FAILURE, SOURCE, TARGETS, digest

__all__ = ["Status", "library", "status"]

# The fields of `struct Call` in call.h, in its order; all of them are eight bytes wide.
SIZES = ("E", "T", "B", "M", "A", "S", "K", "F", "wide", "form", "keeps_outflow", "input_norm", "cell_norm")
SIGHTS = ("sees_state", "sees_mass", "is_signed", "last", "threads")
VIEWS = ("x", "a", "s", "c0", "h", "c", "end", "dh", "dc", "dx", "da", "ds", "dc0")
STRIDES = ("data", "member", "step", "sample", "entry")
WEIGHTS = ("W_i", "b_i", "W_o", "b_o", "W_r", "B_r")
ARRAYS = (*WEIGHTS, "mask", "valid", *(f"d{name}" for name in WEIGHTS))
WIDTH = len(SIZES) + len(SIGHTS) + len(VIEWS) * len(STRIDES) + len(ARRAYS)
REBUILD = "run `python -m mclstm.ops.native.build` (needs g++)"
ELSEWHERE = "not for this processor"


class Status(NamedTuple):
    """Whether the native backend can run, by which library, and if not, why and what to do.

    skipped: why not by a better library, if anything but the processor is the reason.
    """

    available: bool
    library: str | None
    reason: str | None
    skipped: str | None = None


def status() -> Status:
    """What `mclstm doctor` says about the native backend.

    >>> found = status()
    >>> found.available == (found.reason is None)
    True
    """
    return _search(SOURCE.parent)[1]


@cache
def library() -> ctypes.CDLL | None:
    """The loaded kernel, or None."""
    return _search(SOURCE.parent)[0]


@cache
def _search(directory: Path) -> tuple[ctypes.CDLL | None, Status]:
    failure = directory / FAILURE
    said = failure.read_text() if failure.exists() else ""
    reasons: dict[str, str] = {}
    for name in TARGETS:
        loaded, reason = _open(directory / name)
        if loaded is not None:
            avoidable = [f"{better}: {why}" for better, why in reasons.items() if why != ELSEWHERE]
            skipped = f"{'; '.join(avoidable)}; {REBUILD}. {said}".strip() if avoidable else None
            return loaded, Status(True, name, None, skipped)
        reasons[name] = reason
    found = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
    return None, Status(False, None, f"{found}; {REBUILD}, or use backend='torch'. {said}".strip())


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
    if loaded.mclstm_call_bytes() != 8 * WIDTH:
        return None, "built for another interface"
    if not loaded.mclstm_runs_here():
        return None, ELSEWHERE
    for function in (loaded.mclstm_forward, loaded.mclstm_backward):
        function.argtypes = (ctypes.c_void_p,)
    return loaded, ""
