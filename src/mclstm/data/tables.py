"""What a reader hands over: one table a site, as found in the files, before anything is judged or filled."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from mclstm.data.finding import Finding

__all__ = ["Raw", "Request", "Roles", "Table", "all_times", "declare_missing", "trimmed"]


class Roles(NamedTuple):
    """Which columns are mass, auxiliary, static and target."""

    mass: tuple[str, ...] = ()
    aux: tuple[str, ...] = ()
    static: tuple[str, ...] = ()
    target: tuple[str, ...] = ()

    def dynamic(self) -> tuple[str, ...]:
        """The columns that change with time, in the order mass, aux, target, each once."""
        return tuple(dict.fromkeys([*self.mass, *self.aux, *self.target]))

    def of(self, column: str) -> str:
        """The first role a column has, or the empty string."""
        for role, columns in self._asdict().items():
            if column in columns:
                return str(role)
        return ""


class Request(NamedTuple):
    """What a reader is asked for; empty `dynamic` means every column, empty `sites` every site."""

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


class Table(NamedTuple):
    """One site: its dates in the file's order, and float64 columns as long; arrays, for speed."""

    site: str
    file: str
    times: pd.DatetimeIndex
    values: dict[str, np.ndarray]


class Raw(NamedTuple):
    """Everything read, with what was found on the way."""

    reader: str
    tables: list[Table]
    attributes: pd.DataFrame  # index: sites; empty when the data have none
    units: dict[str, str]  # as stated by the files or fixed by their format
    findings: list[Finding]
    attributes_file: str = ""


def declare_missing(raw: Raw, values: tuple[float, ...]) -> Raw:
    """Turn the values a user declared to mean "missing" into NaN."""
    if not values:
        return raw
    marks = list(values)
    tables = [
        table._replace(values={name: _without(column, marks) for name, column in table.values.items()})
        for table in raw.tables
    ]
    return raw._replace(tables=tables, attributes=raw.attributes.mask(raw.attributes.isin(marks)))


def trimmed(table: Table) -> Table:
    """Without the rows at either end that hold nothing: a shared time axis outlasts a site's record."""
    if any(not np.isnan(column[[0, -1]]).any() for column in table.values.values() if len(column)):
        return table
    held = np.logical_or.reduce([~np.isnan(column) for column in table.values.values()])
    full = np.flatnonzero(held)
    kept = slice(full[0], full[-1] + 1) if len(full) else slice(0, 0)
    values = {name: column[kept] for name, column in table.values.items()}
    return table._replace(times=table.times[kept], values=values)


def all_times(tables: Sequence[Table]) -> pd.DatetimeIndex:
    """The dates that any site has, each once, in order."""
    union = tables[0].times.unique()
    for table in tables[1:]:
        if not table.times.equals(union):  # most archives share one axis, and joining is slow
            union = pd.DatetimeIndex(union.union(table.times))
    return union.sort_values()


def _without(column: np.ndarray, marks: list[float]) -> np.ndarray:
    return np.where(np.isin(column, marks), np.nan, column)
