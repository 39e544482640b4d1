"""Models side by side over sites: medians with quartiles, spread over seeds, Wilcoxon's tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from mclstm.evaluation.metrics import valid_pairs

__all__ = [
    "COMPARED", "ERRORS", "PERFECT", "Alternative", "ModelScores", "Significance", "Summary", "distances",
    "pairwise_tests", "summary", "wilcoxon_test",
]  # fmt: skip

# The score of a perfect model. The distance from it says how good a score is.
PERFECT = {"nse": 1.0, "beta-nse": 0.0, "flv": 0.0, "fhv": 0.0, "kge": 1.0, "alpha-nse": 1.0}
COMPARED = tuple(PERFECT)  # the paper's four in its order, then two more
ERRORS = ("rmse", "mae")  # in the unit of a target: compared between models, never between sites
Alternative = Literal["two-sided", "less", "greater"]


@dataclass(frozen=True)
class ModelScores:
    """The scores of a model: one frame per seed; an ensemble or a model without seeds has one frame."""

    name: str
    frames: tuple[pd.DataFrame, ...]  # index: sites, or sites and targets; columns: metrics
    conserving: bool | None = None  # None where it is not known
    members: int = 1  # how many simulations were averaged before scoring
    by_target: pd.DataFrame | None = None  # several targets: medians over sites, mean over seeds


class Summary(NamedTuple):
    """One cell of a table, with the keys of the result files."""

    n: int  # seeds or members, never sites
    value: float
    low: float
    high: float
    values: list[float]  # one per seed; or one per site, sorted by the name of the site


class Significance(NamedTuple):
    """A test's statistic and the probability of one at least as extreme if there were no difference."""

    statistic: float
    p: float


def summary(model: ModelScores, metric: str) -> Summary | None:
    """The median over sites with both quartiles; for several seeds, mean and deviation of their medians.

    None where the model has no such score. The deviation divides by n - 1; low, high = mean -+ deviation.

    >>> one = pd.DataFrame({"nse": [0.25, 0.75, 0.5]}, index=["a", "b", "c"])
    >>> summary(ModelScores("sac-sma", (one,)), "nse")
    Summary(n=1, value=0.5, low=0.375, high=0.625, values=[0.25, 0.75, 0.5])
    >>> summary(ModelScores("mclstm", (one, one + 0.5)), "nse").value
    0.75
    """
    known = [_known(frame, metric) for frame in model.frames]
    if not all(column.size for column in known):
        return None
    if len(known) == 1:
        low, value, high = (float(v) for v in np.quantile(known[0], [0.25, 0.5, 0.75]))
        values = [float(v) for v in model.frames[0].sort_index()[metric]]
        return Summary(model.members, value, low, high, values)
    medians = [float(np.median(column)) for column in known]
    mean, deviation = float(np.mean(medians)), float(np.std(medians, ddof=1))
    return Summary(len(medians), mean, mean - deviation, mean + deviation, medians)


def _known(frame: pd.DataFrame, metric: str) -> np.ndarray:
    values = frame[metric].to_numpy(np.float64) if metric in frame else np.zeros(0)
    return values[np.isfinite(values)]


def distances(frame: pd.DataFrame, metric: str) -> pd.Series:
    """|score - perfect score| by site: smaller is better, for every metric."""
    return (frame[metric] - PERFECT[metric]).abs()


def pairwise_tests(models: Sequence[ModelScores]) -> pd.DataFrame:
    """Wilcoxon's signed-rank test for every metric and pair of models, two-sided and paired by site.

    `p` compares the distances from the perfect score. `p better` and `p worse` give it a direction,
    min(1, 2 p one-sided): the smaller one is `p`. `p values` compares the scores themselves, which may differ
    while both models are equally wrong. Models with several seeds are left out; their ensemble is compared.
    """
    single = [model for model in models if len(model.frames) == 1]
    rows = []
    for metric in COMPARED:
        able = [model for model in single if _known(model.frames[0], metric).size]
        rows += [_test(first, second, metric) for first, second in combinations(able, 2)]
    return pd.DataFrame([row for row in rows if row["sites"]])


def _test(first: ModelScores, second: ModelScores, metric: str) -> dict[str, object]:
    a, b = first.frames[0][[metric]].align(second.frames[0][[metric]], join="inner")
    both = np.isfinite(a[metric]) & np.isfinite(b[metric])
    a, b = a[both], b[both]
    about = {"metric": metric, "model": first.name, "other": second.name, "sites": len(a)}
    x, y = (distances(frame, metric).to_numpy() for frame in (a, b))
    better, worse = (min(1.0, 2 * wilcoxon_test(x, y, way).p) for way in ("less", "greater"))
    raw = wilcoxon_test(a[metric].to_numpy(), b[metric].to_numpy()).p
    return about | {"p": min(better, worse), "p better": better, "p worse": worse, "p values": raw}


def wilcoxon_test(
    first: ArrayLike, second: ArrayLike, alternative: Alternative = "two-sided"
) -> Significance:
    """Wilcoxon's signed-rank test of paired values (N,); "less" asks whether `first` is smaller.

    Pairs with a NaN are dropped. Where all pairs are equal, p = 1.

    >>> wilcoxon_test([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 4.0, 6.0, 8.0, 10.0], "less").p
    0.03125
    """
    a, b = valid_pairs(first, second)
    if np.array_equal(a, b):
        return Significance(0.0, 1.0)
    result = stats.wilcoxon(a, b, alternative=alternative)
    return Significance(float(result.statistic), float(result.pvalue))
