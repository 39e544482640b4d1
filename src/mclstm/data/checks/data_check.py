"""`check`: read a path as far as possible and report everything wrong with it, not only the first mistake."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from mclstm.data.checks.flow_balance import DailyBalance, daily_balances
from mclstm.data.checks.mass_budget import Budget, budget_findings, budget_of
from mclstm.data.checks.pair_check import pair_findings
from mclstm.data.checks.record_check import record_findings
from mclstm.data.checks.sentinels import find_sentinels
from mclstm.data.checks.table_check import inspect
from mclstm.data.checks.unit_check import unlike_units
from mclstm.data.column_names import guess_roles, units_in_names
from mclstm.data.columns import day, listed
from mclstm.data.findings import ERROR, WARNING, Finding, unreadable
from mclstm.data.patterns import by_column, columns_of, has_patterns, resolve
from mclstm.data.read import require_roles, require_units
from mclstm.data.readers import detect, load
from mclstm.data.readers.text_form import guess_form
from mclstm.data.series import require_policy
from mclstm.data.site_tables import Raw, Request, Roles, declare_missing, first_step
from mclstm.data.units import site_areas
from mclstm.errors import DataError

__all__ = ["Report", "check", "joined"]


class Report(NamedTuple):
    """What was read and how, the role and unit of each column, and all findings."""

    reader: str
    sites: int
    site_names: list[str]
    rows: int
    first: str
    last: str
    step: str  # as pandas writes it; empty where there is none
    request: Request  # with what was guessed
    roles: Roles
    units: dict[str, str]
    findings: list[Finding]
    missing: list[dict[str, object]]
    missing_values: list[float]  # that stand for missing and were not declared
    balances: list[DailyBalance]
    budgets: list[Budget]


def check(
    path: str | Path,
    reader: str = "auto",
    roles: Roles = Roles(),  # noqa: B008  # immutable
    request: Request = Request(),  # noqa: B008
    *,
    units: Mapping[str, str] | None = None,
    convert: Mapping[str, str] | None = None,
    area_km2: float | str | None = None,
    budget: Sequence[float] | None = None,
    balances: bool = True,
    missing: Sequence[float] = (),
    missing_mass: str = "error",
    missing_aux: str = "error",
) -> Report:
    """Check data. Without roles, every column is read and the usual names decide on its role.

    request: how the files are written; the columns to read follow from the roles, and what is not declared is
    guessed · units: of the file, and `convert` those of the series · area_km2: over which a volume becomes a
    depth, a number or an attribute · budget: the lowest and highest outflow over inflow that is right ·
    balances: whether what flows out is mass that flowed in
    """
    policy = require_policy(missing_mass, missing_aux)
    require_roles(roles)
    request, findings = _guessed(Path(path), reader, request)
    chosen, declared = () if has_patterns(roles) else roles.dynamic(), bool(roles.dynamic())
    static = tuple(dict.fromkeys([*roles.static, *([area_km2] if isinstance(area_km2, str) else [])]))
    request = request._replace(dynamic=chosen, static=static)
    raw = declare_missing(_loaded(Path(path), reader, request), tuple(missing))
    if has_patterns(roles) and raw.tables:
        roles = resolve(roles, columns_of(raw), str(path))
    if not declared:
        roles = guess_roles((column for table in raw.tables for column in table.values), roles.static)
    units = by_column(units or {}, roles.columns())
    if raw.tables:
        require_units(units, [*roles.columns(), *static])
    stated = units_in_names(roles.dynamic(), first_step(raw.tables)) | raw.units | units
    findings += inspect(raw, roles, stated, policy)
    findings += _no_role(raw, roles, ("mass",) if declared else ("mass", "target"), str(path))
    areas, unknown = _areas(raw, area_km2)
    findings += unknown
    budgets = []
    if balances:
        if convert is not None or not areas:  # an area alone says that volumes are to become depths
            findings += unlike_units(roles, stated | dict(convert or {}), str(path))
        by_site = (budget_of(table, roles, stated, areas.get(table.site)) for table in raw.tables)
        budgets = [item for item in by_site if item is not None]
        findings += budget_findings(budgets, budget)
    findings += _relations(raw, roles, budgets)
    return _report(raw, roles, stated, request, findings, budgets)


def joined(reports: Sequence[Report]) -> Report:
    """The reports on some sites each as one on all sites."""
    findings = [
        item
        for report in reports
        for item in report.findings
        # To each part, the sites of the others have attributes but no series.
        if (item.kind, item.severity) != ("attributes", WARNING)
    ]
    return reports[0]._replace(
        sites=sum(report.sites for report in reports),
        site_names=[name for report in reports for name in report.site_names],
        rows=sum(report.rows for report in reports),
        first=min(report.first for report in reports),
        last=max(report.last for report in reports),
        findings=list(dict.fromkeys(findings)),  # what concerns a whole file is in every report
        missing=[item for report in reports for item in report.missing],
        missing_values=sorted({value for report in reports for value in report.missing_values}),
        balances=[item for report in reports for item in report.balances],
        budgets=[item for report in reports for item in report.budgets],
    )


def _guessed(path: Path, reader: str, request: Request) -> tuple[Request, list[Finding]]:
    """The request with the form of a CSV, or of the first in a folder, where nothing is declared."""
    try:
        text = (detect(path) if reader == "auto" else reader) == "csv"
    except DataError:
        return request, []
    files = sorted(path.glob("*.csv")) if path.is_dir() else [path]
    return guess_form(files[0], request) if text and files else (request, [])


def _loaded(path: Path, reader: str, request: Request) -> Raw:
    """What can be read; a path that cannot be read is a finding like the others."""
    try:
        return load(path, reader, request)
    except DataError as error:
        return Raw([], pd.DataFrame(), {}, [unreadable(str(path), error)], reader=reader)


def _no_role(raw: Raw, roles: Roles, needed: Sequence[str], path: str) -> Iterator[Finding]:
    """Roles that no column has."""
    for role in needed if raw.tables else ():
        if not getattr(roles, role):
            what = f"no column is known as {role}: there are {listed(columns_of(raw))}"
            yield Finding(ERROR, "role", what, f"Name one with --{role}", path)


def _areas(raw: Raw, area_km2: float | str | None) -> tuple[dict[str, float], list[Finding]]:
    """The area of each site, as far as it is known, and what is wrong with the declared one."""
    sites = [table.site for table in raw.tables]
    try:
        areas: Any = site_areas(sites, area_km2, raw.attributes) if sites else None
    except DataError as error:
        return {}, [unreadable(raw.attributes_file or raw.tables[0].file, error)]
    return ({} if areas is None else dict(zip(sites, areas[:, 0].tolist(), strict=True))), []


def _relations(raw: Raw, roles: Roles, budgets: Sequence[Budget]) -> Iterator[Finding]:
    """What columns tell over time and beside each other; counted things need not follow each other."""
    water = {item.site for item in budgets if not item.counted}
    for table in raw.tables:
        yield from record_findings(table, roles)
        yield from pair_findings(table, roles, water=table.site in water)


def _report(
    raw: Raw, roles: Roles, units: dict[str, str], request: Request, findings: list[Finding],
    budgets: list[Budget],
) -> Report:  # fmt: skip
    sites = list(dict.fromkeys(table.site for table in raw.tables))
    times = [table.times for table in raw.tables if len(table.times)]
    first = day(min(dates.min() for dates in times)) if times else ""
    last = day(max(dates.max() for dates in times)) if times else ""
    used = {name: unit for name, unit in units.items() if roles.of(name)}
    marks = {
        mark for table in raw.tables for column in table.values.values() for mark in find_sentinels(column)
    }
    return Report(
        raw.reader, len(sites), sites, sum(len(table.times) for table in raw.tables), first, last,
        first_step(raw.tables), request, roles, used,
        findings, _missing(raw), sorted(marks), daily_balances(raw, roles), budgets,
    )  # fmt: skip


def _missing(raw: Raw) -> list[dict[str, object]]:
    """How many values are missing, by site, column and year."""
    rows: list[dict[str, object]] = []
    for table in raw.tables:
        for column, values in table.values.items():
            gaps = np.isnan(values)
            if not gaps.any():
                continue
            years = table.times[gaps].year.to_numpy()
            for year, count in zip(*np.unique(years, return_counts=True), strict=True):
                rows.append({"site": table.site, "column": column, "year": int(year), "count": int(count)})
    return rows
