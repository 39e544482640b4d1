"""Numbers that stand for "missing" in many archives, and values without them."""

import numpy as np

__all__ = ["LARGEST", "find_sentinels", "sound"]

LOW = (
    -99.9, -999.0, -999.9, -999.99, -6999.0, -7777.0, -9999.0, -9999.9, -9999.99, -32768.0, -99999.0,
    -999999.0,
)  # fmt: skip
HIGH = (1e20, 9.969209968386869e36, 3.4028234663852886e38)
LARGEST = 1e30  # sums of larger values overflow in float32


def find_sentinels(values: np.ndarray) -> list[float]:
    """Sentinels among the lowest and highest values of a column. A -999 between other values is a value.

    >>> find_sentinels(np.array([1.0, -999.0, 3.0, -9999.0]))
    [-9999.0, -999.0]
    >>> find_sentinels(np.array([-2000.0, -999.0, 500.0]))
    []
    """
    finite = values[np.isfinite(values)]
    sentinels: list[float] = []
    if finite.size and finite.min() > max(LOW) and finite.max() < min(HIGH) / 2:
        return sentinels
    while finite.size:
        low, high = float(finite.min()), float(finite.max())
        if low in LOW:
            sentinels.append(low)
        elif any(np.isclose(high, mark, rtol=1e-6) for mark in HIGH):
            sentinels.append(high)
        else:
            break
        finite = finite[finite != sentinels[-1]]
    return sentinels


def sound(values: np.ndarray) -> np.ndarray:
    """A column with NaN in place of sentinels and of what is infinite or too large, (time,) float64.

    >>> sound(np.array([1.0, -999.0, np.inf, 2.0])).tolist()
    [1.0, nan, nan, 2.0]
    """
    marks = find_sentinels(values)
    bad = ~(np.abs(values) <= LARGEST) | (np.isin(values, marks) if marks else False)
    return np.where(bad, np.nan, values)
