"""Columns by pattern: `in_*` stands for every column of the table that begins with `in_`, in its order."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeVar

from mclstm.data.columns import listed
from mclstm.data.findings import raise_first
from mclstm.data.readers import load
from mclstm.data.site_tables import Raw, Request, Roles
from mclstm.errors import ConfigError, MissingColumnError

__all__ = ["by_column", "columns_of", "has_patterns", "is_pattern", "resolve", "table_columns"]

Value = TypeVar("Value")


def is_pattern(name: str) -> bool:
    """Whether a name stands for several columns: it has a * (any characters) or a ? (one character).

    >>> is_pattern("in_*"), is_pattern("rain [mm]")
    (True, False)
    """
    return "*" in name or "?" in name


def has_patterns(roles: Roles) -> bool:
    """Whether any role names columns by a pattern."""
    return any(map(is_pattern, roles.columns()))


def resolve(roles: Roles, columns: Sequence[str], place: str, taken: Sequence[str] = ()) -> Roles:
    """The roles with the columns that their patterns match, in the order of the table.

    A column that a role names in full, or that is `taken` for something else, is never caught by a pattern.
    A pattern that matches nothing is refused, and so is a column that two roles catch.

    >>> resolve(Roles(mass=("in_*",), aux=("in_hour",)), ["in_a", "in_hour", "in_b"], "the table")
    Roles(mass=('in_a', 'in_b'), aux=('in_hour',), static=(), target=())
    """
    named = {name for name in roles.columns() if not is_pattern(name) or name in columns}
    free = [name for name in columns if name not in named and name not in taken]
    result = Roles(*(_role(names, columns, free, place) for names in roles))
    owner: dict[str, str] = {}
    for role, names in result._asdict().items():
        for name in names:
            if owner.setdefault(name, role) != role:
                raise ConfigError(
                    f"the patterns of {owner[name]} and of {role} both match the column {name!r} of {place}. "
                    "Name it in one of them, or narrow a pattern."
                )
    return result


def _role(names: Sequence[str], columns: Sequence[str], free: Sequence[str], place: str) -> tuple[str, ...]:
    matched: list[str] = []
    for name in names:
        whole = name in columns or not is_pattern(name)
        matching = [name] if whole else [column for column in free if _matches(column, name)]
        if not matching:
            near = get_close_matches(name, columns, 3, cutoff=0.4)
            hint = f"The nearest are {listed(near)}" if near else f"Its columns are {listed(columns)}"
            message = f"no column of {place} that is free for it matches {name!r}. {hint}."
            raise MissingColumnError(message, name)
        matched += matching
    return tuple(dict.fromkeys(matched))


def _matches(column: str, pattern: str) -> bool:
    # A bracket is a character of many names, such as rain [mm], and no set of characters.
    return fnmatchcase(column, pattern.replace("[", "[[]"))


def by_column(values: Mapping[str, Value], columns: Sequence[str]) -> dict[str, Value]:
    """Values by column from values by column or pattern; a name in full goes before a pattern.

    >>> by_column({"in_*": "vehicles", "in_b": "buses"}, ["in_a", "in_b"])
    {'in_a': 'vehicles', 'in_b': 'buses'}
    """
    patterns = {name: value for name, value in values.items() if is_pattern(name) and name not in columns}
    plain = {name: value for name, value in values.items() if name not in patterns}
    spread = {
        column: value for name, value in patterns.items() for column in columns if _matches(column, name)
    }
    return spread | plain


def table_columns(path: str, reader: str, request: Request) -> list[str]:
    """The columns that a path has, in the order of its files; those of text too, which no role can use."""
    raw = load(Path(path), reader, request._replace(dynamic=()))
    raise_first(raw.findings)
    return columns_of(raw)


def columns_of(raw: Raw) -> list[str]:
    """The columns of all tables, each once."""
    # A column without a number is left out of a table. A pattern catches it all the same: the reader then
    # says what is wrong with its cells.
    text = [finding.column for finding in raw.findings if finding.kind == "text column"]
    return list(dict.fromkeys([*(name for table in raw.tables for name in table.values), *text]))
