"""Scores of an ensemble as a forecast with a spread: CRPS, and how often its intervals hold."""

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from mclstm.evaluation.ensemble import BY_MEMBER
from mclstm.evaluation.metrics import UNDEFINED, mae
from mclstm.evaluation.outlets import scored_targets, variable

__all__ = ["LEVELS", "coverage", "crps", "ensemble_table"]

LEVELS = (50, 90)  # per cent of the central intervals whose coverage is told
Floats = NDArray[np.float64]


def crps(members: ArrayLike, observed: ArrayLike) -> float:
    """Continuous ranked probability score, the mean over steps; 0 is perfect, one member alone has its MAE.

    CRPS = mean_e |x_e - o| - 1/2 mean_ef |x_e - x_f|, members (E, T), observed (T,), in the unit of both

    >>> crps([[1.0, 2.0], [3.0, 2.0]], [2.0, 3.0])
    0.75
    """
    x, o = _known(members, observed)
    if not o.size:
        return UNDEFINED
    count = len(x)
    # Of sorted members, x_e is the larger one in e pairs and the smaller one in E - 1 - e.
    weights = (2 * np.arange(count) - count + 1)[:, np.newaxis]
    spread = (weights * np.sort(x, axis=0)).sum(0) / count**2
    return float((np.abs(x - o).mean(0) - spread).mean())


def coverage(members: ArrayLike, observed: ArrayLike, level: float) -> float:
    """The share of steps whose observation lies in the central interval of so many per cent of the members.

    members (E, T), observed (T,); quantiles between members are interpolated

    >>> coverage([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]], [2.2, 3.5], level=90)
    0.5
    """
    x, o = _known(members, observed)
    if not o.size:
        return UNDEFINED
    low, high = np.percentile(x, [50 - level / 2, 50 + level / 2], axis=0)
    return float(((low <= o) & (o <= high)).mean())


def ensemble_table(predictions: xr.Dataset) -> pd.DataFrame:
    """One row per site (and target, if there are several): CRPS, the MAE of the mean beside it, coverage.

    predictions: with `by_member` (member, site, time); an empty table where there are no members
    """
    rows: list[dict[str, Any]] = []
    for target in scored_targets(predictions):
        if variable(BY_MEMBER, target) not in predictions:
            continue
        members = predictions[variable(BY_MEMBER, target)].transpose("site", "member", "time").to_numpy()
        observed = predictions[variable("observed", target)].transpose("site", "time").to_numpy()
        for site, x, o in zip(predictions["site"].to_numpy(), members, observed, strict=True):
            scores = {"crps": crps(x, o), "mae": mae(x.mean(0), o)}
            scores |= {f"coverage_{level}": coverage(x, o, level) for level in LEVELS}
            rows.append({"site": str(site), **({"target": target} if target else {}), **scores})
    return pd.DataFrame(rows)


def _known(members: ArrayLike, observed: ArrayLike) -> tuple[Floats, Floats]:
    """Both without the steps at which one of them is NaN: (E, N), (N,)."""
    x, o = (np.asarray(values, dtype=np.float64) for values in (members, observed))
    if x.ndim != 2 or x.shape[1:] != o.shape or not len(x):
        raise ValueError(f"Members {x.shape} need (E, T) and observed {o.shape} the same T. Score one site.")
    known = np.isfinite(o) & np.isfinite(x).all(0)
    return x[:, known], o[known]
