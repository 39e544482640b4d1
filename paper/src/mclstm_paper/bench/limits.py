"""What the machine can do at most: multiply-adds in registers, and the matrix products of two libraries.

No code exceeds the rate of the multiply-adds, so they are the limit. The better of the products says what a
good library reaches. All are timed in the same rounds as the candidates.
"""

import timeit
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import NamedTuple

import numpy as np
import torch

from mclstm_paper.bench.ratios import FMA_LOOP
from mclstm_paper.kernels.fma_rate import fma_loop, multiply_adds
from mclstm_paper.kernels.library import library, status

__all__ = ["PRODUCTS", "Work", "fastest", "limits", "numpy_product", "torch_product"]


class Work(NamedTuple):
    """A call and how many operations it executes; a multiply-add counts as two."""

    call: Callable[[], object]
    operations: int

    def rate(self, tries: int) -> float:
        """Operations per second, the median of several tries.

        Not the best: beside other processes a short call is sometimes lucky, and then slow in every round.
        """
        return self.operations / median(timeit.repeat(self.call, number=1, repeat=tries))


def torch_product(size: int) -> Work:
    """Two square matrices of this size, multiplied into a third by torch.

    >>> torch_product(4).operations
    128
    """
    left, right, into = (torch.ones(size, size) for _ in range(3))
    return Work(lambda: torch.mm(left, right, out=into), 2 * size**3)


def numpy_product(size: int) -> Work:
    """The same by numpy, whose library is another one than torch's.

    >>> numpy_product(4).call().dtype
    dtype('float32')
    """
    left, right, into = (np.ones((size, size), np.float32) for _ in range(3))
    return Work(lambda: np.matmul(left, right, out=into), 2 * size**3)


PRODUCTS = {"torch matrix product": torch_product, "numpy matrix product": numpy_product}


def fastest(works: Sequence[Work], tries: int = 3) -> Work:
    """The one at which the machine is fastest; it is then timed among the candidates."""
    return max(works, key=lambda work: work.rate(tries))


def limits(sizes: Sequence[int], iterations: int, threads: int, missing: dict[str, str]) -> dict[str, Work]:
    """By name: the loop of multiply-adds, and each library's product of its fastest size.

    `missing` gets the reason where the loop is not built.
    """
    works: dict[str, Work] = {}
    if library() is None:
        missing[FMA_LOOP] = str(status().reason)
    else:
        works[FMA_LOOP] = Work(partial(fma_loop, iterations, threads), 2 * multiply_adds(iterations, threads))
    return works | {name: fastest([product(size) for size in sizes]) for name, product in PRODUCTS.items()}
