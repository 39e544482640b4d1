"""What the paper prints of its hydrology experiments, and when its numbers may stand beside others."""

import hashlib
import re
from collections.abc import Iterable

import pandas as pd
import xarray as xr

__all__ = [
    "ABLATION",
    "ENSEMBLES",
    "FHV_P",
    "METRICS",
    "SEEDS",
    "SNOW_R",
    "in_papers_setting",
    "is_papers_setting",
    "printed_quartiles",
    "printed_value",
]

METRICS = ("nse", "beta-nse", "flv", "fhv")
# Median, lower and upper quartile over 447 basins of the four metrics: table "Hydrology benchmark results".
ENSEMBLES: dict[str, tuple[float, ...]] = {
    "mclstm-ensemble": (0.744, 0.641, 0.814, -0.020, -0.066, 0.013, -24.7, -94.4, 31.1, -14.7, -23.4, -7.0),
    "lstm-ensemble": (0.763, 0.676, 0.835, -0.034, -0.077, -0.002, 36.3, -0.4, 59.7, -15.7, -23.8, -8.6),
    "sac-sma": (0.603, 0.512, 0.682, -0.066, -0.108, -0.026, 37.4, -31.9, 68.1, -20.4, -29.9, -12.2),
    "vic-basin": (0.551, 0.465, 0.641, -0.018, -0.071, 0.032, -74.8, -271.8, 23.1, -28.1, -40.1, -17.5),
    "vic-regional": (0.307, 0.218, 0.402, -0.074, -0.166, 0.023, 18.9, -73.1, 69.6, -56.5, -64.6, -38.3),
    "mhm-basin": (0.666, 0.588, 0.730, -0.040, -0.102, 0.003, 11.4, -64.0, 65.1, -18.6, -27.7, -9.5),
    "mhm-regional": (0.527, 0.391, 0.619, -0.039, -0.169, 0.033, 36.8, -32.6, 70.9, -40.2, -51.0, -23.8),
    "hbv-lower": (0.417, 0.276, 0.550, -0.023, -0.114, 0.058, 23.9, -25.9, 61.0, -41.9, -55.2, -17.3),
    "hbv-upper": (0.676, 0.578, 0.749, -0.012, -0.058, 0.034, 18.3, -62.9, 67.5, -18.5, -27.8, -8.5),
    "fuse-900": (0.639, 0.539, 0.715, -0.031, -0.100, 0.024, -10.5, -94.8, 49.2, -18.9, -27.8, -9.9),
    "fuse-902": (0.650, 0.570, 0.727, -0.047, -0.098, -0.004, -68.2, -239.9, 17.1, -19.4, -27.9, -8.9),
    "fuse-904": (0.622, 0.527, 0.705, -0.067, -0.135, -0.019, -67.6, -238.6, 35.7, -21.4, -33.0, -11.3),
}  # fmt: skip
# Mean and deviation over ten seeds of the medians: table "Model robustness".
SEEDS: dict[str, tuple[tuple[float, float], ...]] = {
    "mclstm": ((0.726, 0.003), (-0.021, 0.003), (-38.7, 3.2), (-13.9, 0.7)),
    "lstm": ((0.737, 0.003), (-0.035, 0.005), (13.6, 3.4), (-14.8, 1.0)),
}
FHV_P = 0.025  # that MC-LSTM is better than all other models in FHV
# Correlation of four cells with snow: the text says r >= 0.91, the caption r >= 0.8.
SNOW_R = {"basin 01031500, 4 cells": 0.91}
# NSE, the mean over five basins: the table of the ablation.
ABLATION = {
    "mclstm": 0.635,
    "mclstm-softmax-input": 0.650,
    "mclstm-minus-input": 0.603,
    "mclstm-minus-output": 0.55,
    "mclstm-minus-redistribution": -4.229,
}

# SHA-256 over the 447 gauge numbers, sorted, one per line: the list itself is not ours to ship.
BASINS = "48e556bf315a5887"
PERIOD = ("1989-10-01", "1999-09-30")


def printed_quartiles(model: str, metric: str) -> tuple[float, ...]:
    """Median, lower and upper quartile as the paper's table has them.

    >>> printed_quartiles("fuse-904", "fhv")
    (-21.4, -33.0, -11.3)
    """
    at = 3 * METRICS.index(metric)
    return ENSEMBLES[model][at : at + 3]


def printed_value(model: str, metric: str) -> float | None:
    """The number in the paper's tables, or None; for a model we tuned, the number of the paper's own.

    >>> printed_value("sac-sma", "fhv"), printed_value("mclstm", "nse"), printed_value("mclstm", "kge")
    (-20.4, 0.726, None)
    """
    if metric not in METRICS:
        return None
    at, model = METRICS.index(metric), re.sub("-(tuned|small-batches|antecedent|mixed)", "", model)
    if model in ENSEMBLES:
        return ENSEMBLES[model][3 * at]
    return SEEDS[model][at][0] if model in SEEDS else None


def in_papers_setting(flows: xr.Dataset) -> bool:
    """Whether simulations (site, time) are of the paper's 447 basins and of its test period."""
    days = pd.DatetimeIndex(flows["time"].to_numpy())
    sites = [str(site) for site in flows["site"].to_numpy()]
    return is_papers_setting(sites, str(days[0].date()), str(days[-1].date()))


def is_papers_setting(sites: Iterable[str], first: str, last: str) -> bool:
    """Whether these are the paper's 447 basins and its test period; days as 1989-10-01."""
    names = "\n".join(sorted(sites)) + "\n"
    return hashlib.sha256(names.encode()).hexdigest()[:16] == BASINS and (first, last) == PERIOD
