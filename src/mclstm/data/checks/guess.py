"""Guesses about a table's columns, made only when unambiguous; otherwise the error names the choices."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from mclstm.data.tables import Roles
from mclstm.errors import DataError, MissingColumnError

__all__ = ["guess_roles", "require_columns", "site_column", "time_column"]

TIME_NAMES = ("date", "time", "datetime", "timestamp", "day")
SITE_NAMES = ("site", "site_id", "station", "station_id", "gauge_id", "gauge", "basin", "basin_id")
MASS_NAMES = (
    "rain", "rainfall", "precipitation", "precip", "prcp", "prec", "total_precipitation_sum", "inflow",
)  # fmt: skip
TARGET_NAMES = (
    "flow", "discharge", "streamflow", "runoff", "q", "qobs", "q_obs", "qobs(mm/d)", "outflow",
)  # fmt: skip


def time_column(columns: Sequence[str], declared: str | None, file: str) -> str:
    """The column of dates: the declared one, or the only one with a usual name."""
    return _one(columns, declared, TIME_NAMES, file, "dates", "--time") or _none(columns, file)


def site_column(columns: Sequence[str], declared: str | None, file: str) -> str | None:
    """The column of sites, or None when the table holds one site or one column a site."""
    return _one(columns, declared, SITE_NAMES, file, "sites", "--site")


def guess_roles(columns: Iterable[str], static: Iterable[str] = ()) -> Roles:
    """Roles by the usual names of columns; whatever is not mass or target is auxiliary.

    >>> guess_roles(["rain", "tmean", "flow"])
    Roles(mass=('rain',), aux=('tmean',), static=(), target=('flow',))
    """
    names = list(columns)
    mass = tuple(name for name in names if name.lower() in MASS_NAMES)
    target = tuple(name for name in names if name.lower() in TARGET_NAMES)
    aux = tuple(name for name in names if name not in mass + target)
    return Roles(mass, aux, tuple(static), target)


def require_columns(columns: Iterable[str], wanted: Iterable[str], file: str) -> None:
    """Refuse a table that lacks a declared column, naming the nearest it has."""
    have = [str(column) for column in columns]
    for name in wanted:
        if name not in have:
            near = get_close_matches(name, have, 1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Its columns are {listed(have)}."
            raise MissingColumnError(f"{file} has no column {name!r}. {hint}", name)


def listed(names: Sequence[str]) -> str:
    """Names for a message, shortened when there are many."""
    shown = ", ".join(repr(name)[:40] for name in names[:12])
    return f"{shown} and {len(names) - 12} more" if len(names) > 12 else shown or "none"


def _one(
    columns: Sequence[str], declared: str | None, usual: Sequence[str], file: str, what: str, option: str
) -> str | None:
    if declared is not None:
        require_columns(columns, [declared], file)
        return declared
    found = [column for column in columns if column.strip().lower() in usual]
    if len(found) > 1:
        raise DataError(f"{file}: the columns {listed(found)} may all hold {what}. Choose one with {option}.")
    return found[0] if found else None


def _none(columns: Sequence[str], file: str) -> str:
    raise DataError(
        f"{file} has no column named date or time; its columns are {listed(columns)}. "
        "Name the column of dates with --time."
    )
