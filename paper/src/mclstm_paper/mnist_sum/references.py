"""Thresholds from networks that had the hard part done for them: who is as good as they are has succeeded."""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

__all__ = ["FEWEST", "passing_chance", "reference_threshold"]

CONFIDENCE = 0.99
FEWEST = 3  # networks that a threshold can be made of, whichever degrees of freedom are taken


def reference_threshold(errors: ArrayLike, lost: int = 1) -> float:
    """The upper bound of the mean error of the n reference networks whose error is finite, of (N,).

        mean + t_{0.99} sd / √n,    Student's t with n - lost degrees of freedom

    NaN if these are fewer than three.

    >>> round(reference_threshold([1.0, 2.0, 3.0]), 2)
    6.02
    """
    values = np.asarray(errors, dtype=np.float64)
    values = values[np.isfinite(values)]
    if values.size < FEWEST:
        return math.nan
    t = float(stats.t.ppf(CONFIDENCE, values.size - lost))
    return float(values.mean() + t * values.std(ddof=1) / math.sqrt(values.size))


def passing_chance(references: int, lost: int = 1) -> float:
    """How often one more network like the references is below their threshold, if errors are normal.

        P(T < t_{0.99} / √(n + 1)),    T with n - 1 degrees of freedom

    The threshold bounds the mean of the references, not the next of them: who does the task without fault
    succeeds no more often than that.

    >>> round(passing_chance(10), 2)
    0.79
    """
    t = float(stats.t.ppf(CONFIDENCE, references - lost))
    return float(stats.t.cdf(t / math.sqrt(references + 1), references - 1))
