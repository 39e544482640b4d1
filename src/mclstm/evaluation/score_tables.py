"""From predictions to tables: scores of every site, and where its mass went."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from mclstm.errors import DataError
from mclstm.evaluation.metrics import score

__all__ = ["balance_table", "median_score", "read_table", "score_table"]


def score_table(predictions: xr.Dataset, metrics: Iterable[str] | None = None) -> pd.DataFrame:
    """One row a site (and target, where there are several), one column a metric.

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
            simulated, measured = (predictions[key].sel(site=site).to_numpy() for key in (name, observed))
            values = score(simulated, measured, chosen, peak_window=window)
            rows.append({"site": str(site), **({"target": target} if target else {}), **values})
    return pd.DataFrame(rows)


def peak_window(time: np.ndarray) -> int:
    """Steps a peak may be off, as neuralhydrology has it: twelve hours, but at least three steps.

    >>> peak_window(np.array(["2001-01-01T00", "2001-01-01T01"], dtype="datetime64[ns]"))
    12
    """
    if len(time) < 2:
        return 3
    return max(3, int(np.timedelta64(12, "h") / np.median(np.diff(time))))


def median_score(predictions: xr.Dataset, metric: str = "nse") -> float:
    """The median over sites of one metric, sites without a score left out."""
    table = score_table(predictions, [metric])
    values = table[metric].to_numpy(np.float64) if len(table) else np.zeros(0)
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else float("nan")


def balance_table(predictions: xr.Dataset) -> pd.DataFrame:
    """One row a site: inflow + storage before = outflow by outlet + storage after + residual.

    `filled` is the part of the inflow that was not measured but filled in by the declared policy.
    """
    table = pd.DataFrame({"site": [str(site) for site in predictions["site"].to_numpy()]})
    table["inflow"] = predictions["inflow"].sum("time").to_numpy()
    table["filled"] = predictions["filled"].sum("time").to_numpy()
    table["filled steps"] = predictions["was_filled"].sum("time").to_numpy()
    if "storage" not in predictions:
        return table
    entered = predictions["entered"].sum("time").to_numpy()
    if predictions["entered"].attrs.get("scaled"):
        table["added by input scaling"] = entered - table["inflow"]
    for outlet in predictions["outlet"].to_numpy():
        table[f"outflow {outlet}"] = predictions["outflow"].sel(outlet=outlet).sum("time").to_numpy()
    table["storage before"] = predictions["storage_before"].to_numpy()
    stored = predictions["storage"].sum("cell", skipna=False).to_numpy()
    table["storage after"] = [row[np.isfinite(row)][-1] if np.isfinite(row).any() else 0.0 for row in stored]
    available = entered + table["storage before"]
    gone = predictions["outflow"].sum(["time", "outlet"]).to_numpy() + table["storage after"]
    table["residual"] = available - gone
    table["relative error"] = table["residual"].abs() / available.where(available > 0, 1.0)
    return table


def read_table(path: Path) -> pd.DataFrame:
    """A table of scores or of the balance, as an evaluation wrote it: <run>/evaluation/<split>/<name>.csv."""
    try:
        return pd.read_csv(path, dtype={"site": str})
    except (OSError, ValueError) as error:
        run, split = path.parents[2], path.parent.name
        raise DataError(
            f"{path} cannot be read. Make it again with: mclstm evaluate {run} --split {split}"
        ) from error
