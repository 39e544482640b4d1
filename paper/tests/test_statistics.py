"""Intervals and tests against hand-computed numbers and scipy's own functions."""

import math

import numpy as np
import pytest
from scipy import stats

from mclstm.evaluation.comparison import Alternative
from mclstm_paper.statistics import (
    binomial_test,
    mean_interval,
    proportion_test,
    welch_test,
    wilson_interval,
)


def wilson_by_hand(k: int, n: int, z: float) -> tuple[float, float]:
    middle, half = k + z**2 / 2, z * math.sqrt(k * (n - k) / n + z**2 / 4)
    return (middle - half) / (n + z**2), (middle + half) / (n + z**2)


def test_wilson_of_the_papers_success_rate() -> None:
    rate, low, high, n = wilson_interval(96, 100)
    assert (rate, n) == (0.96, 100)
    assert round(100 * (high - rate)) == 2
    assert round(100 * (rate - low)) == 6


@pytest.mark.parametrize(("k", "n"), [(0, 10), (10, 10), (1, 3), (50, 100), (96, 100)])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_wilson_by_hand(k: int, n: int, confidence: float) -> None:
    z = stats.norm.ppf((1 + confidence) / 2)
    interval = wilson_interval(k, n, confidence)
    assert (interval.low, interval.high) == pytest.approx(wilson_by_hand(k, n, z), abs=1e-12)
    assert 0 <= interval.low <= interval.value <= interval.high <= 1


def test_mean_interval_by_hand() -> None:
    interval = mean_interval([1.0, 2.0, 3.0, math.nan])
    half = 4.302652729749464 / math.sqrt(3)  # t of two degrees of freedom; the standard deviation is 1
    assert interval == pytest.approx((2.0, 2.0 - half, 2.0 + half, 3))


def test_mean_interval_equals_scipy() -> None:
    values = np.random.default_rng(3).normal(5, 2, 40)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    interval = mean_interval(values, 0.9)
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_mean_of_too_few_runs_has_no_bounds() -> None:
    one, none = mean_interval([4.0, math.nan]), mean_interval([])
    assert one.value == 4
    assert one.n == 1
    assert none.n == 0
    assert all(math.isnan(v) for v in (one.low, one.high, none.value, none.low, none.high))


def test_mean_with_a_run_that_diverged() -> None:
    interval = mean_interval([1.0, math.inf])
    assert interval.value == math.inf
    assert math.isnan(interval.low)


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_welch_from_intervals_equals_scipy_on_the_values(alternative: Alternative) -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(0.3, 2.0, 30), rng.normal(0.0, 0.5, 12)
    expected = stats.ttest_ind(first, second, equal_var=False, alternative=alternative)
    found = welch_test(mean_interval(first), mean_interval(second), alternative)
    assert found == pytest.approx((expected.statistic, expected.pvalue))


def test_proportions_by_hand() -> None:
    pooled = 177 / 200
    z = (0.96 - 0.81) / math.sqrt(pooled * (1 - pooled) * 2 / 100)
    result = proportion_test((96, 100), (81, 100), continuity=False)
    assert result == pytest.approx((z**2, 2 * stats.norm.sf(z)), rel=1e-12)


def test_continuity_correction_by_hand() -> None:
    pooled = 177 / 200
    z = (0.96 - 0.81 - 1 / 100) / math.sqrt(pooled * (1 - pooled) * 2 / 100)
    assert proportion_test((96, 100), (81, 100)).p == pytest.approx(2 * stats.norm.sf(z), rel=1e-12)


@pytest.mark.parametrize("k", [0, 100])
def test_proportions_without_difference(k: int) -> None:
    assert proportion_test((k, 100), (k, 100)).p == 1


def test_more_successes_than_trials_are_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and trials"):
        proportion_test((5, 4), (1, 4))


def test_binomial_by_hand() -> None:
    assert binomial_test(10, 10, alternative="greater").p == pytest.approx(2**-10)
    assert binomial_test(10, 10).p == pytest.approx(2**-9)
    assert binomial_test(11, 24).p == pytest.approx(0.84, abs=0.005)  # the paper's comparison with HNN
