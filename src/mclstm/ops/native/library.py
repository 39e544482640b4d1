"""Finds the library that this processor can run, and says what is missing if there is none."""

import ctypes
from functools import cache
from pathlib import Path
from typing import NamedTuple

from mclstm.ops.native.build import FAILURE, SOURCE, TARGETS, digest, file_name

__all__ = ["Status", "library", "search", "status"]

# The fields of `struct Call` in call.h, in its order; all of them are eight bytes wide.
SIZES = ("E", "T", "B", "M", "A", "S", "K", "F", "wide", "form", "keeps_outflow", "input_norm", "cell_norm")
SIGHTS = ("sees_state", "sees_mass", "is_signed", "last", "threads")
VIEWS = ("x", "a", "s", "c0", "h", "c", "end", "dh", "dc", "dx", "da", "ds", "dc0")
STRIDES = ("data", "member", "step", "sample", "entry")
WEIGHTS = ("W_i", "b_i", "W_o", "b_o", "W_r", "B_r")
ARRAYS = (*WEIGHTS, "mask", "valid", *(f"d{name}" for name in WEIGHTS))
WIDTH = len(SIZES) + len(SIGHTS) + len(VIEWS) * len(STRIDES) + len(ARRAYS)
FOLDER = SOURCE.parent  # where the built libraries lie
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
    return search(SOURCE, FOLDER)[1]


@cache
def library() -> ctypes.CDLL | None:
    """The loaded kernel, or None."""
    loaded = search(SOURCE, FOLDER)[0]
    if loaded is not None:
        for function in (loaded.mclstm_forward, loaded.mclstm_backward):
            function.argtypes = (ctypes.c_void_p,)
    return loaded


@cache
def search(source: Path, folder: Path) -> tuple[ctypes.CDLL | None, Status]:
    """The best library of a source in a folder that this processor can run; other kernels use it too."""
    failure = folder / FAILURE
    said = failure.read_text() if failure.exists() else ""
    reasons: dict[str, str] = {}
    for target in TARGETS:
        name = file_name(source, target)
        loaded, reason = _open(folder / name, digest(source))
        if loaded is not None:
            avoidable = [f"{better}: {why}" for better, why in reasons.items() if why != ELSEWHERE]
            skipped = f"{'; '.join(avoidable)}; {REBUILD}. {said}".strip() if avoidable else None
            return loaded, Status(True, name, None, skipped)
        reasons[name] = reason
    whole = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
    return None, Status(False, None, f"{whole}; {REBUILD}, or use backend='torch'. {said}".strip())


def _open(path: Path, expected: str) -> tuple[ctypes.CDLL | None, str]:
    if not path.exists():
        return None, "not built"
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError as error:
        return None, f"cannot be loaded ({error})"
    loaded.mclstm_source.restype = ctypes.c_char_p
    if loaded.mclstm_source() != expected.encode():
        return None, "built from another source"
    return (loaded, "") if loaded.mclstm_runs_here() else (None, ELSEWHERE)
