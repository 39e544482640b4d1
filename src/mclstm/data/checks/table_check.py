"""The data doctor: everything wrong with a data set in one go, each finding with its place and remedy."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from mclstm.data.checks import sentinels
from mclstm.data.checks.attribute_check import attribute_findings
from mclstm.data.checks.unit_check import unit_findings
from mclstm.data.columns import day
from mclstm.data.finding import ERROR, WARNING, Finding
from mclstm.data.steps import aligned, grid, is_regular, step_of
from mclstm.data.tables import Raw, Roles, Table

__all__ = ["inspect", "missing_map"]

Found = Iterator[Finding]


def inspect(
    raw: Raw,
    roles: Roles,
    units: Mapping[str, str],
    *,
    missing_mass: str = "error",
    missing_aux: str = "error",
    allow_negative_mass: bool = False,
) -> list[Finding]:
    """All findings, those of the reader first."""
    found = list(raw.findings)
    if not raw.tables and not found:
        found.append(
            Finding(ERROR, "empty", "there is no site to read", "Check the path and the names of the sites")
        )
    allowed = {"mass": missing_mass != "error", "aux": missing_aux != "error", "target": True}
    for table in raw.tables:
        found += _dates(table, allowed["mass"] and (allowed["aux"] or not roles.aux))
        for column in table.values:
            role = roles.of(column)
            found += _column(table, column, role, allowed.get(role, False), allow_negative_mass)
    found += _sites(raw)
    found += _steps(raw)
    found += attribute_findings(raw, roles)
    found += unit_findings(raw, roles, units)
    return found


def missing_map(raw: Raw) -> list[dict[str, object]]:
    """How many values are missing, by site, column and year."""
    rows: list[dict[str, object]] = []
    for table in raw.tables:
        for column, values in table.values.items():
            holes = np.isnan(values)
            if holes.any():
                years = table.times.year.to_numpy()
                for year, count in zip(*np.unique(years[holes], return_counts=True), strict=True):
                    rows.append(
                        {"site": table.site, "column": column, "year": int(year), "count": int(count)}
                    )
    return rows


def _dates(table: Table, gaps_allowed: bool) -> Found:
    index = table.times
    place: Any = {"file": table.file, "site": table.site}
    if is_regular(index):
        return
    if not len(index):
        yield Finding(
            ERROR, "empty", "there is no row of data", "Add the site's data or leave the site out", **place
        )
        return
    if not index.is_monotonic_increasing:
        back = np.flatnonzero(np.diff(index.asi8) < 0)
        what = f"the dates go back {len(back)} times; they will be sorted"
        remedy = "Sort the rows by date; if days and months were confused, declare --date-format"
        yield Finding(
            WARNING, "unsorted", what, remedy, first=day(index[back[0] + 1]), count=len(back), **place
        )
        index = index.sort_values()
    if not index.is_unique:
        twice = index[index.duplicated()]
        what = f"{len(twice)} dates appear more than once"
        remedy = "Keep one row a date; if the rows belong to several sites, name their column with --site"
        yield Finding(ERROR, "duplicate", what, remedy, first=day(twice[0]), count=len(twice), **place)
        index = index.unique()
    yield from _gaps(index, gaps_allowed, place)


def _gaps(index: pd.DatetimeIndex, allowed: bool, place: Any) -> Found:
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
        remedy = "Add the rows, or declare --missing-mass (and --missing-aux interpolate)"
        severity = WARNING if allowed else ERROR
        yield Finding(severity, "gap", what, remedy, first=day(lost[0]), count=len(lost), **place)


def _column(table: Table, column: str, role: str, missing_allowed: bool, allow_negative: bool) -> Found:
    values, index = table.values[column], table.times

    def at(severity: str, kind: str, mask: np.ndarray, what: str, remedy: str) -> Finding:
        first = day(index[int(np.argmax(mask))])
        return Finding(severity, kind, what, remedy, table.file, table.site, column, first, int(mask.sum()))

    if not len(values):
        return
    missing, endless = np.isnan(values), np.isinf(values)
    if missing.any():
        yield at(*_missing(missing, role, missing_allowed))
    if endless.any():
        what = f"{int(endless.sum())} values are infinite or too large for a number"
        yield at(ERROR, "infinite", endless, what, "Correct them or leave the cells empty")
    marks = sentinels.find(values)
    marked = np.isin(values, marks) if marks else np.zeros_like(missing)
    if marks:
        shown = ", ".join(f"{mark:g}" for mark in marks)
        remedy = f"Declare it with --missing {marks[0]:g}, or correct the values"
        yield at(ERROR, "sentinel", marked, f"{shown} probably stands for missing", remedy)
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
        what, remedy = f"it is {low:g} throughout", "Leave the column out: it tells the model nothing"
        yield at(WARNING, "constant", ~missing, what, remedy)


def _missing(missing: np.ndarray, role: str, allowed: bool) -> tuple[str, str, np.ndarray, str, str]:
    severity = ERROR if role in ("mass", "aux") and not allowed else WARNING
    what = f"{int(missing.sum())} of {len(missing)} values are missing"
    remedy = {
        "mass": "Fill them, or declare --missing-mass zero or interpolate",
        "aux": "Fill them, or declare --missing-aux interpolate",
        "target": "Nothing to do: what was not observed is not scored",
    }.get(role, "Fill them if the column is to be an input")
    if missing.all() and role != "target":
        severity, remedy = ERROR, "Leave the column or the site out, or check the name of the column"
    return severity, "missing", missing, what, remedy


def _sites(raw: Raw) -> Found:
    seen: dict[str, str] = {}
    for table in raw.tables:
        if table.site in seen:
            what = f"the site is also in {seen[table.site]}"
            yield Finding(ERROR, "site", what, "Keep each site in one file", table.file, table.site)
        seen[table.site] = table.file


def _steps(raw: Raw) -> Found:
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
