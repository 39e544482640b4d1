"""The age of a site's outflow, and the days behind its peaks, as JSON.

Ages are those of a model with mixed cells, which was fitted to flows and not to tracers.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from mclstm.data.series import times
from mclstm.data.windows import Tensors
from mclstm.explain.mass_ages import age_classes, trace_ages
from mclstm.explain.mass_paths import largest_peaks, origins_at
from mclstm.models.mass_model import MassModel
from mclstm.report.page.numbers import rounded
from mclstm.report.page.site_data import coarse_step

__all__ = ["age_data"]

PEAKS = 12
APART = 15  # steps between two peaks
SHOWN = 0.95  # share of a peak whose days are shown one by one
MOST = 90  # days shown one by one
LISTED = 10  # days that gave most

Floats = NDArray[np.float64]


def age_data(
    models: Sequence[MassModel], data: Tensors, series: xr.Dataset, first: int, outlet: str
) -> dict[str, dict[str, Any]]:
    """By site, its outflow through an outlet by age from step `first` on; earlier steps filled the stores.

    data, series: of the sites to trace
    """
    traced = trace_ages(models, data, series, age_classes(times(series)))
    result = {}
    for row, site in enumerate(str(name) for name in series["site"].to_numpy()):
        own = traced.sel(outlet=outlet).isel(site=row, time=slice(first, None))
        amounts = own["outflow_by_age"].to_numpy()  # (T, classes)
        flow = amounts.sum(-1)
        if not np.isfinite(flow).any():
            continue
        steps = largest_peaks(flow, PEAKS, APART)
        dates = [pd.Timestamp(own["time"].to_numpy()[step]) for step in steps]
        tables = origins_at(models, data, series, site, dates, outlet)
        peaks = [peak_data(step, table) for step, table in zip(steps, tables, strict=True)]
        result[site] = {"outlet": outlet, **classes_data(own, amounts), "peaks": peaks}
    return result


def classes_data(own: xr.Dataset, amounts: Floats) -> dict[str, Any]:
    """Shares by class of age and the median age, some steps together where the record is long."""
    every = coarse_step(len(amounts))
    sums = block_sums(amounts, every)
    total = sums.sum(-1, keepdims=True)
    shares = np.where(total > 0, sums / np.where(total > 0, total, 1.0), np.nan)
    median = own["median_age"].to_numpy()
    known = block_sums(np.isfinite(median).astype(np.float64), every)
    means = np.where(known > 0, block_sums(median, every) / np.maximum(known, 1), np.nan)
    young = own["young_share"]
    weights = np.nan_to_num(amounts.sum(-1))
    share = float((np.nan_to_num(young.to_numpy()) * weights).sum() / max(weights.sum(), 1e-300))
    return {
        "classes": [str(label) for label in own["age_class"].to_numpy()],
        "shares": [rounded(column, 3) for column in shares.T],
        "median": rounded(means, 3),
        "young": rounded([share], 3)[0],
        "young_days": float(young.attrs["young_days"]),
    }


def block_sums(values: Floats, every: int) -> Floats:
    """Sums of so many steps each, the last of fewer; unknown values count as nothing. (T, ...) -> (t, ...)

    >>> block_sums(np.array([1.0, 2.0, np.nan]), 2).tolist()
    [3.0, 0.0]
    """
    return np.add.reduceat(np.nan_to_num(values), np.arange(0, len(values), every), axis=0)


def peak_data(step: int, table: pd.DataFrame) -> dict[str, Any]:
    """What each step gave to one outflow, latest first, and which gave most; table: see `origins`."""
    dated = table.dropna(subset=["date"])
    by_day = dated.groupby("date", sort=True)["amount"].sum().iloc[::-1]
    total = float(table["amount"].sum())
    many = min(MOST, 1 + int((by_day.cumsum() < SHOWN * total).sum()))
    seconds = pd.DatetimeIndex(by_day.index).as_unit("ns").asi8 // 10**9
    amounts = by_day.to_numpy()
    top = np.argsort(-amounts, kind="stable")[:LISTED]
    return {
        "at": step,
        "flow": rounded([total])[0],
        "most": [[int(seconds[at]), value] for at, value in zip(top, rounded(amounts[top]), strict=True)],
        "times": seconds[:many].tolist(),
        "gave": rounded(amounts[:many]),
        "earlier": rounded([amounts[many:].sum()])[0],
        "start": rounded([total - amounts.sum()])[0],
    }
