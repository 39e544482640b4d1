"""What a figure of one site shows, taken out of the predictions once: plain arrays and their units."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.dates import date2num
from numpy.typing import NDArray

from mclstm.data.amounts import amount_unit
from mclstm.errors import DataError
from mclstm.evaluation.metrics import score

__all__ = ["SiteSeries", "Stores", "site_series", "targets"]

Floats = NDArray[np.float64]


class Stores(NamedTuple):
    """Where the mass of a conserving model was, step by step."""

    before: float  # stored before the first step
    entered: Floats  # (T,)
    storage: Floats  # (T, K)
    outflow: Floats  # (T, outlets)
    outlets: list[str]
    trash_cell: int | None


class SiteSeries(NamedTuple):
    """One site and one target; NaN where there is nothing."""

    target: str
    days: Floats  # (T,) dates as matplotlib counts them
    simulated: Floats  # (T,)
    observed: Floats  # (T,)
    unit: str
    inflow: Floats  # (T,)
    inflow_unit: str
    amount_unit: str  # of what a store holds: the inflow's without its time
    stores: Stores | None

    @property
    def has_observations(self) -> bool:
        return bool(np.isfinite(self.pairs()).any())

    @property
    def has_stores(self) -> bool:
        return self.stores is not None

    def span(self) -> tuple[float, float]:
        """The x axis: from half a step before the first to half a step after the last."""
        half = float(np.median(np.diff(self.days))) / 2 if self.days.size > 1 else 0.5
        return float(self.days[0]) - half, float(self.days[-1]) + half

    def pairs(self) -> Floats:
        """Simulated and observed where both are known: (2, n)."""
        both = np.stack([self.simulated, self.observed])
        return both[:, np.isfinite(both).all(0)]

    def scores(self) -> str:
        """NSE and KGE for a title, empty where they are not defined."""
        values = score(self.simulated, self.observed, ["nse", "kge"])
        return " · ".join(f"{name.upper()} {value:.2f}" for name, value in values.items() if value == value)


def targets(predictions: xr.Dataset) -> list[str]:
    """The names of the targets; a single one is nameless.

    >>> targets(xr.Dataset({"simulated_flow": 0, "observed_flow": 0, "simulated_evaporation": 0}))
    ['flow', 'evaporation']
    """
    names = [str(name) for name in predictions.data_vars]
    return [
        name.removeprefix("simulated").removeprefix("_") for name in names if name.startswith("simulated")
    ]


def site_series(predictions: xr.Dataset, site: str, target: str = "") -> SiteSeries:
    """One site's part of the predictions; a single target need not be named."""
    require(predictions, site, target)
    here = predictions.isel(site=[str(name) for name in predictions["site"].to_numpy()].index(site))
    suffix = f"_{target}" if target else ""
    simulated = here[f"simulated{suffix}"]
    observed = f"observed{suffix}"
    steps = pd.DatetimeIndex(here["time"].to_numpy())
    unit = str(here["inflow"].attrs.get("units", ""))
    return SiteSeries(
        target=target or str(simulated.attrs.get("long_name", "")).removeprefix("simulated ") or "flow",
        days=date2num(steps.to_numpy()),  # type: ignore[no-untyped-call]
        simulated=simulated.to_numpy().astype(np.float64),
        observed=here[observed].to_numpy().astype(np.float64)
        if observed in here
        else np.full(len(steps), np.nan),
        unit=str(simulated.attrs.get("units", "")),
        inflow=here["inflow"].to_numpy().astype(np.float64),
        inflow_unit=unit,
        amount_unit=amount_unit(unit, steps),
        stores=stores_of(here) if "storage" in here else None,
    )


def require(predictions: xr.Dataset, site: str, target: str) -> None:
    if f"simulated{'_' if target else ''}{target}" not in predictions:
        raise DataError(
            f"the predictions have no target {target!r}. Choose one of {', '.join(targets(predictions))}."
        )
    if site not in [str(name) for name in predictions["site"].to_numpy()]:
        raise DataError(f"the predictions have no site {site[:60]!r}. Correct the list of sites.")


def stores_of(here: xr.Dataset) -> Stores:
    """The ledger of one site, whose first steps may lie outside of what it covers."""
    storage, outflow = (here[name].to_numpy().astype(np.float64) for name in ("storage", "outflow"))
    entered = here["entered"].to_numpy().astype(np.float64)
    before = float(here["storage_before"])
    outlets = [str(name) for name in here["outlet"].to_numpy()]
    return Stores(before, entered, storage, outflow, outlets, trash_cell(here))


def trash_cell(here: xr.Dataset) -> int | None:
    """The cell whose outflow no target counts, as the predictions say."""
    cell = int(here["storage"].attrs["trash_cell"])
    return cell if cell >= 0 else None
