"""The mass balance of every site, in all and per year, and its long-term ratios in Budyko's space."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from mclstm.data.units import parse
from mclstm.evaluation.outlets import targets, variable

__all__ = [
    "agreement", "balance_table", "budyko", "long_term", "mean_balance", "sequence_balance",
    "simulated_outflow", "water_balance",
]  # fmt: skip


def balance_table(predictions: xr.Dataset) -> pd.DataFrame:
    """One row per site: inflow + storage before = outflow by outlet + storage after + residual.

    `filled` is the part of the inflow that was not measured but filled in, as the config declares. Where each
    sequence began anew, both storages are sums over the sequences, and `sequences` counts them.
    """
    table = pd.DataFrame({"site": [str(site) for site in predictions["site"].to_numpy()]})
    table["inflow"] = predictions["inflow"].sum("time").to_numpy()
    table["filled"] = predictions["filled"].sum("time").to_numpy()
    table["filled steps"] = predictions["was_filled"].sum("time").to_numpy()
    if "sequence" in predictions:
        table["sequences"] = [len(np.unique(row[row >= 0])) for row in predictions["sequence"].to_numpy()]
    if "storage" not in predictions:
        return table
    entered = predictions["entered"].sum("time").to_numpy()
    if predictions["entered"].attrs.get("scaled"):
        table["added by input scaling"] = entered - table["inflow"]
    for outlet in predictions["outlet"].to_numpy():
        table[f"outflow {outlet}"] = predictions["outflow"].sel(outlet=outlet).sum("time").to_numpy()
    table["storage before"] = predictions["storage_before"].to_numpy()
    table["storage after"] = _stored_after(predictions)
    available = entered + table["storage before"]
    gone = predictions["outflow"].sum(["time", "outlet"]).to_numpy() + table["storage after"]
    table["residual"] = available - gone
    table["relative error"] = table["residual"].abs() / available.where(available > 0, 1.0)
    return table


def _stored_after(predictions: xr.Dataset) -> NDArray[np.float64]:  # (site,)
    if "storage_left" in predictions:
        return np.asarray(predictions["storage_left"])
    stored = predictions["storage"].sum("cell", skipna=False).to_numpy()
    return np.array([row[np.isfinite(row)][-1] if np.isfinite(row).any() else 0.0 for row in stored])


def sequence_balance(predictions: xr.Dataset) -> pd.DataFrame:
    """One row per site and sequence: inflow + storage before = outflow by outlet + storage left + residual.

    `observed` is the sum of all observed targets, NaN where one is missing at a step: inflow - observed is
    what the counts themselves do not close by.
    """
    number = predictions["sequence"].to_numpy()
    sites, time = (predictions[name].to_numpy() for name in ("site", "time"))
    columns = {"site": np.repeat(sites.astype(str), len(time)), "sequence": number.ravel()}
    columns |= {"begin": np.tile(time, len(sites)), "inflow": predictions["inflow"].to_numpy().ravel()}
    observed = [predictions[name].to_numpy() for name in _observed(predictions)]
    columns |= {"observed": np.sum(observed, axis=0).ravel()} if observed else {}
    if "storage" in predictions:
        columns["entered"] = predictions["entered"].to_numpy().ravel()
        for at, outlet in enumerate(predictions["outlet"].to_numpy()):
            columns[f"outflow {outlet}"] = predictions["outflow"].to_numpy()[..., at].ravel()
        columns["storage left"] = predictions["storage"].sum("cell", skipna=False).to_numpy().ravel()
    rows = pd.DataFrame(columns)
    groups = rows[rows["sequence"] >= 0].groupby(["site", "sequence"], sort=False)
    how: dict[str, Any] = {
        "begin": "first",
        "storage left": "last",
        "observed": lambda values: values.sum(skipna=False),
    }
    table = groups.agg({name: how.get(name, "sum") for name in columns if name not in ("site", "sequence")})
    return _with_residual(table.reset_index(), predictions)


def _observed(predictions: xr.Dataset) -> list[str]:
    return [name for name in map(str, predictions.data_vars) if name.split("_")[0] == "observed"]


def _with_residual(table: pd.DataFrame, predictions: xr.Dataset) -> pd.DataFrame:
    """The table with what its sequences began with, the same for all of a site, and what is missing."""
    if "storage left" not in table:
        return table
    total = dict(
        zip(predictions["site"].to_numpy().astype(str), predictions["storage_before"].to_numpy(), strict=True)
    )
    count = table.groupby("site")["sequence"].transform("size")
    before = table["site"].map(total) / count
    gone = table.filter(regex="^outflow ").sum(axis=1) + table["storage left"]
    table.insert(list(table).index("entered") + 1, "storage before", before)
    table["residual"] = table["entered"] + before - gone
    return table


def water_balance(books: pd.DataFrame, flows: xr.Dataset) -> pd.DataFrame:
    """One row per site, amounts per year: inflow [+ added] = left + change of storage + residual.

    books: a run's mass_balance.csv · flows: its simulated and inflow (site, time). For a model with stores
    the residual is rounding. For a model without stores it is all the mass that the model does not explain.
    """
    table = _renamed(books, flows).set_index(books["site"].astype(str))
    result = pd.DataFrame({"inflow": table["inflow"]})
    if "storage after" in table:
        if "added by input scaling" in table:
            result["added by input scaling"] = table["added by input scaling"]
        for name in map(str, table.filter(regex="^outflow ")):
            result[f"left as {name.removeprefix('outflow ')}"] = table[name]
        result["change of storage"] = table["storage after"] - table["storage before"]
        result["residual"] = table["residual"]
    else:
        left = pd.DataFrame(simulated_outflow(flows), [str(site) for site in flows["site"].to_numpy()])
        result = result.join(left).assign(residual=result["inflow"] - left.sum(axis=1))
    result = result / _years(flows)
    if "relative error" in table:
        result["relative error"] = table["relative error"]
    return result.rename_axis("site")


def _renamed(books: pd.DataFrame, flows: xr.Dataset) -> pd.DataFrame:
    """Books of version 0.1.0 call the losses trash, which may also be the name of a target."""
    simulated = [flows[variable("simulated", target)] for target in targets(flows)]
    observed = any(str(flow.attrs.get("long_name")) == "simulated trash" for flow in simulated)
    return books if observed else books.rename(columns={"outflow trash": "outflow losses"})


def simulated_outflow(predictions: xr.Dataset) -> dict[str, np.ndarray]:
    """What a model without stores says left, by target in the unit of the inflow; each (site,)."""
    unit = parse(str(predictions["inflow"].attrs.get("units", "")))
    sums = {}
    for target in targets(predictions):
        simulated = predictions[variable("simulated", target)]
        if parse(str(simulated.attrs.get("units", ""))) == unit:
            about = str(simulated.attrs.get("long_name", "simulated flow")).removeprefix("simulated ")
            sums[f"left as {about}"] = simulated.sum("time").to_numpy()
    return sums


def _years(flows: xr.Dataset) -> float:
    days = pd.DatetimeIndex(flows["time"].to_numpy())
    step = np.median(np.diff(days.as_unit("ns").asi8)) / 86_400e9 if len(days) > 1 else 1.0
    return float(len(days) * step / 365.25)


def mean_balance(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The balance of an ensemble: every term is the mean over members, so the terms still add up.

    The relative error is the largest of all members. An outlet that a member lacks counts as 0 for it. If one
    member has no stores, such as an LSTM, the ensemble has none.
    """
    columns = list(dict.fromkeys(name for table in tables for name in table))
    if not all("relative error" in table for table in tables):
        common = [name for name in columns if name == "inflow" or all(name in t for t in tables)]
        columns = [name for name in common if name not in ("change of storage", "residual")]
    tables = [table.reindex(columns=columns, fill_value=0.0) for table in tables]
    mean = sum(tables[1:], start=tables[0]) / len(tables)
    if "residual" not in mean:
        mean["residual"] = mean["inflow"] - mean.filter(like="left as ").sum(axis=1)
    if "relative error" in mean:
        mean["relative error"] = pd.concat([t["relative error"] for t in tables], axis=1).max(axis=1)
    return mean


def budyko(aridity: np.ndarray) -> np.ndarray:
    """Budyko's curve (1974): the share of precipitation that evaporates, from PET / P alone.

    E / P = sqrt(phi tanh(1 / phi) (1 - exp(-phi))); aridity phi (N,), above 0.

    >>> budyko(np.array([0.001, 1.0, 100.0])).round(3).tolist()
    [0.001, 0.694, 1.0]
    """
    phi = np.asarray(aridity, dtype=np.float64)
    return np.asarray(np.sqrt(phi * np.tanh(1 / phi) * (1 - np.exp(-phi))))


def long_term(flows: xr.Dataset, pet: pd.Series) -> pd.DataFrame:
    """One row per site with a PET: means per step, Q / P, 1 - Q / P and Budyko's E / P.

    flows: simulated, observed, inflow (site, time); only steps where all are known count
    pet: potential evapotranspiration by site, in the unit of the inflow

    1 - Q / P is the evaporative index if storage changes little over the period and nothing else is lost.
    """
    known = np.isfinite(flows["simulated"]) & np.isfinite(flows["observed"]) & np.isfinite(flows["inflow"])
    mean = {name: flows[name].where(known).mean("time").to_numpy() for name in flows.data_vars}
    sites = [str(site) for site in flows["site"].to_numpy()]
    table = pd.DataFrame({"precipitation": mean["inflow"]}, index=pd.Index(sites, name="site"))
    table["pet"] = pet.reindex(sites)
    table["aridity"] = table["pet"] / table["precipitation"]
    for name in ("observed", "simulated"):
        table[f"runoff ratio {name}"] = mean[name] / table["precipitation"]
        table[f"evaporative index {name}"] = 1 - table[f"runoff ratio {name}"]
    table["budyko"] = budyko(table["aridity"].to_numpy())
    return table.dropna(subset=["pet"])


def agreement(table: pd.DataFrame) -> dict[str, float]:
    """How close simulated runoff ratios are to observed ones, and how many of each exceed 1."""
    simulated, observed = table["runoff ratio simulated"], table["runoff ratio observed"]
    return {
        "sites": float(len(table)),
        "correlation": float(simulated.corr(observed)),
        "rmse": float(np.sqrt(((simulated - observed) ** 2).mean())),
        "bias": float((simulated - observed).mean()),
        "observed above 1": float((observed > 1).sum()),
        "simulated above 1": float((simulated > 1).sum()),
    }
