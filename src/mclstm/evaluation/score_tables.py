"""Tables of scores: one row per site, and how a table of an evaluation is read."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from mclstm.errors import DataError
from mclstm.evaluation.metrics import score

__all__ = ["median_score", "read_table", "score_table"]


def score_table(predictions: xr.Dataset, metrics: Iterable[str] | None = None) -> pd.DataFrame:
    """One row per site (and target, if there are several), one column per metric.

    predictions: simulated and observed, (site, time)
    """
    chosen = None if metrics is None else list(metrics)
    window = peak_window(predictions["time"].to_numpy())
    rows = []
    for name in predictions.data_vars:
        if not str(name).startswith("simulated"):
            continue
        target = str(name).removeprefix("simulated").removeprefix("_")
        observed = f"observed{'_' if target else ''}{target}"
        if observed not in predictions:
            continue
        for site in predictions["site"].to_numpy():
            s, o = (predictions[key].sel(site=site).to_numpy() for key in (name, observed))
            values = score(s, o, chosen, peak_window=window)
            rows.append({"site": str(site), **({"target": target} if target else {}), **values})
    return pd.DataFrame(rows)


def peak_window(time: np.ndarray) -> int:
    """Steps by which a peak may be off, as in neuralhydrology: twelve hours, but at least three steps.

    >>> peak_window(np.array(["2001-01-01T00", "2001-01-01T01"], dtype="datetime64[ns]"))
    12
    """
    if len(time) < 2:
        return 3
    return max(3, int(np.timedelta64(12, "h") / np.median(np.diff(time))))


def median_score(predictions: xr.Dataset, metric: str = "nse") -> float:
    """The median of one metric over the sites that have a score; NaN if none has."""
    table = score_table(predictions, [metric])
    values = table[metric].to_numpy(np.float64) if len(table) else np.zeros(0)
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else float("nan")


def read_table(path: Path) -> pd.DataFrame:
    """The scores or the balance that an evaluation wrote: <run>/evaluation/<split>/<name>.csv."""
    try:
        return pd.read_csv(path, dtype={"site": str})
    except (OSError, ValueError) as error:
        run, split = path.parents[2], path.parent.name
        raise DataError(
            f"{path} cannot be read. Make it again with: mclstm evaluate {run} --split {split}"
        ) from error
