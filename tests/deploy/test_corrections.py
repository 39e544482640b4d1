"""Corrections of stores: the Kalman filter beside its textbook form, and stores that stay >= 0."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from mclstm.deploy.corrections import inserted, kalman_update
from mclstm.errors import ConfigError

AMOUNTS = st.integers(0, 1000).map(float)


def ensemble(seed: int, count: int = 40, cells: int = 3) -> np.ndarray:
    """Realisations of one site, far from zero: (N, 1, K)."""
    source = np.random.default_rng(seed)
    mixed = source.standard_normal((count, cells)) @ source.standard_normal((cells, cells))
    return (100.0 + mixed)[:, np.newaxis]


@pytest.mark.parametrize("seed", range(5))
def test_mean_and_covariance_are_those_of_the_kalman_filter(seed: int) -> None:
    """A linear observation: the exact update of a Gaussian with the sample's mean and covariance."""
    stores, by, error = ensemble(seed), np.array([0.5, 2.0, 1.0]), 0.7
    mean, covariance = stores[:, 0].mean(0), np.cov(stores[:, 0].T)
    gain = covariance @ by / (by @ covariance @ by + error**2)
    updated = kalman_update(stores, stores @ by, np.array([352.0]), np.array([error]))[:, 0]
    np.testing.assert_allclose(updated.mean(0), mean + gain * (352.0 - by @ mean), rtol=1e-12)
    np.testing.assert_allclose(np.cov(updated.T), covariance - np.outer(gain, by @ covariance), atol=1e-10)


def test_an_exact_observation_is_met_and_a_worthless_one_changes_nothing() -> None:
    stores = ensemble(0)
    exact = kalman_update(stores, stores.sum(-1), np.array([310.0]), np.array([0.0]))
    np.testing.assert_allclose(exact.sum(-1), 310.0, rtol=1e-12)
    worthless = kalman_update(stores, stores.sum(-1), np.array([310.0]), np.array([1e12]))
    np.testing.assert_allclose(worthless, stores, rtol=1e-12)


def test_sites_do_not_touch_each_other_and_unknown_ones_stay() -> None:
    stores = np.concatenate([ensemble(0), ensemble(1), ensemble(2)], axis=1)
    observed, error = np.array([320.0, np.nan, 280.0]), np.array([1.0, 1.0, 2.0])
    updated = kalman_update(stores, stores.sum(-1), observed, error)
    assert np.array_equal(updated[:, 1], stores[:, 1])
    for site in (0, 2):
        alone = slice(site, site + 1)
        single = kalman_update(stores[:, alone], stores[:, alone].sum(-1), observed[alone], error[alone])
        np.testing.assert_allclose(updated[:, alone], single, rtol=1e-13)
    same = np.full((5, 1, 2), 3.0)  # realisations that agree, observed exactly: there is nothing to learn
    assert np.array_equal(kalman_update(same, same.sum(-1), np.array([9.0]), np.array([0.0])), same)


@settings(deadline=None, max_examples=150)
@given(
    stores=arrays.arrays(np.float64, (6, 2, 4), elements=AMOUNTS),
    by=arrays.arrays(np.float64, 4, elements=st.sampled_from([0.0, 0.25, 1.0, 1.75])),
    observed=arrays.arrays(np.float64, 2, elements=AMOUNTS),
    error=arrays.arrays(np.float64, 2, elements=st.sampled_from([0.0, 0.5, 30.0, 1e6])),
)
def test_no_store_becomes_negative_and_totals_are_those_of_the_filter(
    stores: np.ndarray, by: np.ndarray, observed: np.ndarray, error: np.ndarray
) -> None:
    predicted = stores @ by
    updated = kalman_update(stores, predicted, observed, error)
    assert (updated >= 0).all()
    assert np.isfinite(updated).all()
    # The same filter on the total as one more store, which is not cut off at zero.
    total = stores.sum(-1)
    spread = predicted - predicted.mean(0)
    variance, noise = (spread**2).sum(0) / 5 + error**2, error**2
    known = variance > 1e-12
    gain = ((total - total.mean(0)) * spread).sum(0) / 5 / np.where(known, variance, 1.0)
    shrink = 1.0 / (1.0 + np.sqrt(noise / np.where(known, variance, 1.0)))
    wanted = np.where(known, total + gain * (observed - predicted.mean(0) - shrink * spread), total)
    size = np.abs(total).max() + np.abs(wanted).max() + 1e-300
    np.testing.assert_allclose(updated.sum(-1), np.maximum(wanted, 0.0), atol=1e-9 * size)


@settings(deadline=None, max_examples=60)
@given(
    stores=arrays.arrays(np.float64, (3, 4), elements=AMOUNTS),
    observed=arrays.arrays(np.float64, 3, elements=AMOUNTS),
)
def test_inserted_amounts_are_met_in_the_shares_of_before(stores: np.ndarray, observed: np.ndarray) -> None:
    found = inserted(stores, observed, cells=[0, 3])
    assert (found >= 0).all()
    np.testing.assert_allclose(found[:, [0, 3]].sum(-1), observed, rtol=1e-14)
    assert np.array_equal(found[:, 1:3], stores[:, 1:3])
    held = stores[:, [0, 3]].sum(-1, keepdims=True)
    shares = np.where(held > 0, stores[:, [0, 3]] / np.where(held > 0, held, 1.0), 0.5)
    np.testing.assert_allclose(found[:, [0, 3]], shares * observed[:, np.newaxis], rtol=1e-14)


@pytest.mark.parametrize("cells", [[], [4], [-1], [1, 1]])
def test_cells_that_do_not_exist_are_refused(cells: list[int]) -> None:
    with pytest.raises(ConfigError, match="Choose some of the cells 0 to 3, each once"):
        inserted(np.ones((2, 4)), np.ones(2), cells)
