"""What every metric does first: two series of equal length, without the steps where either is missing."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Series", "constant", "valid_pairs", "valid_steps"]

Series = NDArray[np.float64]


def valid_steps(simulated: ArrayLike, observed: ArrayLike) -> tuple[Series, Series, NDArray[np.intp]]:
    """Drop the steps where either series is NaN, and say which steps are left.

    simulated, observed (T,); the result has three arrays (N,), N <= T: values, values, step numbers.

    >>> valid_steps([1.0, 2.0, 3.0], [1.0, float("nan"), 5.0])[2]
    array([0, 2])
    """
    s = np.asarray(simulated, dtype=np.float64)
    o = np.asarray(observed, dtype=np.float64)
    if s.ndim != 1 or s.shape != o.shape:
        raise ValueError(
            f"Simulated {s.shape} and observed {o.shape} must be two series of one length. "
            "Score one site and one outlet at a time."
        )
    steps = np.flatnonzero(~(np.isnan(s) | np.isnan(o)))
    return s[steps], o[steps], steps


def valid_pairs(simulated: ArrayLike, observed: ArrayLike) -> tuple[Series, Series]:
    """Drop the steps where either series is NaN.

    >>> valid_pairs([1.0, 2.0, 3.0], [1.0, float("nan"), 5.0])
    (array([1., 3.]), array([1., 5.]))
    """
    s, o, _ = valid_steps(simulated, observed)
    return s, o


def constant(values: Series) -> bool:
    """True where no spread exists to compare with: fewer than two values, or all the same.

    Compared by value and not by the standard deviation, which rounding leaves slightly above zero.

    >>> constant(np.full(7, 0.1)), constant(np.array([0.1, 0.2]))
    (True, False)
    """
    return values.size < 2 or bool(values.min() == values.max())
