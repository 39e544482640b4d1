"""Random Markov matrices: s₁ → 1, quarter-circular law on [0, 2σ/m], circular law of radius σ/m."""

import functools

import numpy as np
import pytest

from mclstm_paper.theory.markov_chain import (
    ENTRIES,
    bulk_eigenvalues,
    bulk_singular_values,
    circular_distance,
    first_redistribution,
    lognormal_ratio,
    quarter_circular_cdf,
    quarter_circular_distance,
    random_markov,
)

SIZES = (24, 96, 320)
LAWS = {"quarter-circular": quarter_circular_distance, "circular": circular_distance}


@functools.cache
def matrices(entries, cells):
    return [random_markov(cells, entries, seed) for seed in range(3)]


def test_cdf_integrates_its_density():
    s = np.linspace(0.0, 2.0, 100_001)
    density = np.sqrt(4.0 - s**2) / np.pi
    integral = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(s))])
    np.testing.assert_allclose(quarter_circular_cdf(s), integral, atol=1e-7)


@pytest.mark.parametrize("entries", ENTRIES)
def test_stated_ratio_is_that_of_the_entries(entries):
    draw, ratio = ENTRIES[entries]
    S = draw(np.random.default_rng(0), (1500, 1500))
    assert S.min() >= 0
    assert S.std() / S.mean() == pytest.approx(ratio, rel=0.01)


@pytest.mark.parametrize("entries", ENTRIES)
def test_largest_singular_value_tends_to_one(entries):
    """s₁ >= 1 for every Markov matrix, and s₁ - 1 falls as fast as 1/K."""
    excess = [np.mean([np.linalg.norm(R, 2) - 1.0 for R in matrices(entries, cells)]) for cells in SIZES]
    assert min(excess) >= 0.0
    assert excess[-1] < 2e-3
    assert excess[0] / excess[-1] > 0.5 * SIZES[-1] / SIZES[0]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("entries", ENTRIES)
def test_distance_from_the_law_shrinks(entries, law):
    ratio = ENTRIES[entries][1]
    gaps = [np.mean([LAWS[law](R, ratio) for R in matrices(entries, cells)]) for cells in SIZES]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[-1] < 0.05


def test_constants_of_the_paper_do_not_fit():
    """The paper has [0, σ] and radius σ without the mean: off by 2 in one law and by m in both."""
    R, ratio = matrices("uniform", SIZES[-1])[0], ENTRIES["uniform"][1]
    singular, eigen = bulk_singular_values(R, ratio), np.abs(bulk_eigenvalues(R, ratio))
    assert singular.max() == pytest.approx(2.0, abs=0.08)
    assert np.mean(singular > 1.0) == pytest.approx(
        1.0 - float(quarter_circular_cdf(np.array(1.0))), abs=0.02
    )
    assert eigen.max() == pytest.approx(1.0, abs=0.08)
    # Uniform entries have mean 1/2, so in units of σ alone both edges lie twice as far out.
    sigma = ratio * 0.5
    assert np.sqrt(len(R)) * np.linalg.svd(R, compute_uv=False)[1] / sigma == pytest.approx(4.0, abs=0.16)


def test_dynamic_start_obeys_both_laws():
    """stay=None: logits are a random point on a sphere, so exp of them is as good as iid."""
    R = first_redistribution(96, "dynamic", seed=0)
    logits = np.log(R)
    ratio = lognormal_ratio((logits - logits.mean(axis=1, keepdims=True)).std())
    assert quarter_circular_distance(R, ratio) < 0.04
    assert circular_distance(R, ratio) < 0.15


def test_static_start_obeys_neither():
    """stay=None: orthogonal logits of size 1/sqrt(K) are not iid; the spectrum is a ring, not a disk."""
    R = first_redistribution(192, "static", seed=0)
    ratio = lognormal_ratio(192**-0.5)
    singular, eigen = bulk_singular_values(R, ratio), np.abs(bulk_eigenvalues(R, ratio))
    for values in (singular, eigen):
        assert np.mean(np.abs(values - 1.0) < 0.1) > 0.9
    assert quarter_circular_distance(R, ratio) > 0.4
    assert circular_distance(R, ratio) > 0.4
