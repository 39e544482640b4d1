"""Peak memory of one call; each number is measured in a process of its own (worker.py)."""

from collections.abc import Callable
from pathlib import Path

from mclstm_paper.bench.peers import Unavailable

__all__ = ["peak_memory"]

STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
MARK = "5"  # written to RESET, it sets the high-water mark to what is resident now


def peak_memory(call: Callable[[], object]) -> float:
    """Peak memory of one call above what the process held before, in MB (a million bytes).

    It reads the high-water mark that Linux keeps in /proc and can reset. `ru_maxrss` does not serve: a new
    process inherits it from its parent.

    >>> peak_memory(lambda: b"x" * 200_000_000) > 180
    True
    """
    if not (STATUS.exists() and RESET.exists()):
        raise Unavailable("peak memory is read from /proc, which only Linux has")
    RESET.write_text(MARK)
    before = resident("VmRSS")
    call()
    return resident("VmHWM") - before


def resident(name: str) -> float:
    """VmRSS (resident now) or VmHWM (its high-water mark), in MB."""
    lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
    return int(lines[name].split()[0]) * 1024 / 1e6
