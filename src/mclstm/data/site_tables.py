"""What a reader returns: one table per site as the files have it, before any value is checked or filled."""

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from mclstm.data.findings import Finding, unreadable
from mclstm.data.steps import step_of
from mclstm.errors import DataError

__all__ = [
    "Raw", "Request", "Roles", "Table", "all_times", "declare_missing", "first_step", "in_periods", "joined",
    "read_each", "trimmed",
]  # fmt: skip


class Roles(NamedTuple):
    """Which columns are mass, auxiliary, static and target."""

    mass: tuple[str, ...] = ()
    aux: tuple[str, ...] = ()
    static: tuple[str, ...] = ()
    target: tuple[str, ...] = ()

    def dynamic(self) -> tuple[str, ...]:
        """The columns that change with time, in the order mass, aux, target, each once."""
        return tuple(dict.fromkeys([*self.mass, *self.aux, *self.target]))

    def columns(self) -> list[str]:
        """All columns, role by role."""
        return [name for columns in self for name in columns]

    def of(self, column: str) -> str:
        """The first role a column has, or the empty string."""
        for role, columns in self._asdict().items():
            if column in columns:
                return str(role)
        return ""


class Request(NamedTuple):
    """What to read, and how the files are written. Empty `dynamic` means every column, empty `sites` all."""

    dynamic: tuple[str, ...] = ()
    static: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()  # dynamic columns that may be absent: targets at prediction time
    time: str | None = None
    site: str | None = None
    date_format: str | None = None
    separator: str | None = None
    decimal: str = "."
    attributes: str | None = None
    sites: tuple[str, ...] = ()

    def required(self) -> list[str]:
        """The dynamic columns that must be there."""
        return [name for name in self.dynamic if name not in self.optional]


class Table(NamedTuple):
    """One site: its dates in the file's order and float64 columns of the same length, as fast arrays."""

    site: str
    file: str
    times: pd.DatetimeIndex
    values: dict[str, np.ndarray]


class Raw(NamedTuple):
    """Everything that was read, with the problems found while reading."""

    tables: list[Table]
    attributes: pd.DataFrame  # index: sites; empty when the data have none
    units: dict[str, str]  # as stated by the files or fixed by their format
    findings: list[Finding]
    attributes_file: str = ""
    reader: str = ""


def in_periods(table: Table, targets: Sequence[str], periods: Sequence[tuple[datetime, datetime]]) -> Table:
    """A table up to the end of the last period, without observations outside the periods; whole without any.

    Inputs between the periods stay: they fill the stores.
    """
    if not periods:
        return table
    times = table.times
    ends = [(pd.Timestamp(first), pd.Timestamp(after)) for first, after in periods]
    seen = np.any([(times >= first) & (times < after) for first, after in ends], axis=0)
    stay = ~(times >= max(after for _, after in ends))  # also dates that cannot be read: they are mistakes
    values = {
        name: (np.where(seen, column, np.nan) if name in targets else column)[stay]
        for name, column in table.values.items()
    }
    return table._replace(times=times[stay], values=values)


def joined(parts: Sequence[Raw]) -> Raw:
    """The parts that several files or folders gave, as one."""
    attributes = [part.attributes for part in parts if len(part.attributes.columns)]
    return Raw(
        [table for part in parts for table in part.tables],
        pd.concat(attributes) if attributes else pd.DataFrame(),
        {name: unit for part in parts for name, unit in part.units.items()},
        [finding for part in parts for finding in part.findings],
        next((part.attributes_file for part in parts if part.attributes_file), ""),
    )


def read_each(files: Sequence[Path], read: Callable[[Path], Raw]) -> Raw:
    """All files, each by `read`. A file that cannot be read is a finding and does not hide the others."""
    parts = []
    for file in files:
        try:
            parts.append(read(file))
        except DataError as error:
            parts.append(Raw([], pd.DataFrame(), {}, [unreadable(str(file), error)]))
    return joined(parts)


def declare_missing(raw: Raw, values: tuple[float, ...]) -> Raw:
    """Replace the values that a user declared to mean "missing" by NaN."""
    if not values:
        return raw

    def without(column: np.ndarray) -> np.ndarray:
        return np.where(np.isin(column, values), np.nan, column)

    tables = [
        table._replace(values={name: without(column) for name, column in table.values.items()})
        for table in raw.tables
    ]
    return raw._replace(tables=tables, attributes=raw.attributes.mask(raw.attributes.isin(list(values))))


def trimmed(table: Table) -> Table:
    """The table without empty rows at either end: a shared time axis may be longer than a site's record."""
    if any(not np.isnan(column[[0, -1]]).any() for column in table.values.values() if len(column)):
        return table
    full = np.flatnonzero(np.logical_or.reduce([~np.isnan(column) for column in table.values.values()]))
    rows = slice(full[0], full[-1] + 1) if len(full) else slice(0, 0)
    values = {name: column[rows] for name, column in table.values.items()}
    return table._replace(times=table.times[rows], values=values)


def all_times(tables: Sequence[Table]) -> pd.DatetimeIndex:
    """The dates that any site has, each once, in order."""
    union = tables[0].times.unique()
    for table in tables[1:]:
        if not table.times.equals(union):  # most archives share one axis, and joining is slow
            union = pd.DatetimeIndex(union.union(table.times))
    return union.sort_values()


def first_step(tables: Sequence[Table]) -> str:
    """The step of the first site that has one, as pandas writes it; empty where none has."""
    steps = (step_of(table.times.unique().sort_values()) for table in tables)
    return next((step for step in steps if step), "")
