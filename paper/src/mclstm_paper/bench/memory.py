"""How much memory a pass takes above its inputs: the high-water mark of a process that did nothing else.

`ru_maxrss` would not do: a new process inherits it from the one that started it. Linux keeps a mark of the
process's own, in /proc, and can reset it.
"""

from collections.abc import Callable
from pathlib import Path

from mclstm_paper.bench.unavailable import Unavailable

__all__ = ["increase"]

STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
MARK = "5"  # what Linux wants to hear to reset the mark to what is resident now


def increase(call: Callable[[], object]) -> float:
    """MB (a million bytes) that the process grew at most while it made the call, once.

    >>> increase(lambda: b"x" * 200_000_000) > 180
    True
    """
    if not (STATUS.exists() and RESET.exists()):
        raise Unavailable("peak memory is read from /proc, which only Linux has")
    RESET.write_text(MARK)
    before = resident("VmRSS")
    call()
    return resident("VmHWM") - before


def resident(what: str) -> float:
    """VmRSS, what is resident now, or VmHWM, its high-water mark, in MB."""
    lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
    return int(lines[what].split()[0]) * 1024 / 1e6
