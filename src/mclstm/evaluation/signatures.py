"""Biases of the flow-duration curve in percent: its top, its middle, its low end.

Both series are sorted descending, each for itself, so these metrics ignore timing. The definitions, the
sign of FLV and the small constants are those of neuralhydrology 1.13.0 (after Yilmaz et al., 2008).
"""

import numpy as np
from numpy.typing import ArrayLike

from mclstm.evaluation.pairs import Series, valid_pairs

__all__ = ["fhv", "flv", "fms"]

SMALLEST = 1e-6  # stands for zero flow, whose logarithm does not exist; also keeps FMS and FLV finite


def descending(values: Series) -> Series:
    return np.sort(values)[::-1]


def log_curves(simulated: ArrayLike, observed: ArrayLike) -> tuple[Series, Series]:
    s, o = (descending(v) for v in valid_pairs(simulated, observed))
    # A model may simulate negative flow; a negative observation is a mistake in the data and gives NaN.
    s = np.where(s <= 0, SMALLEST, s)
    o = np.where(o == 0, SMALLEST, o)
    with np.errstate(invalid="ignore"):
        return np.log(s), np.log(o)


def fhv(simulated: ArrayLike, observed: ArrayLike, fraction: float = 0.02) -> float:
    """Bias of the highest flows, in percent.

    FHV = 100 * sum(s_h - o_h) / sum(o_h), h = 1 ... round(fraction * N), of the sorted flows.
    simulated, observed (T,). NaN below 26 valid steps (2 % of 25 is none) and where the high flows sum to 0.

    >>> round(fhv(np.arange(100) * 1.1, np.arange(100)), 6)
    10.0
    """
    s, o = (descending(v) for v in valid_pairs(simulated, observed))
    top = round(fraction * o.size)
    total = o[:top].sum()
    if total == 0:
        return float("nan")
    return float(100 * (s[:top] - o[:top]).sum() / total)


def flv(simulated: ArrayLike, observed: ArrayLike, fraction: float = 0.3) -> float:
    """Bias of the lowest flows on the log scale, in percent; neuralhydrology's sign.

    FLV = -100 * (Q_s - Q_o) / (Q_o + 1e-6), Q = sum(ln q - min ln q), the lowest round(fraction * N) flows.
    simulated, observed (T,). Not to be confused with the paper's table, which leaves out the minus.

    >>> low = np.arange(1.0, 101.0)
    >>> round(flv(low**2, low), 4)
    -100.0
    """
    s, o = log_curves(simulated, observed)
    if o.size < 2:
        return float("nan")
    low = round(fraction * o.size)
    s_sum = (s[-low:] - s[-low:].min()).sum()
    o_sum = (o[-low:] - o[-low:].min()).sum()
    return float(-100 * (s_sum - o_sum) / (o_sum + SMALLEST))


def fms(simulated: ArrayLike, observed: ArrayLike, lower: float = 0.2, upper: float = 0.7) -> float:
    """Bias of the slope of the middle of the flow-duration curve, in percent.

    FMS = 100 * (d_s - d_o) / (d_o + 1e-6), d = ln q[round(lower * N)] - ln q[round(upper * N)], q descending.
    simulated, observed (T,).

    >>> flow = np.arange(1.0, 101.0)
    >>> round(fms(flow**1.5, flow), 3)
    50.0
    """
    s, o = log_curves(simulated, observed)
    if o.size < 2:
        return float("nan")
    first, last = round(lower * o.size), round(upper * o.size)
    s_slope, o_slope = s[first] - s[last], o[first] - o[last]
    return float(100 * (s_slope - o_slope) / (o_slope + SMALLEST))
