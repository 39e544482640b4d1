"""Random numbers by address: reproducible anywhere, disjoint between streams and seeds, uniform."""

import numpy as np
import pytest
import torch

from mclstm_paper.seeds.streams import STREAMS, fill_slowly, fill_uniform, philox, uniform

KNOWN = {  # counter, key and result of the generator's authors (Random123, kat_vectors)
    "zeros": ([0] * 4, 0, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    "ones": ([0xFFFFFFFF] * 4, 2**64 - 1, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    "pi": (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        0x299F31D0_A4093822,
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_answers(name):
    counter, key, wanted = KNOWN[name]
    assert [int(word) for word in philox([np.uint64(word) for word in counter], key)] == wanted


@pytest.mark.parametrize("numbers", [1, 4, 31, 33, 128, 1000, 1027])
def test_kernel_and_numpy_give_the_same(numbers):
    seeds, first = [0, 5, 2**40 + 3], 2**32 - 2
    fast, slow = torch.empty(3, 4, numbers), torch.empty(3, 4, numbers)
    assert fill_uniform(fast, seeds, 3, first), "the kernel is not built; run make env"
    fill_slowly(slow, seeds, 3, first)
    assert torch.equal(fast, slow)


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
