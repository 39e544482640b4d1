"""The checks of tables: dates, values, sites, steps and static attributes, each finding with its remedy."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from mclstm.data.checks.sentinels import LARGEST, find_sentinels
from mclstm.data.checks.unit_check import unit_findings
from mclstm.data.columns import day, listed
from mclstm.data.findings import ABSENT, ERROR, WARNING, Finding
from mclstm.data.series import Policy
from mclstm.data.site_tables import Raw, Roles, Table
from mclstm.data.steps import aligned, grid, is_regular, step_of

__all__ = ["inspect"]

Findings = Iterator[Finding]
ATTRIBUTE_LOW = -999.0  # longitudes and elevations may lie above it


def inspect(
    raw: Raw, roles: Roles, units: Mapping[str, str], policy: Policy, allow_negative_mass: bool = False
) -> list[Finding]:
    """All findings, those of the reader first."""
    findings = list(raw.findings)
    if not raw.tables and not findings:
        remedy = "Check the path and the names of the sites"
        findings.append(Finding(ERROR, "empty", "there is no site to read", remedy))
    allowed = {"mass": policy.missing_mass != "error", "aux": policy.missing_aux != "error", "target": True}
    for table in raw.tables:
        findings += _dates(table, allowed["mass"] and (allowed["aux"] or not roles.aux))
        for column in table.values:
            role = roles.of(column)
            findings += _column(table, column, role, allowed.get(role, False), allow_negative_mass)
    checks = (_sites(raw), _steps(raw), _attributes(raw, roles), unit_findings(raw, roles, units))
    return findings + [finding for check in checks for finding in check]


def _dates(table: Table, gaps_allowed: bool) -> Findings:
    index = table.times
    place: Any = {"file": table.file, "site": table.site}
    if is_regular(index):
        return
    if not len(index):
        remedy = "Add the site's data or leave the site out"
        yield Finding(ERROR, "empty", "there is no row of data", remedy, **place)
        return
    if not index.is_monotonic_increasing:
        back = np.flatnonzero(np.diff(index.asi8) < 0)
        what = f"the dates go back {len(back)} times; they will be sorted"
        remedy = "Sort the rows by date; if days and months were confused, declare --date-format '%d/%m/%Y'"
        first = day(index[back[0] + 1])
        yield Finding(WARNING, "unsorted", what, remedy, first=first, count=len(back), **place)
        index = index.sort_values()
    if not index.is_unique:
        twice = index[index.duplicated()]
        what = f"{len(twice)} dates appear more than once"
        remedy = "Keep one row per date; if the rows belong to several sites, name their column with --site"
        yield Finding(ERROR, "duplicate", what, remedy, first=day(twice[0]), count=len(twice), **place)
        index = index.unique()
    yield from _gaps(index, gaps_allowed, place)


def _gaps(index: pd.DatetimeIndex, allowed: bool, place: Any) -> Findings:
    step = step_of(index)
    if step is None:
        if len(index) > 2:
            odd = np.flatnonzero(np.diff(index.asi8) != np.diff(index.asi8)[0])
            what = "the dates have no regular step"
            remedy = "Aggregate the data to a regular step, such as days"
            yield Finding(ERROR, "irregular", what, remedy, first=day(index[odd[0]]), count=len(odd), **place)
        return
    full = grid(index[0], index[-1], step)
    if not len(full):
        what = f"the dates run to {day(index[-1])} in steps of {step}"
        remedy = "Check the first and the last date"
        yield Finding(ERROR, "span", what, remedy, first=day(index[0]), **place)
    elif len(full) > len(index):
        lost = full.difference(index)
        what = f"{len(lost)} steps of {step} are missing"
        remedy = "Add the rows, or declare --missing-mass zero (and --missing-aux interpolate)"
        severity = WARNING if allowed else ERROR
        yield Finding(severity, "gap", what, remedy, first=day(lost[0]), count=len(lost), **place)


def _column(table: Table, column: str, role: str, missing_allowed: bool, allow_negative: bool) -> Findings:
    values, index = table.values[column], table.times

    def at(severity: str, kind: str, mask: np.ndarray, what: str, remedy: str) -> Finding:
        first = day(index[int(np.argmax(mask))])
        return Finding(severity, kind, what, remedy, table.file, table.site, column, first, int(mask.sum()))

    if not len(values):
        return
    missing, marks = np.isnan(values), find_sentinels(values)
    marked = np.isin(values, marks) if marks else np.zeros_like(missing)
    endless = (np.abs(values) > LARGEST) & ~marked
    if missing.any():
        yield at(*_missing(missing, role, missing_allowed))
    if endless.any():
        what = f"{int(endless.sum())} values are infinite or too large for a number"
        yield at(ERROR, "infinite", endless, what, "Correct them or leave the cells empty")
    if marks:
        listing = ", ".join(f"{mark:g}" for mark in marks)
        remedy = f"Declare it with --missing {marks[0]:g}, or correct the values"
        yield at(ERROR, "sentinel", marked, f"{listing} probably stands for missing", remedy)
    sound = values[~(missing | endless | marked)]
    if not len(sound):
        return
    low, high = sound.min(), sound.max()
    if role == "mass" and low < 0:
        below = (values < 0) & ~(endless | marked)
        severity = WARNING if allow_negative else ERROR
        what = f"{int(below.sum())} values are negative, the lowest {low:g}; mass cannot be"
        yield at(severity, "negative", below, what, "Correct them, or declare the column with --aux")
    if low == high and len(sound) > 2:
        what, remedy = f"it is {low:g} throughout", "Leave the column out: it carries no information"
        yield at(WARNING, "constant", ~missing, what, remedy)


def _missing(missing: np.ndarray, role: str, allowed: bool) -> tuple[str, str, np.ndarray, str, str]:
    severity = ERROR if role in ("mass", "aux") and not allowed else WARNING
    what = f"{int(missing.sum())} of {len(missing)} values are missing"
    remedy = {
        "mass": "Fill them, or declare --missing-mass interpolate (or zero)",
        "aux": "Fill them, or declare --missing-aux interpolate",
        "target": "Nothing to do: only observed steps are scored",
    }.get(role, "Fill them if the column is to be an input")
    if missing.all() and role != "target":
        severity, remedy = ERROR, "Leave the column or the site out, or check the name of the column"
    return severity, "missing", missing, what, remedy


def _sites(raw: Raw) -> Findings:
    seen: dict[str, str] = {}
    for table in raw.tables:
        if table.site in seen:
            what = f"the site is also in {seen[table.site]}"
            yield Finding(ERROR, "site", what, "Keep each site in one file", table.file, table.site)
        seen[table.site] = table.file


def _steps(raw: Raw) -> Findings:
    """Every site must have the step of the first, and lie on its grid."""
    regular = {}
    previous: tuple[pd.DatetimeIndex, str | None] | None = None
    for table in raw.tables:
        if previous is None or not table.times.equals(previous[0]):
            previous = table.times, step_of(table.times.unique().sort_values())
        if previous[1] is not None:
            regular[table.site] = (previous[1], table)
    steps = [step for step, _ in regular.values()]
    first = next(iter(regular), "")
    for site, (step, table) in regular.items():
        if step != steps[0]:
            what = f"its step is {step}, that of site {first} is {steps[0]}"
            yield Finding(ERROR, "step", what, "Bring all sites to the same step", table.file, site)
        elif not aligned(regular[first][1].times.min(), table.times.min(), step):
            what = f"its steps of {step} begin at another time than those of site {first}"
            remedy = "Shift the dates so that all sites share them"
            yield Finding(ERROR, "step", what, remedy, table.file, site, "", day(table.times.min()))


def _attributes(raw: Raw, roles: Roles) -> Findings:
    """One finding per attribute, for the first site concerned."""
    if not roles.static and not len(raw.attributes):
        return
    file = raw.attributes_file or (raw.tables[0].file if raw.tables else "")
    # A site in two files is a finding of its own.
    table = raw.attributes.loc[~raw.attributes.index.duplicated()]
    sites = [item.site for item in raw.tables]
    strangers = [str(site) for site in table.index if str(site) not in set(sites)]
    if strangers and sites:
        what = f"{len(strangers)} sites have attributes but no series"
        remedy = "Nothing to do if they are not to be used"
        yield Finding(WARNING, "attributes", what, remedy, file, strangers[0], count=len(strangers))
    absent = [site for site in dict.fromkeys(sites) if site not in table.index] if len(table) else []
    if absent and roles.static:
        what = (
            f"{len(absent)} sites of the series have no row in it; its sites are {listed(list(table.index))}"
        )
        remedy = "Add a row for every site, or write its name as in the series, with leading zeros"
        yield Finding(ERROR, "attributes", what, remedy, file, absent[0], count=len(absent))
    for name in roles.static:
        if name in table.columns:
            yield from _attribute(table[name].reindex([site for site in sites if site not in absent]), file)
        else:
            remedy = "Correct --static, or name the file of attributes with --attributes"
            yield Finding(ERROR, ABSENT, "there is no such attribute", remedy, file, "", name)


def _attribute(column: pd.Series, file: str) -> Findings:
    values = pd.to_numeric(column, errors="coerce").to_numpy(np.float64)
    marks = [mark for mark in find_sentinels(values) if mark <= ATTRIBUTE_LOW or mark > 0]
    bad = ~np.isfinite(values) | np.isin(values, marks)
    if not bad.any():
        return
    row = int(np.argmax(bad))
    cell = column.iloc[row]
    if pd.isna(cell):
        what = "the attribute is missing"
    elif values[row] in marks:
        what = f"{cell} probably stands for missing"
    else:
        what = f"{str(cell)[:40]!r} is not a finite number"
    remedy = "Give every site a number, or leave the attribute or the site out"
    place = file, str(column.index[row]), str(column.name)
    yield Finding(ERROR, "attributes", what, remedy, *place, "", int(bad.sum()))
