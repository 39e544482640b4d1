"""The loop of fused multiply-adds in registers, whose rate no float32 code on the same threads exceeds."""

import ctypes

from mclstm_paper.kernels.library import library

__all__ = ["fma_loop", "multiply_adds"]


def multiply_adds(iterations: int, threads: int) -> int:
    """How many numbers are multiplied and added to by the loop on all threads; needs the library.

    >>> library() is None or multiply_adds(20, threads=2) == 40 * multiply_adds(1, threads=1)
    True
    """
    width: int = _kernel().mclstm_fma_width()
    return iterations * threads * width


def fma_loop(iterations: int, threads: int) -> list[float]:
    """Run s <- s / 2 + 1 from s = 0 on all threads at once: the sum of all s of each thread.

        sum = 2 (1 - 2^-iterations) x numbers per thread

    >>> library() is None or fma_loop(2, threads=1) == [1.5 * multiply_adds(1, threads=1)]
    True
    """
    sums = (ctypes.c_float * threads)()
    _kernel().mclstm_fma_loop(ctypes.c_int64(iterations), ctypes.c_int64(threads), sums)
    return list(sums)


def _kernel() -> ctypes.CDLL:
    kernel = library()
    assert kernel is not None, "ask `library()` first"
    kernel.mclstm_fma_width.restype = ctypes.c_int64
    return kernel
