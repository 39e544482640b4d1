"""The order of samples is a function: permutations, addressable anywhere, the same on every machine."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mclstm.training.order import batch_indices, batches_per_epoch, locate, permutation

SEEDS = st.integers(0, 2**64 - 1)
SIZES = st.integers(1, 300)


@given(SEEDS, SEEDS, SIZES)
def test_each_epoch_is_a_permutation(seed: int, epoch: int, n: int) -> None:
    assert sorted(permutation(seed, epoch, n)) == list(range(n))


@given(SEEDS, st.integers(0, 99), SIZES, st.integers(1, 70))
def test_batches_in_any_order_make_the_epoch(seed: int, epoch: int, n: int, size: int) -> None:
    count = batches_per_epoch(n, size)
    backwards = [batch_indices(seed, epoch, p, n, size) for p in reversed(range(count))]
    assert np.array_equal(np.concatenate(backwards[::-1]), permutation(seed, epoch, n))
    assert all(len(batch) == size for batch in backwards[1:])


def test_seeds_and_epochs_differ() -> None:
    orders = [tuple(permutation(seed, epoch, 50)) for seed in range(20) for epoch in range(20)]
    assert len(set(orders)) == 400
    assert not np.array_equal(permutation(1, 2, 50), permutation(2, 1, 50))


def test_the_order_never_changes() -> None:
    """Written down once: a new numpy or another machine must not reorder the runs of the past."""
    assert permutation(0, 0, 8).tolist() == [0, 2, 1, 5, 4, 3, 6, 7]
    assert permutation(2**64 - 1, 7, 8).tolist() == [3, 0, 7, 4, 6, 1, 5, 2]


def test_a_new_process_gives_the_same() -> None:
    code = "from mclstm.training.order import batch_indices as b; print(b(3, 5, 2, 1000, 64).tolist())"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == str(batch_indices(3, 5, 2, 1000, 64).tolist())


def test_every_sample_is_first_about_equally_often() -> None:
    firsts = np.bincount([permutation(0, epoch, 10)[0] for epoch in range(5000)], minlength=10)
    assert firsts.min() > 400
    assert firsts.max() < 600


def test_the_remembered_order_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        permutation(0, 0, 8)[0] = 1


@pytest.mark.parametrize(("seed", "epoch"), [(-1, 0), (0, -1), (2**64, 0)])
def test_seed_and_epoch_outside_the_key_are_refused(seed: int, epoch: int) -> None:
    with pytest.raises(ValueError, match="must lie between 0 and"):
        permutation(seed, epoch, 3)


@pytest.mark.parametrize("position", [-1, 3])
def test_a_batch_outside_the_epoch_is_refused(position: int) -> None:
    with pytest.raises(ValueError, match="has no batch"):
        batch_indices(0, 0, position, 10, 4)


def test_locate_counts_through_the_epochs() -> None:
    assert [locate(u, 10, 4) for u in range(4)] == [(0, 0), (0, 1), (0, 2), (1, 0)]
