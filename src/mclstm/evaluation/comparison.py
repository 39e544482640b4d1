"""Models side by side over sites: medians with quartiles, spread over seeds, Wilcoxon's tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from mclstm.evaluation.statistics import wilcoxon_test

__all__ = ["COMPARED", "PERFECT", "Scored", "Summary", "distances", "pairwise_tests", "summary"]

# What a model without error would score; a value's distance from it says how good the value is.
PERFECT = {"nse": 1.0, "beta-nse": 0.0, "flv": 0.0, "fhv": 0.0, "kge": 1.0, "alpha-nse": 1.0}
COMPARED = tuple(PERFECT)  # the paper's four in its order, then two more


@dataclass(frozen=True)
class Scored:
    """A model's scores: one frame a seed, or a single one of an ensemble or of a model without seeds."""

    name: str
    frames: tuple[pd.DataFrame, ...]  # index: sites; columns: metrics
    conserving: bool | None = None  # None where nobody said
    members: int = 1  # whose simulations were averaged before scoring


class Summary(NamedTuple):
    """One cell of a table, in the words of the result files."""

    n: int  # seeds or members, never sites
    value: float
    low: float
    high: float
    values: list[float]  # one a seed, or one a site in the order of the sites' names


def summary(model: Scored, metric: str) -> Summary | None:
    """The median over sites with both quartiles; of several seeds the mean of their medians -+ deviation.

    None where the model has no such score. The deviation is divided by n - 1.

    >>> one = pd.DataFrame({"nse": [0.25, 0.75, 0.5]}, index=["a", "b", "c"])
    >>> summary(Scored("sac-sma", (one,)), "nse")
    Summary(n=1, value=0.5, low=0.375, high=0.625, values=[0.25, 0.75, 0.5])
    >>> summary(Scored("mclstm", (one, one + 0.5)), "nse").value
    0.75
    """
    known = [_known(frame, metric) for frame in model.frames]
    if not all(column.size for column in known):
        return None
    if len(known) == 1:
        low, value, high = (float(v) for v in np.quantile(known[0], [0.25, 0.5, 0.75]))
        every = model.frames[0].sort_index()[metric]
        return Summary(model.members, value, low, high, [float(v) for v in every])
    medians = [float(np.median(column)) for column in known]
    mean, deviation = float(np.mean(medians)), float(np.std(medians, ddof=1))
    return Summary(len(medians), mean, mean - deviation, mean + deviation, medians)


def _known(frame: pd.DataFrame, metric: str) -> np.ndarray:
    values = frame[metric].to_numpy(np.float64) if metric in frame else np.zeros(0)
    return values[np.isfinite(values)]


def distances(frame: pd.DataFrame, metric: str) -> pd.Series:
    """|value - perfect value| by site: what "better" means for every metric alike."""
    return (frame[metric] - PERFECT[metric]).abs()


def pairwise_tests(models: Sequence[Scored]) -> pd.DataFrame:
    """Wilcoxon's signed-rank test, two-sided, paired by site, of every metric and pair of models.

    `p` compares the distances from the perfect value. `p better` and `p worse` are the same test with its
    direction, min(1, 2 p one-sided): the smaller of them is `p`, the other near 1. `p values` compares the
    values themselves, which may differ while both are equally wrong. Models with several seeds are left out:
    their ensemble stands for them.
    """
    single = [model for model in models if len(model.frames) == 1]
    rows = []
    for metric in COMPARED:
        able = [model for model in single if _known(model.frames[0], metric).size]
        rows += [_test(first, second, metric) for first, second in combinations(able, 2)]
    return pd.DataFrame([row for row in rows if row["sites"]])


def _test(first: Scored, second: Scored, metric: str) -> dict[str, object]:
    a, b = first.frames[0][[metric]].align(second.frames[0][[metric]], join="inner")
    both = np.isfinite(a[metric]) & np.isfinite(b[metric])
    a, b = a[both], b[both]
    about = {"metric": metric, "model": first.name, "other": second.name, "sites": len(a)}
    x, y = (distances(frame, metric).to_numpy() for frame in (a, b))
    better, worse = (min(1.0, 2 * wilcoxon_test(x, y, way).p) for way in ("less", "greater"))
    raw = wilcoxon_test(a[metric].to_numpy(), b[metric].to_numpy()).p
    return about | {"p": min(better, worse), "p better": better, "p worse": worse, "p values": raw}
