"""Uniform random numbers by address: (seed, stream, position) says which, no matter what was drawn before.

A counter-based generator (Philox 4x64) encrypts its counter: the key is (seed, stream), the counter the
position. Streams with different keys share nothing, and the millionth batch costs as much as the first.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

__all__ = ["STREAMS", "uniform"]

STREAMS: dict[str, int] = {
    "train": 0,
    "validation": 1,
    "test": 2,
    "long": 3,
    "range": 4,
    "threshold": 5,
    "published addition": 6,
}

# A Philox block is four words of 64 bits: eight numbers of 32. Items start at a block, so that drawing
# several at once gives the same numbers as drawing them one by one.
BLOCK = 8


def uniform(seeds: Sequence[int], stream: str, first: int, items: int, shape: tuple[int, ...]) -> Tensor:
    """U[0, 1) in float32, 24 random bits each: (E, items, *shape), item j at position first + j of its seed.

    >>> ten = uniform([3, 4], "train", first=0, items=10, shape=(2, 5))
    >>> ten.shape, torch.equal(uniform([4], "train", first=7, items=1, shape=(2, 5))[0, 0], ten[1, 7])
    (torch.Size([2, 10, 2, 5]), True)
    """
    numbers = int(np.prod(shape))
    blocks = -(-numbers // BLOCK)
    words = np.empty((len(seeds), items * blocks * BLOCK // 2), dtype=np.uint64)
    for row, seed in zip(words, seeds, strict=True):
        key = [require_seed(seed), STREAMS[stream]]
        row[:] = np.random.Philox(key=key, counter=first * blocks).random_raw(row.size)
    bits = torch.from_numpy(words.view(np.int32)).view(len(seeds), items, blocks * BLOCK)
    # The low 8 bits are dropped and the sign with them: 24 bits are what float32 holds exactly.
    values = (
        bits[..., :numbers].bitwise_right_shift(8).bitwise_and_(0xFFFFFF).to(torch.float32).mul_(2.0**-24)
    )
    return values.view(len(seeds), items, *shape)


def require_seed(seed: int) -> int:
    if not 0 <= seed < 2**63:
        raise ValueError(f"A seed is {seed}; give a whole number from 0 to 2^63 - 1.")
    return int(seed)
