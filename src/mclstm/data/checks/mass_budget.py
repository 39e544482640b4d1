"""The mass budget of each site: what flows out over what flows in, and which mistake an odd one points to.

A conserving model can only give out what went in, so a budget in wrong units cannot be learned.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from mclstm.data.checks.likely_mistakes import likely_factor, likely_mistakes
from mclstm.data.checks.sentinels import sound
from mclstm.data.findings import ERROR, WARNING, Finding
from mclstm.data.series import names, times
from mclstm.data.site_tables import Roles, Table
from mclstm.data.units import factor, known
from mclstm.errors import DataError

__all__ = ["Budget", "budget_findings", "budget_of", "series_budgets"]

YEAR = 365.25 * 86_400e9  # nanoseconds
FEWEST_STEPS = 30
REFUSED = (0.001, 3.0)  # outflow over inflow: outside, no basin is known
USUAL = (0.02, 1.0)  # outside, some are
DEFICIT = 0.1  # of all that entered: counted stores seldom held more before the first count
FAR = 5.0  # times the ratio of the training data
# mm per year: what no climate evaporates, what falls nowhere, what no desert turns into a river
EVAPORATED, WETTEST, DRIEST = 3000.0, 12_000.0, 60.0
COMMON = 1000.0  # mm of rain per year


class Budget(NamedTuple):
    """What flowed into and out of a site at the steps where both are known, in the unit of the first mass."""

    site: str
    file: str
    steps: int
    years: float  # that those steps cover
    inflow: float  # sum over steps
    outflow: float
    lowest: float  # the lowest stock, if the first was empty
    counted: bool  # things rather than water: whole numbers, or a unit of no known kind
    mass_unit: str
    target_unit: str

    @property
    def ratio(self) -> float:
        """Outflow over inflow."""
        return self.outflow / self.inflow

    def depths(self) -> tuple[float, float] | None:
        """Inflow and outflow in mm per year, where the unit tells; else None."""
        if not known(self.mass_unit) or not self.mass_unit:
            return None
        try:
            scale = factor(self.mass_unit, "mm/day") * 365.25 / self.steps
        except DataError:
            return None
        return self.inflow * scale, self.outflow * scale

    def sentence(self) -> str:
        """The budget in words.

        >>> Budget("Fulda", "", 3653, 10.0, 8000.0, 3000.0, 0.0, False, "mm/day", "mm/day").sentence()
        'Fulda: 800 mm per year in, 300 out, 0.375 of the inflow'
        """
        depths, share = self.depths(), f"{self.ratio:.3g} of the inflow"
        if depths is None:
            return f"{self.site}: outflow is {share} over {self.steps} steps"
        return f"{self.site}: {depths[0]:.0f} mm per year in, {depths[1]:.0f} out, {share}"


def budget_of(
    table: Table, roles: Roles, units: Mapping[str, str], area_km2: float | None = None
) -> Budget | None:
    """The budget of one site; None where mass and target cannot be compared or too few steps have both."""
    mass, target = (tuple(name for name in columns if name in table.values) for columns in roles[::3])
    if not mass or not target or len(table.times) < FEWEST_STEPS:
        return None
    unit = units.get(mass[0], "")
    try:
        inflow, outflow = (_total(table, columns, units, unit, area_km2) for columns in (mass, target))
    except DataError:
        return None  # unlike units: a finding of its own
    both = np.isfinite(inflow) & np.isfinite(outflow)
    entered, left = inflow[both], outflow[both]
    if len(entered) < FEWEST_STEPS or entered.sum() <= 0 or left.sum() < 0:
        return None
    step = np.ptp(table.times.asi8) / (len(table.times) - 1)
    whole = not unit and all(np.array_equal(values, np.round(values)) for values in (entered, left))
    return Budget(
        table.site, table.file, len(entered), float(len(entered) * step / YEAR), float(entered.sum()),
        float(left.sum()), min(0.0, float(np.cumsum(entered - left).min())),
        whole or bool(unit and not known(unit)), unit, units.get(target[0], ""),
    )  # fmt: skip


def series_budgets(series: xr.Dataset) -> list[Budget]:
    """The budget of every site of a series that has one."""
    roles = Roles(*(tuple(names(series, role)) for role in ("mass", "aux", "static", "target")))
    flows = [*roles.mass, *roles.target]
    units = {name: str(series[name].attrs.get("units", "")) for name in flows}
    values, time = {name: series[name].to_numpy() for name in flows}, times(series)
    file = str(series[roles.mass[0]].attrs.get("source", ""))
    tables = (
        Table(str(site), file, time, {name: values[name][row] for name in flows})
        for row, site in enumerate(series["site"].to_numpy())
    )
    budgets = (budget_of(table, roles, units) for table in tables)
    # A converted column is in the mass's unit; its own tells more about likely mistakes.
    own = str(series[roles.target[0]].attrs.get("converted_from", "")) if roles.target else ""
    return [item._replace(target_unit=own or item.target_unit) for item in budgets if item is not None]


def budget_findings(
    budgets: Sequence[Budget], declared: Sequence[float] | None = None, trained: float | None = None
) -> list[Finding]:
    """At most one finding per site.

    declared: the lowest and highest ratio that is right for the data · trained: the ratio in training
    """
    findings = []
    for budget in budgets:
        verdict = _declared(budget, declared) if declared else _usual(budget, trained) or _climate(budget)
        if verdict is not None:
            severity, what, cause = verdict
            remedy = f"{cause}, or declare --budget {_around(budget.ratio)} if it is right"
            findings.append(Finding(severity, "budget", what, remedy, budget.file, budget.site))
    return findings


Verdict = tuple[str, str, str] | None  # severity, what is odd, and what to check


def _declared(budget: Budget, declared: Sequence[float]) -> Verdict:
    low, high = declared
    if low <= budget.ratio <= high:
        return None
    return ERROR, f"{_share(budget)}, declared are {low:g} to {high:g}", _cause(budget)


def _usual(budget: Budget, trained: float | None) -> Verdict:
    long, what, cause = budget.years >= 1, _share(budget), _cause(budget, trained)
    if not REFUSED[0] <= budget.ratio <= REFUSED[1]:
        return (ERROR if long else WARNING), what, cause
    if long and not USUAL[0] <= budget.ratio <= USUAL[1]:
        return WARNING, what, cause
    if budget.counted and -budget.lowest > DEFICIT * budget.inflow:
        what = f"the stock falls to {budget.lowest:.4g}: more has left by then than came in"
        return WARNING, what, "Check whether an entrance is missing or in and out are exchanged"
    if long and trained and not 1 / FAR <= budget.ratio / trained <= FAR:
        return WARNING, f"{what}, in the training data it was {trained:.2g}", cause
    return None


def _climate(budget: Budget) -> Verdict:
    """Depths per year that no climate has."""
    entered, left = budget.depths() or (0.0, 0.0)
    what = f"{entered:.3g} mm per year flow in and {left:.3g} out"
    cause = f"Check the units: {likely_factor(entered / COMMON)}"
    if budget.years >= 1 and (entered > WETTEST or entered - left > EVAPORATED):
        return WARNING, f"{what}, and no climate evaporates the rest", cause
    if budget.years >= 1 and 0 < entered < DRIEST and budget.ratio > 0.2:
        return WARNING, f"{what}, and no desert has such a river", cause
    return None


def _share(budget: Budget) -> str:
    much = f"{budget.ratio:.3g} times" if budget.ratio > 1 else f"only {budget.ratio:.2g} of"
    return f"what flows out is {much} what flows in"


def _cause(budget: Budget, trained: float | None = None) -> str:
    return likely_mistakes(budget.ratio, (budget.mass_unit, budget.target_unit), trained)


def _around(ratio: float) -> str:
    """A range that holds the ratio, as it is declared."""
    return f"0,{float(f'{2 * ratio:.1g}'):g}" if ratio > 0.5 else "0,1"


def _total(
    table: Table, columns: Sequence[str], units: Mapping[str, str], unit: str, area_km2: float | None
) -> np.ndarray:
    """The sum of some columns, (time,), in one unit; NaN where any of them is missing."""
    total = np.zeros(len(table.times))
    for name in columns:
        stated = units.get(name, "")
        scale = factor(stated, unit, area_km2=area_km2) if stated and unit else 1.0
        total = total + sound(table.values[name]) * scale
    return total
