"""Random numbers by address: reproducible anywhere, disjoint between streams and seeds, uniform."""

import numpy as np
import pytest
import torch

from mclstm.tasks.streams import STREAMS, uniform


def test_same_numbers_as_numpy():
    raw = np.random.Generator(np.random.Philox(key=[9, STREAMS["test"]], counter=0))
    wanted = torch.from_numpy(raw.random(24, dtype=np.float32))
    assert torch.equal(uniform([9], "test", 0, 1, (24,)).flatten(), wanted)


@pytest.mark.parametrize("shape", [(8,), (3, 7), (5, 10)])
def test_any_item_is_addressable(shape):
    together = uniform([1, 2], "train", 10, 6, shape)
    for item in range(6):
        assert torch.equal(uniform([1, 2], "train", 10 + item, 1, shape)[:, 0], together[:, item])
    assert torch.equal(uniform([2], "train", 10, 6, shape)[0], together[1])


def test_far_positions_are_as_near_as_the_first():
    far = uniform([0], "train", 10**12, 1, (4,))
    assert torch.equal(far, uniform([0], "train", 10**12, 1, (4,)))
    assert not torch.equal(far, uniform([0], "train", 10**12 - 1, 1, (4,)))


def test_streams_seeds_and_items_share_nothing():
    drawn = [uniform([0, 1, 2], stream, 0, 4, (50,)).flatten(end_dim=1) for stream in STREAMS]
    rows = torch.cat(drawn)
    assert rows.unique(dim=0).shape == rows.shape
    # 84 rows of 50 numbers of 24 bits: about half a pair is expected to coincide by chance.
    assert rows.numel() - rows.unique().numel() <= 5


def test_uniform():
    u = uniform([5], "train", 0, 1, (200_000,)).double().flatten()
    assert u.min() >= 0
    assert u.max() < 1
    assert abs(u.mean() - 0.5) < 5 * (1 / 12 / u.numel()) ** 0.5
    counts = torch.histc(u, 100, 0, 1)
    chi = ((counts - 2000) ** 2 / 2000).sum()
    assert abs(chi - 99) < 5 * (2 * 99) ** 0.5


def test_seeds_below_zero_are_refused():
    with pytest.raises(ValueError, match="A seed is -1"):
        uniform([-1], "train", 0, 1, (8,))
