"""The order of samples as a pure function of (seed, epoch, position).

There is no iterator to save or restore: a resumed run computes the batch it would have had. Only the raw
output of Philox is used, a counter-based generator whose stream numpy guarantees for ever; numpy's own
permutations may change with its version.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["batch_indices", "batches_per_epoch", "draw_seed", "locate", "orders", "permutation", "shifts"]

Indices = NDArray[np.int64]


@lru_cache(maxsize=2)
def permutation(seed: int, epoch: int, n: int) -> Indices:
    """The samples 0 ... n - 1 in the order of one epoch.

    order = argsort(n words of Philox under the key (seed, epoch)).
    The result (n,) is read-only, because the last two epochs are cached.

    >>> permutation(seed=1, epoch=0, n=6).tolist()
    [3, 5, 2, 0, 1, 4]
    """
    order = np.argsort(_words(seed, epoch, n), kind="stable").astype(np.int64)
    order.flags.writeable = False
    return order


def shifts(seed: int, epoch: int, n: int, every: int) -> Indices:
    """A shift from 0 to every - 1 for each of n sites in one epoch, (n,).

    shift = word of Philox under the key (seed, epoch), from another counter than the order, modulo `every`.

    >>> shifts(seed=1, epoch=0, n=6, every=10).tolist()
    [3, 9, 4, 6, 6, 1]
    """
    return (_words(seed, epoch, n, stream=1) % np.uint64(every)).astype(np.int64)


def draw_seed(seed: int, update: int, rank: int) -> int:
    """The seed of what a rank draws in an update, such as what dropout drops.

    It is a word of Philox under the key (seed, update), from a counter of its own for each rank.

    >>> draw_seed(seed=1, update=0, rank=1) == draw_seed(seed=1, update=0, rank=2)
    False
    """
    return int(_words(seed, update, 1, stream=2 + rank)[0])


def _words(seed: int, epoch: int, n: int, stream: int = 0) -> NDArray[np.uint64]:
    for name, value in (("seed", seed), ("epoch", epoch)):
        if not 0 <= value < 2**64:
            raise ValueError(f"The {name} must lie between 0 and 2**64 - 1: got {value}.")
    key, counter = (np.array(words, dtype=np.uint64) for words in ([seed, epoch], [0, 0, 0, stream]))
    words: NDArray[np.uint64] = np.random.Philox(key=key, counter=counter).random_raw(n)
    return words


@lru_cache(maxsize=2)
def orders(seeds: tuple[int, ...], epoch: int, n: int) -> tuple[Indices, ...]:
    """The order of one epoch for every seed: members of an ensemble see their samples as if trained alone.

    >>> [order.tolist() for order in orders(seeds=(1, 2), epoch=0, n=3)]
    [[2, 0, 1], [1, 0, 2]]
    """
    return tuple(permutation(seed, epoch, n) for seed in seeds)


def batches_per_epoch(n: int, batch_size: int) -> int:
    """The number of batches in one epoch of n samples; the last may be smaller, no sample is dropped.

    >>> batches_per_epoch(10, 4)
    3
    """
    return -(-n // batch_size)


def batch_indices(seed: int, epoch: int, position: int, n: int, batch_size: int) -> Indices:
    """The samples of batch number `position` of an epoch, (B,); B = batch_size except for the last batch.

    >>> batch_indices(seed=1, epoch=0, position=1, n=6, batch_size=4).tolist()
    [1, 4]
    """
    if not 0 <= position < batches_per_epoch(n, batch_size):
        raise ValueError(f"An epoch of {n} samples in batches of {batch_size} has no batch {position}.")
    return permutation(seed, epoch, n)[position * batch_size : (position + 1) * batch_size]


def locate(update: int, n: int, batch_size: int) -> tuple[int, int]:
    """The epoch and the position of the update with this number, counted from 0 over the whole run.

    >>> locate(update=7, n=10, batch_size=4)
    (2, 1)
    """
    return divmod(update, batches_per_epoch(n, batch_size))
