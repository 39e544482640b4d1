"""Memory that one update frees stays with the process, for the next update."""

import ctypes

__all__ = ["keep_freed_memory"]

TRIM_THRESHOLD, MMAP_MAX = -1, -4  # what glibc's malloc.h calls M_TRIM_THRESHOLD and M_MMAP_MAX
LARGEST = 2**31 - 1  # bytes, the most that fits its argument


def keep_freed_memory() -> bool:
    """Ask glibc's malloc to keep what is freed; returns whether it does.

    Every update allocates what the one before has freed. By default large tensors go back to the kernel,
    which must then fill their pages with zeros again: a third of the time of a small LSTM. The process keeps
    its peak of memory instead. Other C libraries are left alone.

    >>> keep_freed_memory() in (True, False)
    True
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(MMAP_MAX, 0) and mallopt(TRIM_THRESHOLD, LARGEST))
