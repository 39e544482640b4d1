"""The predictions of one site as plain arrays with their units: what figures of one site draw."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.dates import date2num
from numpy.typing import NDArray

from mclstm.data.units import amount_unit
from mclstm.errors import DataError
from mclstm.evaluation.metrics import score
from mclstm.evaluation.outlets import targets, variable

__all__ = ["SiteSeries", "Stores", "site_series"]

Floats = NDArray[np.float64]


class Stores(NamedTuple):
    """Where the mass of a conserving model was, step by step."""

    before: float  # stored before the first step
    entered: Floats  # (T,)
    emptied: Floats  # (T,) taken out of the stores before a step, where a sequence begins anew
    storage: Floats  # (T, K)
    outflow: Floats  # (T, outlets)
    outlets: list[str]
    losses: str  # the outlet that no target observes, empty where there is none
    losses_cell: int | None  # the cell that only losses leave
    turnover: Floats  # (K,) days that mass stays in each cell; NaN where it is not known

    @property
    def total(self) -> bool:
        """Whether the only store is the sum over all cells, which has no turnover of its own."""
        return self.storage.shape[1] == 1 and bool(np.isnan(self.turnover).all())


class SiteSeries(NamedTuple):
    """One site and one target; NaN where nothing is known."""

    target: str
    days: Floats  # (T,) dates as matplotlib counts them
    simulated: Floats  # (T,)
    observed: Floats  # (T,)
    unit: str
    inflow: Floats  # (T,)
    inflow_unit: str
    amount_unit: str  # the unit of what a store holds: the inflow's without its time
    stores: Stores | None

    @property
    def has_observations(self) -> bool:
        return bool(np.isfinite(self.pairs()).any())

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


def site_series(predictions: xr.Dataset, site: str, target: str = "") -> SiteSeries:
    """One site's part of the predictions; a single target need not be named."""
    sites = [str(name) for name in predictions["site"].to_numpy()]
    if variable("simulated", target) not in predictions:
        raise DataError(
            f"the predictions have no target {target!r}. Choose one of {', '.join(targets(predictions))}."
        )
    if site not in sites:
        raise DataError(f"the predictions have no site {site[:60]!r}. Correct the list of sites.")
    here = predictions.isel(site=sites.index(site))
    simulated = here[variable("simulated", target)]
    observed = here.get(variable("observed", target), xr.full_like(simulated, np.nan, dtype=np.float64))
    steps = pd.DatetimeIndex(here["time"].to_numpy())
    unit = str(here["inflow"].attrs.get("units", ""))
    return SiteSeries(
        target=target or str(simulated.attrs.get("long_name", "")).removeprefix("simulated ") or "flow",
        days=date2num(steps.to_numpy()),  # type: ignore[no-untyped-call]
        simulated=simulated.to_numpy().astype(np.float64),
        observed=observed.to_numpy().astype(np.float64),
        unit=str(simulated.attrs.get("units", "")),
        inflow=here["inflow"].to_numpy().astype(np.float64),
        inflow_unit=unit,
        amount_unit=amount_unit(unit, steps),
        stores=stores_of(here) if "storage" in here else None,
    )


def stores_of(here: xr.Dataset) -> Stores:
    """The ledger of one site; it may not cover the first steps."""
    entered, storage, outflow = (np.asarray(here[n], np.float64) for n in ("entered", "storage", "outflow"))
    outlets = [str(name) for name in here["outlet"].to_numpy()]
    before, cell = float(here["storage_before"]), int(here["storage"].attrs["trash_cell"])  # -1 is none
    losses = str(here["outflow"].attrs.get("losses", "trash" if "trash" in outlets else ""))  # as 0.1.0 said
    if "sequence" in here:
        before, emptied = restarts(here["sequence"].to_numpy(), storage.sum(1), outflow.sum(1), entered)
    else:
        emptied = np.zeros_like(entered)
    lost = losses, cell if cell >= 0 else None
    unknown = xr.DataArray(np.full(storage.shape[1], np.nan))  # of old files, and of totals
    turnover = np.asarray(here.get("turnover", unknown), np.float64)
    return Stores(before, entered, emptied, storage, outflow, outlets, *lost, turnover)


def restarts(
    number: NDArray[np.int64], stored: Floats, gone: Floats, entered: Floats
) -> tuple[float, Floats]:
    """What was stored before the first sequence, and what was taken out before each later one, (T,).

    number: of each step's sequence · stored: after each step · gone, entered: in each step; all (T,)

    >>> restarts(np.array([0, 1]), np.array([4.0, 2.0]), np.array([1.0, 0.0]), np.array([5.0, 2.0]))
    (0.0, array([0., 4.]))
    """
    steps = np.flatnonzero(np.isfinite(entered))
    begun = (stored + gone - entered)[steps]
    emptied = np.zeros_like(entered)
    anew = np.flatnonzero(np.diff(number[steps])) + 1
    emptied[steps[anew]] = stored[steps[anew - 1]] - begun[anew]
    return float(begun[:1].sum()), emptied
