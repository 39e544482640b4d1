"""Numbers that stand for "missing" in many archives, found where no measurement would be."""

import numpy as np

__all__ = ["find"]

LOW = (
    -99.9,
    -999.0,
    -999.9,
    -999.99,
    -6999.0,
    -7777.0,
    -9999.0,
    -9999.9,
    -9999.99,
    -32768.0,
    -99999.0,
    -999999.0,
)
HIGH = (1e20, 9.969209968386869e36, 3.4028234663852886e38)


def find(values: np.ndarray) -> list[float]:
    """The sentinels in a column: peeled off its lowest and highest values; a -999 amid others is a value.

    >>> find(np.array([1.0, -999.0, 3.0, -9999.0])), find(np.array([-2000.0, -999.0, 500.0]))
    ([-9999.0, -999.0], [])
    """
    finite = values[np.isfinite(values)]
    found: list[float] = []
    if finite.size and finite.min() > max(LOW) and finite.max() < min(HIGH) / 2:
        return found
    while finite.size:
        low, high = float(finite.min()), float(finite.max())
        if low in LOW:
            found.append(low)
            finite = finite[finite != low]
        elif any(np.isclose(high, mark, rtol=1e-6) for mark in HIGH):
            found.append(high)
            finite = finite[finite != high]
        else:
            break
    return found
