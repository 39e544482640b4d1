"""Scores of one simulated series against one observed series: `METRICS` at the end lists them by name.

Every metric takes (simulated, observed), both (T,), and computes in float64. Steps where either is NaN do
not count. The score is NaN where it is not defined: fewer than two pairs, or a division by zero.
FHV, FLV, FMS and peak timing follow neuralhydrology 1.13.0: definitions, signs and small constants.
"""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.signal import find_peaks

from mclstm.errors import ConfigError

__all__ = [
    "METRICS", "alpha_nse", "beta_kge", "beta_nse", "fhv", "flv", "fms", "kge", "mae", "nse", "peak_timing",
    "rmse", "score", "valid_pairs",
]  # fmt: skip

Series = NDArray[np.float64]
Metric = Callable[[ArrayLike, ArrayLike], float]

UNDEFINED = float("nan")
SMALLEST = 1e-6  # replaces zero flow, which has no logarithm; also keeps FMS and FLV finite
PEAK_DISTANCE = 100  # steps between two peaks that count as separate floods


def valid_steps(simulated: ArrayLike, observed: ArrayLike) -> tuple[Series, Series, NDArray[np.intp]]:
    """Both series without the steps where either is NaN, and the numbers of the steps that are left.

    simulated, observed (T,) -> three arrays (N,), N <= T: simulated, observed, step numbers.

    >>> valid_steps([1.0, 2.0, 3.0], [1.0, float("nan"), 5.0])[2]
    array([0, 2])
    """
    s, o = (np.asarray(series, dtype=np.float64) for series in (simulated, observed))
    if s.ndim != 1 or s.shape != o.shape:
        raise ValueError(
            f"Simulated {s.shape} and observed {o.shape} must be two series of one length. "
            "Score one site and one outlet at a time."
        )
    steps = np.flatnonzero(~(np.isnan(s) | np.isnan(o)))
    return s[steps], o[steps], steps


def valid_pairs(simulated: ArrayLike, observed: ArrayLike) -> tuple[Series, Series]:
    """Both series without the steps where either is NaN: simulated, observed (T,) -> two arrays (N,).

    >>> valid_pairs([1.0, 2.0, 3.0], [1.0, float("nan"), 5.0])
    (array([1., 3.]), array([1., 5.]))
    """
    return valid_steps(simulated, observed)[:2]


def constant(values: Series) -> bool:
    """Whether values (N,) have no spread: fewer than two values, or all equal.

    The standard deviation would not tell: rounding leaves it slightly above zero.

    >>> constant(np.full(7, 0.1)), constant(np.array([0.1, 0.2]))
    (True, False)
    """
    return values.size < 2 or bool(values.min() == values.max())


def nse(simulated: ArrayLike, observed: ArrayLike) -> float:
    """Nash-Sutcliffe efficiency: 1 is perfect, 0 is as good as the observed mean.

    NSE = 1 - sum((s - o)^2) / sum((o - mean o)^2); simulated, observed (T,).

    >>> nse([1.0, 2.0, 4.0], [1.0, 2.0, 3.0])
    0.5
    """
    s, o = valid_pairs(simulated, observed)
    if constant(o):
        return UNDEFINED
    return float(1 - ((s - o) ** 2).sum() / ((o - o.mean()) ** 2).sum())


def kge(simulated: ArrayLike, observed: ArrayLike) -> float:
    """Kling-Gupta efficiency (2009): correlation, spread and mean in one number, 1 is perfect.

    KGE = 1 - sqrt((r - 1)^2 + (sd s / sd o - 1)^2 + (mean s / mean o - 1)^2); simulated, observed (T,).

    >>> kge([2.0, 4.0, 6.0], [2.0, 4.0, 6.0])
    1.0
    """
    s, o = valid_pairs(simulated, observed)
    if constant(s) or constant(o) or o.mean() == 0:
        return UNDEFINED
    ds, do = s - s.mean(), o - o.mean()
    r = (ds * do).sum() / np.sqrt((ds**2).sum() * (do**2).sum())
    return float(1 - np.sqrt((r - 1) ** 2 + (s.std() / o.std() - 1) ** 2 + (s.mean() / o.mean() - 1) ** 2))


def alpha_nse(simulated: ArrayLike, observed: ArrayLike) -> float:
    """Spread of the simulation relative to the observation, 1 is perfect.

    alpha = sd s / sd o (divided by N); simulated, observed (T,).

    >>> alpha_nse([0.0, 1.0], [0.0, 2.0])
    0.5
    """
    s, o = valid_pairs(simulated, observed)
    return UNDEFINED if constant(o) else float(s.std() / o.std())


def beta_nse(simulated: ArrayLike, observed: ArrayLike) -> float:
    """Bias of the mean in units of the observed spread, 0 is perfect.

    beta = (mean s - mean o) / sd o; simulated, observed (T,). Not to be confused with `beta_kge`, a ratio.

    >>> beta_nse([1.0, 3.0], [0.0, 2.0])
    1.0
    """
    s, o = valid_pairs(simulated, observed)
    return UNDEFINED if constant(o) else float((s.mean() - o.mean()) / o.std())


def beta_kge(simulated: ArrayLike, observed: ArrayLike) -> float:
    """Ratio of the means, 1 is perfect.

    beta = mean s / mean o; simulated, observed (T,). Not to be confused with `beta_nse`, a difference.

    >>> beta_kge([1.0, 2.0], [2.0, 4.0])
    0.5
    """
    s, o = valid_pairs(simulated, observed)
    return UNDEFINED if o.size < 2 or o.mean() == 0 else float(s.mean() / o.mean())


def rmse(simulated: ArrayLike, observed: ArrayLike) -> float:
    """Root of the mean squared error, in the unit of the series.

    RMSE = sqrt(mean((s - o)^2)); simulated, observed (T,).

    >>> rmse([3.0, 4.0], [0.0, 0.0]) == 12.5**0.5
    True
    """
    s, o = valid_pairs(simulated, observed)
    return UNDEFINED if o.size < 2 else float(np.sqrt(((s - o) ** 2).mean()))


def mae(simulated: ArrayLike, observed: ArrayLike) -> float:
    """Mean absolute error, in the unit of the series.

    MAE = mean(|s - o|); simulated, observed (T,).

    >>> mae([3.0, 4.0], [0.0, 0.0])
    3.5
    """
    s, o = valid_pairs(simulated, observed)
    return UNDEFINED if o.size < 2 else float(np.abs(s - o).mean())


def duration_curves(simulated: ArrayLike, observed: ArrayLike) -> tuple[Series, Series]:
    """The flow-duration curves: each series sorted by itself, highest first, so that timing is ignored."""
    s, o = valid_pairs(simulated, observed)
    return np.sort(s)[::-1], np.sort(o)[::-1]


def log_duration_curves(simulated: ArrayLike, observed: ArrayLike) -> tuple[Series, Series]:
    s, o = duration_curves(simulated, observed)
    # A model may simulate negative flow. A negative observation is a mistake in the data and gives NaN.
    with np.errstate(invalid="ignore"):
        return np.log(np.where(s <= 0, SMALLEST, s)), np.log(np.where(o == 0, SMALLEST, o))


def fhv(simulated: ArrayLike, observed: ArrayLike, fraction: float = 0.02) -> float:
    """Bias of the highest flows, in percent.

    FHV = 100 * sum(s_h - o_h) / sum(o_h), h = 1 ... round(fraction * N), of the sorted flows.
    simulated, observed (T,). NaN below 26 valid steps (2 % of 25 rounds to none) or where sum(o_h) is 0.

    >>> round(fhv(np.arange(100) * 1.1, np.arange(100)), 6)
    10.0
    """
    s, o = duration_curves(simulated, observed)
    top = round(fraction * o.size)
    total = o[:top].sum()
    return UNDEFINED if total == 0 else float(100 * (s[:top] - o[:top]).sum() / total)


def flv(simulated: ArrayLike, observed: ArrayLike, fraction: float = 0.3) -> float:
    """Bias of the lowest flows on the log scale, in percent, with neuralhydrology's sign.

    FLV = -100 * (Q_s - Q_o) / (Q_o + 1e-6), Q = sum(ln q - min ln q), the lowest round(fraction * N) flows.
    simulated, observed (T,). The paper's table leaves out the minus.

    >>> low = np.arange(1.0, 101.0)
    >>> round(flv(low**2, low), 4)
    -100.0
    """
    s, o = log_duration_curves(simulated, observed)
    if o.size < 2:
        return UNDEFINED
    low = round(fraction * o.size)
    s_sum, o_sum = ((flow[-low:] - flow[-low:].min()).sum() for flow in (s, o))
    return float(-100 * (s_sum - o_sum) / (o_sum + SMALLEST))


def fms(simulated: ArrayLike, observed: ArrayLike, lower: float = 0.2, upper: float = 0.7) -> float:
    """Bias of the slope of the middle of the flow-duration curve, in percent.

    FMS = 100 * (d_s - d_o) / (d_o + 1e-6), d = ln q[round(lower * N)] - ln q[round(upper * N)], q descending.
    simulated, observed (T,).

    >>> flow = np.arange(1.0, 101.0)
    >>> round(fms(flow**1.5, flow), 3)
    50.0
    """
    s, o = log_duration_curves(simulated, observed)
    if o.size < 2:
        return UNDEFINED
    first, last = round(lower * o.size), round(upper * o.size)
    s_slope, o_slope = s[first] - s[last], o[first] - o[last]
    return float(100 * (s_slope - o_slope) / (o_slope + SMALLEST))


def peak_timing(simulated: ArrayLike, observed: ArrayLike, window: int = 3) -> float:
    """Mean distance in time steps between observed peaks and the simulated peaks around them.

    mean over p of |t_p - argmax s(t)|, t within `window` of t_p; 0 where s has a local maximum at t_p.
    simulated, observed (T,), regular steps. An observed peak stands out by one standard deviation or more.
    Peaks within `window` of an end or of a gap do not count. NaN where no peak is left.

    >>> days = np.arange(400.0)
    >>> peak_timing(np.exp(-((days - 202) ** 2)), np.exp(-((days - 200) ** 2)))
    2.0
    """
    s, o, steps = valid_steps(simulated, observed)
    if o.size < 2:
        return UNDEFINED
    peaks, _ = find_peaks(o, distance=PEAK_DISTANCE, prominence=np.std(o))
    errors = [timing_error(s, int(p), window) for p in peaks if has_window(steps, int(p), window)]
    return float(np.mean(errors)) if errors else UNDEFINED


def has_window(steps: NDArray[np.intp], peak: int, window: int) -> bool:
    """Whether all steps within `window` of a peak are there; steps (N,) are the numbers of valid steps."""
    first, last = peak - window, peak + window
    return first >= 0 and last < steps.size and bool(steps[last] - steps[first] == 2 * window)


def timing_error(s: Series, peak: int, window: int) -> int:
    """Steps between an observed peak and the highest value of s (N,) around it."""
    if s[peak] > s[peak - 1] and s[peak] > s[peak + 1]:
        return 0
    return abs(int(np.argmax(s[peak - window : peak + window + 1])) - window)


METRICS: dict[str, Metric] = {
    "nse": nse,
    "kge": kge,
    "alpha-nse": alpha_nse,
    "beta-nse": beta_nse,
    "beta-kge": beta_kge,
    "fhv": fhv,
    "flv": flv,
    "fms": fms,
    "peak-timing": peak_timing,
    "rmse": rmse,
    "mae": mae,
}


def score(
    simulated: ArrayLike, observed: ArrayLike, names: Iterable[str] | None = None, *, peak_window: int = 3
) -> dict[str, float]:
    """Compute the named metrics, or all of them, of one simulated series; simulated, observed (T,).

    `peak_window` is how many steps a simulated peak may lie from the observed one: 3 for days, 12 for hours.

    >>> score([1.0, 2.0, 4.0], [1.0, 2.0, 3.0], ["nse", "beta-kge"])
    {'nse': 0.5, 'beta-kge': 1.1666666666666667}
    """
    table = METRICS | {"peak-timing": partial(peak_timing, window=peak_window)}
    chosen = list(METRICS) if names is None else list(names)
    for name in chosen:
        if name not in METRICS:
            close = get_close_matches(name.lower(), METRICS, n=1)
            advice = f"Did you mean {close[0]!r}?" if close else f"Use one of: {', '.join(METRICS)}."
            raise ConfigError(f"There is no metric {name!r}. {advice}")
    # A simulation that overflowed must score badly or NaN, not stop the evaluation of the other sites.
    with np.errstate(invalid="ignore", over="ignore"):
        return {name: table[name](simulated, observed) for name in chosen}
