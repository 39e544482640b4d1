"""Scores of one simulated series against one observed series, by the names users know.

Each metric takes (simulated, observed), both (T,), computes in float64, ignores the steps where either is
NaN and gives NaN where it is not defined: fewer than two pairs, or no spread in what it divides by.
"""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from mclstm.errors import ConfigError
from mclstm.evaluation.pairs import constant, valid_pairs
from mclstm.evaluation.peaks import peak_timing
from mclstm.evaluation.signatures import fhv, flv, fms

__all__ = ["METRICS", "alpha_nse", "beta_kge", "beta_nse", "kge", "mae", "nse", "rmse", "score"]

Metric = Callable[[ArrayLike, ArrayLike], float]

UNDEFINED = float("nan")


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
    chosen = list(METRICS) if names is None else list(names)
    for name in chosen:
        if name not in METRICS:
            raise ConfigError(f"There is no metric {name!r}. {advice(name)}")
    # A simulation that overflowed must score badly or NaN, not stop the evaluation of the other sites.
    with np.errstate(invalid="ignore", over="ignore"):
        table = METRICS | {"peak-timing": partial(peak_timing, window=peak_window)}
        return {name: table[name](simulated, observed) for name in chosen}


def advice(name: str) -> str:
    close = get_close_matches(name.lower(), METRICS, n=1)
    return f"Did you mean {close[0]!r}?" if close else f"Use one of: {', '.join(METRICS)}."
