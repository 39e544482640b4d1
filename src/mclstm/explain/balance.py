"""The water balance of every site in amounts a year, and the long-term ratios of Budyko's space."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

__all__ = ["agreement", "budyko", "long_term", "mean_balance", "water_balance"]

YEAR = 365.25  # days


def water_balance(books: pd.DataFrame, flows: xr.Dataset) -> pd.DataFrame:
    """One row a site, amounts a year: inflow [+ added] = what left + change of storage + residual.

    books: a run's mass_balance.csv · flows: its simulated and inflow (site, time). The residual of a model
    with stores is rounding; of one without, all it cannot account for: evaporation, storage, or mass from
    nowhere.
    """
    table = books.set_index(books["site"].astype(str))
    years = _years(flows)
    result = pd.DataFrame({"inflow": table["inflow"]})
    stores = "storage after" in table
    if stores:
        if "added by input scaling" in table:
            result["added by input scaling"] = table["added by input scaling"]
        for name in table.columns:
            if name.startswith("outflow "):
                result[f"left as {name.removeprefix('outflow ')}"] = table[name]
        result["change of storage"] = table["storage after"] - table["storage before"]
        result["residual"] = table["residual"]
    else:
        left = flows["simulated"].sum("time").to_numpy()
        result["left as " + _target(flows)] = pd.Series(left, [str(s) for s in flows["site"].to_numpy()])
        result["residual"] = result["inflow"] - result["left as " + _target(flows)]
    result = result / years
    if stores:
        result["relative error"] = table["relative error"]
    return result.rename_axis("site")


def _target(flows: xr.Dataset) -> str:
    about = str(flows["simulated"].attrs.get("long_name", ""))
    return about.removeprefix("simulated ") or "flow"


def _years(flows: xr.Dataset) -> float:
    days = pd.DatetimeIndex(flows["time"].to_numpy())
    step = np.median(np.diff(days.as_unit("ns").asi8)) / 86_400e9 if len(days) > 1 else 1.0
    return float(len(days) * step / YEAR)


def mean_balance(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The balance of an ensemble: every term is the mean of its members' and the terms still add up.

    The relative error is the largest of the members, because means would hide it. An outlet that a member
    does not have let nothing out; where a member has no stores, such as an LSTM, the ensemble has none.
    """
    columns = list(dict.fromkeys(name for table in tables for name in table))
    if not all("relative error" in table for table in tables):
        left = [name for name in columns if name == "inflow" or all(name in t for t in tables)]
        columns = [name for name in left if name not in ("change of storage", "residual")]
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
    share: np.ndarray = np.sqrt(phi * np.tanh(1 / phi) * (1 - np.exp(-phi)))
    return share


def long_term(flows: xr.Dataset, pet: pd.Series) -> pd.DataFrame:
    """One row a site with a PET: means a step, Q / P observed and simulated, 1 - Q / P beside Budyko's E / P.

    flows: simulated, observed, inflow (site, time), of which only the steps count at which all are known
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
    """How far simulated runoff ratios are from observed ones, and how many of each exceed all the rain."""
    simulated, observed = table["runoff ratio simulated"], table["runoff ratio observed"]
    return {
        "sites": float(len(table)),
        "correlation": float(simulated.corr(observed)),
        "rmse": float(np.sqrt(((simulated - observed) ** 2).mean())),
        "bias": float((simulated - observed).mean()),
        "observed above 1": float((observed > 1).sum()),
        "simulated above 1": float((simulated > 1).sum()),
    }
