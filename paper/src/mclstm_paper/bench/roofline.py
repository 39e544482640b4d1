"""The limit: how fast this machine multiplies float32 matrices, on the same threads in the same run."""

import time
from collections.abc import Callable
from typing import NamedTuple

import torch

__all__ = ["Product", "fastest_product"]


class Product(NamedTuple):
    """A matrix product and how many operations it takes."""

    call: Callable[[], object]
    operations: int


def product(size: int) -> Product:
    """Two square matrices of this size, multiplied into a third.

    >>> product(4).operations
    128
    """
    left, right, into = (torch.ones(size, size) for _ in range(3))
    return Product(lambda: torch.mm(left, right, out=into), 2 * size**3)


def fastest_product(sizes: tuple[int, ...], tries: int = 3) -> Product:
    """The size at which the machine is fastest; it is then timed among the candidates."""

    def rate(made: Product) -> float:
        return made.operations / min(_seconds(made) for _ in range(tries))

    return max((product(size) for size in sizes), key=rate)


def _seconds(made: Product) -> float:
    start = time.perf_counter()
    made.call()
    return time.perf_counter() - start
