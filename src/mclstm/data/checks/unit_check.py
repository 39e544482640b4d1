"""Units that are not declared, not known, or contradicted by the values."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import product

import numpy as np
import xarray as xr

from mclstm.data.column_names import unit_in_name
from mclstm.data.findings import ERROR, WARNING, Finding
from mclstm.data.site_tables import Raw, Roles
from mclstm.data.units import TEMPERATURES, convert, factor, known, parse
from mclstm.errors import DataError

__all__ = ["require_balance", "unit_findings", "unlike_units"]

DRIEST, WETTEST = 0.05, 10_000.0  # mm/day: bounds of the largest value of a record of rain
COLDEST, HOTTEST = 183.15, 333.15  # kelvin: beyond what was ever measured on land


def unit_findings(raw: Raw, roles: Roles, units: Mapping[str, str]) -> Iterator[Finding]:
    """At most one finding per column, over all sites."""
    if not raw.tables:
        return
    file = raw.tables[0].file
    for column in roles.dynamic():
        unit, role = units.get(column, ""), roles.of(column)
        low, high = _range(raw, column)
        yield from _misnamed(column, unit, file)
        if not unit:
            if role in ("mass", "target"):
                remedy = f"Declare it with --unit {column}=UNIT, for example mm/day or m3/s"
                yield Finding(WARNING, "unit", "its unit is not declared", remedy, file, "", column)
        elif parse(unit).amount in TEMPERATURES:
            yield from _temperature(column, role, unit, low, high, file)
        elif not known(unit):
            if role in ("mass", "target") and not _shared(unit, roles, units):
                what = f"{unit!r} is taken as it is: no conversion is known for it"
                remedy = "Nothing to do if mass and target share it"
                yield Finding(WARNING, "unit", what, remedy, file, "", column)
        elif role == "mass":
            yield from _rain(column, unit, high, file)


def _range(raw: Raw, column: str) -> tuple[float, float]:
    low, high = np.inf, -np.inf
    for table in raw.tables:
        if column in table.values:
            values = table.values[column]
            values = values[np.abs(values) < 1e19]  # neither NaN nor a sentinel
            if len(values):
                low, high = min(low, float(values.min())), max(high, float(values.max()))
    return low, high


def _temperature(column: str, role: str, unit: str, low: float, high: float, file: str) -> Iterator[Finding]:
    if role == "mass":
        what, remedy = (
            f"a mass column is declared in {unit}",
            "Declare a unit of mass, or the column with --aux",
        )
        yield Finding(ERROR, "unit", what, remedy, file, "", column)
        return
    coldest, hottest = (convert(value, unit, "K", role=role) for value in (low, high))
    if coldest < COLDEST or hottest > HOTTEST:
        what = f"values from {low:g} to {high:g} {unit} cannot be temperatures of air or water"
        remedy = f"Correct --unit {column}={unit}, or declare what means missing, such as --missing -999"
        yield Finding(ERROR if coldest < 0 else WARNING, "unit", what, remedy, file, "", column)


def _rain(column: str, unit: str, high: float, file: str) -> Iterator[Finding]:
    with suppress(DataError):  # volumes and amounts have no plausible range without an area
        largest = high * factor(unit, "mm/day")
        if 0 < largest < DRIEST or largest > WETTEST:
            what = f"the largest value, {high:g} {unit}, is {largest:.3g} mm/day: not plausible for water"
            remedy = "Check whether the file is in m, mm, kg m-2 s-1 or per hour, and correct --unit"
            yield Finding(WARNING, "unit", what, remedy, file, "", column)


def _shared(unit: str, roles: Roles, units: Mapping[str, str]) -> bool:
    """Whether all mass and targets are in this unit."""
    flows = (*roles.mass, *roles.target)
    return bool(roles.target) and all(parse(units.get(name, "")) == parse(unit) for name in flows)


def _misnamed(column: str, unit: str, file: str) -> Iterator[Finding]:
    """A declared unit that is not the one in the name."""
    written, declared = parse(unit_in_name(column)), parse(unit)
    times = {written.seconds, declared.seconds}
    if written.amount and unit and (written.amount != declared.amount or len(times - {0.0}) > 1):
        what = f"its name says {unit_in_name(column)}, declared is {unit}"
        yield Finding(WARNING, "unit", what, "Correct --unit, or rename the column", file, "", column)


def unlike_units(roles: Roles, units: Mapping[str, str], file: str) -> Iterator[Finding]:
    """Mass in one unit and a target in another, which do not balance: one finding at most."""
    for target, mass in product(roles.target, roles.mass):
        ours, theirs = units.get(mass, ""), units.get(target, "")
        if ours and theirs and parse(ours) != parse(theirs):
            what = f"it is in {theirs}, the mass {mass} in {ours}: they do not balance as they are"
            remedy = f"Convert it with target_unit: {ours} in the config; a volume needs --area in km2"
            yield Finding(WARNING, "unit", what, remedy, file, "", target)
            return


def require_balance(series: xr.Dataset) -> None:
    """Refuse an outflow in another declared unit than the inflow: they could not balance."""
    balancing = [item for item in series.data_vars.values() if item.attrs.get("role") in ("mass", "target")]
    declared = {str(item.name): str(item.attrs["units"]) for item in balancing if item.attrs.get("units")}
    for name, unit in declared.items():
        first, theirs = next(iter(declared.items()))
        if parse(unit) != parse(theirs):
            raise DataError(
                f"{first} is in {theirs} and {name} in {unit}, but mass that leaves is mass that entered. "
                f"Bring them to one unit with data.target_unit or data.convert, or choose model.head: linear."
            )
