"""Tables of scores: one row per site and target, the rows that stand for a run, and tables read back."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from mclstm.errors import DataError
from mclstm.evaluation.metrics import METRICS, score
from mclstm.evaluation.outlets import (
    POOLED,
    TOTAL,
    pooled_score,
    scored_targets,
    share_a_unit,
    variable,
    with_total,
)

__all__ = ["after_warmup", "headline", "median_score", "middle", "read_table", "score_table", "target_scores"]


def score_table(predictions: xr.Dataset, metrics: Iterable[str] | None = None) -> pd.DataFrame:
    """One row per site (and target, if there are several), one column per metric.

    predictions: simulated and observed, (site, time)
    Several targets in one unit have two more rows per site: `total` scores their sum, `pooled` the pairs of
    all targets together (NSE, RMSE and MAE; the others are NaN).
    """
    chosen = list(METRICS if metrics is None else metrics)
    whole, names = with_total(predictions), scored_targets(predictions)
    window = peak_window(predictions["time"].to_numpy())
    rows: list[dict[str, Any]] = []
    for name in scored_targets(whole):
        simulated, observed = _pair(whole, name)
        for site, s, o in zip(_sites(whole), simulated, observed, strict=True):
            values = score(s, o, chosen, peak_window=window)
            rows.append({"site": site, **({"target": name} if name else {}), **values})
    if len(names) > 1 and share_a_unit(predictions, names):
        rows += _pooled_rows(predictions, names, chosen)
    return pd.DataFrame(rows)


def after_warmup(predictions: xr.Dataset) -> xr.Dataset:
    """The predictions without the observations of steps that filled the stores: they are not scored."""
    if "warmup" not in predictions:
        return predictions
    used = predictions["warmup"] != 1
    observed = [str(name) for name in predictions if str(name).startswith("observed")]
    return predictions.assign({name: predictions[name].where(used) for name in observed})


def _sites(predictions: xr.Dataset) -> list[str]:
    return [str(site) for site in predictions["site"].to_numpy()]


def _pair(predictions: xr.Dataset, target: str) -> list[np.ndarray]:
    """Simulated and observed of a target, (site, time) each."""
    return [
        predictions[variable(what, target)].transpose("site", "time").to_numpy()
        for what in ("simulated", "observed")
    ]


def _pooled_rows(
    predictions: xr.Dataset, names: Sequence[str], metrics: Sequence[str]
) -> list[dict[str, Any]]:
    pairs = [_pair(predictions, name) for name in names]
    return [
        {"site": site, "target": POOLED}
        | {metric: pooled_score([(s[row], o[row]) for s, o in pairs], metric) for metric in metrics}
        for row, site in enumerate(_sites(predictions))
    ]


def headline(table: pd.DataFrame) -> pd.DataFrame:
    """The scores that stand for a run, one row per site; table: what `score_table` gives.

    One target: its own. Several in one unit: the pooled ones. Otherwise: the mean over targets.

    >>> table = pd.DataFrame({"site": ["A", "A"], "target": ["flow", "heat"], "nse": [0.5, 0.25]})
    >>> headline(table)["nse"].tolist()
    [0.375]
    """
    if "target" not in table:
        return table
    pooled = table[table["target"] == POOLED]
    if len(pooled):
        return pooled.drop(columns="target").reset_index(drop=True)
    return target_scores(table).drop(columns="target").groupby("site", sort=False).mean().reset_index()


def target_scores(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of single targets, without those of all targets together."""
    return table[~table["target"].isin([TOTAL, POOLED])] if "target" in table else table


def peak_window(time: np.ndarray) -> int:
    """Steps by which a peak may be off, as in neuralhydrology: twelve hours, but at least three steps.

    >>> peak_window(np.array(["2001-01-01T00", "2001-01-01T01"], dtype="datetime64[ns]"))
    12
    """
    if len(time) < 2:
        return 3
    return max(3, int(np.timedelta64(12, "h") / np.median(np.diff(time))))


def median_score(predictions: xr.Dataset, metric: str = "nse") -> float:
    """The median of one metric of the headline over the sites that have a score; NaN if none has."""
    return middle(score_table(predictions, [metric]), metric)


def middle(table: pd.DataFrame, metric: str = "nse") -> float:
    """The same of the table of scores that holds the metric."""
    values = headline(table)[metric].to_numpy(np.float64) if len(table) else np.zeros(0)
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else float("nan")


def read_table(path: Path) -> pd.DataFrame:
    """The scores or the balance that an evaluation wrote: <run>/evaluation/<split>/<name>.csv."""
    try:
        return pd.read_csv(path, dtype={"site": str, "target": str})
    except (OSError, ValueError) as error:
        run, split = path.parents[2], path.parent.name
        raise DataError(
            f"{path} cannot be read. Make it again with: mclstm evaluate {run} --split {split}"
        ) from error
