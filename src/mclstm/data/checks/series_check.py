"""`check`: read a path as far as it goes and report everything wrong with it, never stopping at the first."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from mclstm.data.checks.guess import guess_roles
from mclstm.data.checks.table_check import inspect, missing_map
from mclstm.data.columns import day
from mclstm.data.finding import Finding, unreadable
from mclstm.data.policy import require_policy
from mclstm.data.readers import load, require_roles, require_units
from mclstm.data.tables import Raw, Request, Roles, declare_missing
from mclstm.errors import DataError

__all__ = ["Report", "check"]


class Report(NamedTuple):
    """What was read, as what, and what was found."""

    reader: str
    sites: int
    rows: int
    first: str
    last: str
    roles: Roles
    units: dict[str, str]
    findings: list[Finding]
    missing: list[dict[str, object]]


def check(
    path: str | Path,
    reader: str = "auto",
    *,
    mass: Sequence[str] = (),
    aux: Sequence[str] = (),
    static: Sequence[str] = (),
    target: Sequence[str] = (),
    time: str | None = None,
    site: str | None = None,
    units: Mapping[str, str] | None = None,
    attributes: str | None = None,
    date_format: str | None = None,
    separator: str | None = None,
    decimal: str = ".",
    missing: Sequence[float] = (),
    missing_mass: str = "error",
    missing_aux: str = "error",
) -> Report:
    """Examine data; without roles, every column is read and roles are guessed from the usual names."""
    require_policy(missing_mass, missing_aux)
    roles = Roles(tuple(mass), tuple(aux), tuple(static), tuple(target))
    require_roles(roles)
    request = Request(
        dynamic=roles.dynamic(), static=roles.static, time=time, site=site, date_format=date_format,
        separator=separator, decimal=decimal, attributes=attributes,
    )  # fmt: skip
    raw = _loaded(Path(path), reader, request)
    raw = declare_missing(raw, tuple(missing))
    if not roles.dynamic():
        columns = dict.fromkeys(column for table in raw.tables for column in table.values)
        roles = guess_roles(columns, static)
    declared = raw.units | dict(units or {})
    if raw.tables:
        require_units(units or {}, [name for columns in roles for name in columns])
    findings = inspect(raw, roles, declared, missing_mass=missing_mass, missing_aux=missing_aux)
    return _report(raw, roles, declared, findings)


def _loaded(path: Path, reader: str, request: Request) -> Raw:
    """A file that cannot be read is a finding like the others."""
    try:
        return load(path, reader, request)
    except DataError as error:
        return Raw(reader, [], pd.DataFrame(), {}, [unreadable(str(path), error)])


def _report(raw: Raw, roles: Roles, units: dict[str, str], findings: list[Finding]) -> Report:
    spans = [(table.times.min(), table.times.max()) for table in raw.tables if len(table.times)]
    first, last = (day(min(s for s, _ in spans)), day(max(e for _, e in spans))) if spans else ("", "")
    rows = sum(len(table.times) for table in raw.tables)
    shown = {name: unit for name, unit in units.items() if roles.of(name)}
    sites = len({table.site for table in raw.tables})
    return Report(raw.reader, sites, rows, first, last, roles, shown, findings, missing_map(raw))
