"""`check`: read a path as far as possible and report everything wrong with it, not only the first mistake."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from mclstm.data.checks.flow_balance import DailyBalance, daily_balances
from mclstm.data.checks.table_check import inspect
from mclstm.data.columns import MASS_NAMES, TARGET_NAMES, day
from mclstm.data.findings import Finding, unreadable
from mclstm.data.patterns import by_column, columns_of, has_patterns, resolve
from mclstm.data.read import require_roles, require_units
from mclstm.data.readers import load
from mclstm.data.series import require_policy
from mclstm.data.site_tables import Raw, Request, Roles, declare_missing
from mclstm.errors import DataError

__all__ = ["Report", "check", "guess_roles"]


class Report(NamedTuple):
    """What was read, the role and unit of each column, and all findings."""

    reader: str
    sites: int
    rows: int
    first: str
    last: str
    roles: Roles
    units: dict[str, str]
    findings: list[Finding]
    missing: list[dict[str, object]]
    balances: list[DailyBalance]


def check(
    path: str | Path,
    reader: str = "auto",
    roles: Roles = Roles(),  # noqa: B008  # immutable
    request: Request = Request(),  # noqa: B008
    *,
    units: Mapping[str, str] | None = None,
    missing: Sequence[float] = (),
    missing_mass: str = "error",
    missing_aux: str = "error",
) -> Report:
    """Check data. Without roles, every column is read and the usual names decide on its role.

    request: how the files are written; the columns to read follow from the roles
    """
    policy = require_policy(missing_mass, missing_aux)
    require_roles(roles)
    chosen = () if has_patterns(roles) else roles.dynamic()
    request = request._replace(dynamic=chosen, static=roles.static)
    raw = declare_missing(_loaded(Path(path), reader, request), tuple(missing))
    if has_patterns(roles) and raw.tables:
        roles = resolve(roles, columns_of(raw), str(path))
    if not roles.dynamic():
        roles = guess_roles((column for table in raw.tables for column in table.values), roles.static)
    units = by_column(units or {}, roles.columns())
    if raw.tables:
        require_units(units, roles.columns())
    declared = raw.units | units
    return _report(raw, roles, declared, inspect(raw, roles, declared, policy))


def guess_roles(columns: Iterable[str], static: Iterable[str] = ()) -> Roles:
    """Roles by the usual names of columns; every column that is not mass or target is auxiliary.

    >>> guess_roles(["rain", "tmean", "flow"])
    Roles(mass=('rain',), aux=('tmean',), static=(), target=('flow',))
    """
    names = list(dict.fromkeys(columns))
    mass = tuple(name for name in names if name.lower() in MASS_NAMES)
    target = tuple(name for name in names if name.lower() in TARGET_NAMES)
    aux = tuple(name for name in names if name not in mass + target)
    return Roles(mass, aux, tuple(static), target)


def _loaded(path: Path, reader: str, request: Request) -> Raw:
    """What can be read; a path that cannot be read is a finding like the others."""
    try:
        return load(path, reader, request)
    except DataError as error:
        return Raw([], pd.DataFrame(), {}, [unreadable(str(path), error)], reader=reader)


def _report(raw: Raw, roles: Roles, units: dict[str, str], findings: list[Finding]) -> Report:
    times = [table.times for table in raw.tables if len(table.times)]
    first = day(min(dates.min() for dates in times)) if times else ""
    last = day(max(dates.max() for dates in times)) if times else ""
    rows = sum(len(table.times) for table in raw.tables)
    used = {name: unit for name, unit in units.items() if roles.of(name)}
    sites = len({table.site for table in raw.tables})
    balances = daily_balances(raw, roles)
    return Report(raw.reader, sites, rows, first, last, roles, used, findings, _missing(raw), balances)


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
