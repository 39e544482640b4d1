"""Intervals and tests behind the numbers in the tables: named, thin, all computed by scipy."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from mclstm.evaluation.comparison import Alternative, Significance

__all__ = [
    "Interval",
    "binomial_test",
    "mean_interval",
    "proportion_test",
    "welch_test",
    "wilson_interval",
]


class Interval(NamedTuple):
    """An estimate with its lower and upper bound, from `n` observations."""

    value: float
    low: float
    high: float
    n: int


def wilson_interval(successes: int, trials: int, confidence: float = 0.95) -> Interval:
    """Success rate with Wilson's score interval, which stays inside [0, 1] and is right near both ends.

    low, high = (k + z^2/2 -+ z sqrt(k (n - k) / n + z^2/4)) / (n + z^2), k successes of n trials.

    >>> [round(v, 2) for v in wilson_interval(96, 100)[:3]]
    [0.96, 0.9, 0.98]
    """
    bounds = stats.binomtest(successes, trials).proportion_ci(confidence, method="wilson")
    return Interval(successes / trials, float(bounds.low), float(bounds.high), trials)


def mean_interval(values: ArrayLike, confidence: float = 0.95) -> Interval:
    """Mean over the valid runs with Student's t interval; values (N,), NaN marks a run that failed.

    low, high = mean -+ t_{n-1} sd / sqrt(n), sd divided by n - 1; NaN bounds below two runs.

    >>> [round(v, 3) for v in mean_interval([1.0, 2.0, 3.0, float("nan")])]
    [2.0, -0.484, 4.484, 3]
    """
    valid = np.asarray(values, dtype=np.float64)
    valid = valid[~np.isnan(valid)]
    if valid.size < 2:
        mean = float(valid[0]) if valid.size else float("nan")
        return Interval(mean, float("nan"), float("nan"), int(valid.size))
    with np.errstate(invalid="ignore"):  # a run that diverged to infinity leaves no bounds
        mean, error = float(valid.mean()), float(stats.sem(valid))
    half = error * float(stats.t.ppf((1 + confidence) / 2, valid.size - 1))
    return Interval(mean, mean - half, mean + half, int(valid.size))


def welch_test(
    first: Interval, second: Interval, alternative: Alternative = "two-sided", confidence: float = 0.95
) -> Significance:
    """Welch's test that two means are one, known by their t intervals only, as a paper prints them.

    sd = sqrt(n) (high - low) / (2 t_{n-1}); "greater" asks whether the mean of `first` is the larger.

    >>> round(welch_test(Interval(2.0, 1.0, 3.0, 10), Interval(1.0, 0.0, 2.0, 10), "greater").p, 3)
    0.064
    """
    deviations = [
        (x.high - x.low) / 2 / stats.t.ppf((1 + confidence) / 2, x.n - 1) * np.sqrt(x.n)
        for x in (first, second)
    ]
    summaries = [first.value, deviations[0], first.n, second.value, deviations[1], second.n]
    result = stats.ttest_ind_from_stats(*summaries, equal_var=False, alternative=alternative)
    return Significance(float(result.statistic), float(result.pvalue))


def proportion_test(first: tuple[int, int], second: tuple[int, int], continuity: bool = True) -> Significance:
    """Two-sided test that two success rates are one, each given as (successes, trials).

    chi^2 with one degree of freedom of the 2 x 2 table, with Yates' correction unless `continuity` is False,
    when it is the square of the pooled z test. All successes or none on both sides: p = 1.

    >>> round(proportion_test((96, 100), (81, 100)).p, 4)
    0.0019
    """
    table = [[successes, trials - successes] for successes, trials in (first, second)]
    if min(min(row) for row in table) < 0:
        raise ValueError(f"Successes must lie between 0 and trials: got {first} and {second}.")
    if 0 in np.sum(table, axis=0):
        return Significance(0.0, 1.0)
    result = stats.chi2_contingency(table, correction=continuity)
    return Significance(float(result.statistic), float(result.pvalue))


def binomial_test(
    successes: int, trials: int, rate: float = 0.5, alternative: Alternative = "two-sided"
) -> Significance:
    """Exact test that `successes` of `trials` come from the given rate.

    The paper's 11 wins of 24 against the Hamiltonian network:

    >>> round(binomial_test(11, 24).p, 2)
    0.84
    """
    result = stats.binomtest(successes, trials, rate, alternative)
    return Significance(float(result.statistic), float(result.pvalue))
