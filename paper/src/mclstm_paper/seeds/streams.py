"""Uniform random numbers by address: they depend on (seed, stream, position), not on earlier draws.

Philox 4x32-10 (Salmon et al., 2011) is a counter-based generator: it encrypts a counter. The key is the seed;
the counter holds the stream, the position of an item and a block in it. Streams share no numbers, and the
millionth batch costs as much as the first. The kernel library computes the numbers; without it NumPy computes
the same ones.
"""

import ctypes
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mclstm_paper.kernels.library import library

__all__ = ["STREAMS", "philox", "uniform"]

STREAMS: dict[str, int] = {
    "train": 0,
    "validation": 1,
    "test": 2,
    "long": 3,
    "range": 4,
    "threshold": 5,
    "published addition": 6,
}

Words = NDArray[np.uint64]  # 32 bits each; the room above is for products
FACTORS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
STEPS = (0x9E3779B9, 0xBB67AE85)
HALF, LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


def uniform(seeds: Sequence[int], stream: str, first: int, items: int, shape: tuple[int, ...]) -> Tensor:
    """U[0, 1) in float32, 24 random bits each: (E, items, *shape), item j at position first + j of its seed.

    >>> ten = uniform([3, 4], "train", first=0, items=10, shape=(2, 5))
    >>> ten.shape, torch.equal(uniform([4], "train", first=7, items=1, shape=(2, 5))[0, 0], ten[1, 7])
    (torch.Size([2, 10, 2, 5]), True)
    """
    keys = [require_seed(seed) for seed in seeds]
    out = torch.empty(len(keys), items, int(np.prod(shape)), dtype=torch.float32)
    if not fill_uniform(out, keys, STREAMS[stream], first):
        fill_slowly(out, keys, STREAMS[stream], first)
    return out.view(len(keys), items, *shape)


def fill_uniform(out: Tensor, seeds: Sequence[int], stream: int, first: int) -> bool:
    """Fill with U[0, 1) by the kernel library, item j at position first + j of its seed; False without it.

    out: (E, items, numbers) float32, contiguous

    >>> fill_uniform(torch.empty(2, 3, 5), seeds=[7, 8], stream=0, first=0) == (library() is not None)
    True
    """
    kernel = library()
    if kernel is None:
        return False
    members, items, numbers = out.shape
    keys = (ctypes.c_uint64 * members)(*seeds)
    kernel.mclstm_uniform(
        keys,
        ctypes.c_int64(members),
        ctypes.c_uint64(first),
        ctypes.c_int64(items),
        ctypes.c_uint32(stream),
        ctypes.c_int64(numbers),
        ctypes.c_void_p(out.data_ptr()),
    )
    return True


def fill_slowly(out: Tensor, seeds: Sequence[int], stream: int, first: int) -> None:
    """Fill as `fill_uniform` does, without the kernel: out (E, items, numbers) float32.

    Number n of an item is word n / blocks of its block n % blocks.
    """
    _, items, numbers = out.shape
    blocks = -(-numbers // 4)
    position = (np.uint64(first) + np.arange(items, dtype=np.uint64)).reshape(-1, 1)
    counter: list[Words | np.uint64] = [
        np.arange(blocks, dtype=np.uint64),
        position & LOW,
        position >> HALF,
        np.uint64(stream),
    ]
    for row, seed in zip(out, seeds, strict=True):
        words = np.concatenate(philox(counter, seed), axis=1)[:, :numbers]
        row.copy_(torch.from_numpy((words >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-24)))


def philox(counter: Sequence[Words | np.uint64], key: int) -> list[Words]:
    """Four words of 32 random bits for each counter of four words, ten rounds.

    >>> [f"{word:08x}" for word in philox([np.uint64(0)] * 4, 0)]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    a, b, c, d = np.broadcast_arrays(*counter)
    low, high = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        first, second = a * FACTORS[0], c * FACTORS[1]
        a, b = (second >> HALF) ^ b ^ np.uint64(low), second & LOW
        c, d = (first >> HALF) ^ d ^ np.uint64(high), first & LOW
        low, high = (low + STEPS[0]) & 0xFFFFFFFF, (high + STEPS[1]) & 0xFFFFFFFF
    return [a, b, c, d]


def require_seed(seed: int) -> int:
    if not 0 <= seed < 2**63:
        raise ValueError(f"A seed is {seed}; give a whole number from 0 to 2^63 - 1.")
    return int(seed)
