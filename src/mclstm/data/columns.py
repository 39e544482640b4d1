"""The columns of a table: which one holds what, by its usual name, and its cells as dates and numbers.

A name is used only where it is unambiguous; otherwise the error lists the choices. A cell that is no date or
number is reported, never guessed.
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

import numpy as np
import pandas as pd

from mclstm.data.findings import ERROR, WARNING, Finding
from mclstm.errors import DataError, MissingColumnError

__all__ = ["dates", "day", "listed", "numbers", "require_columns", "site_column", "time_column"]

FIRST_YEAR, LAST_YEAR = 1678, 2261  # what 64-bit nanoseconds can hold
TIME_NAMES = ("date", "time", "datetime", "timestamp", "day")
SITE_NAMES = ("site", "site_id", "station", "station_id", "gauge_id", "gauge", "basin", "basin_id")


def time_column(columns: Sequence[str], declared: str | None, file: str) -> str:
    """The column of dates: the declared one, or the only one with a usual name."""
    name = _only_one(columns, declared, TIME_NAMES, file, "dates", "--time")
    if name is None:
        raise DataError(f"{file} has no column named date or time: {listed(columns)}. Use --time.")
    return name


def site_column(columns: Sequence[str], declared: str | None, file: str) -> str | None:
    """The column of sites, or None when the table holds one site or one column per site."""
    return _only_one(columns, declared, SITE_NAMES, file, "sites", "--site")


def require_columns(columns: Iterable[str], wanted: Iterable[str], file: str) -> None:
    """Refuse a table that lacks a declared column, and name the nearest one it has."""
    have = [str(column) for column in columns]
    for name in wanted:
        if name not in have:
            near = get_close_matches(name, have, 1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Its columns are {listed(have)}."
            raise MissingColumnError(f"{file} has no column {name!r}. {hint}", name)


def listed(names: Sequence[str]) -> str:
    """Names for a message, shortened when there are many."""
    first = ", ".join(repr(name)[:40] for name in names[:12])
    return f"{first} and {len(names) - 12} more" if len(names) > 12 else first or "none"


def dates(column: pd.Series, file: str, date_format: str | None) -> tuple[pd.DatetimeIndex, list[Finding]]:
    """Timestamps in the file's order, NaT where a cell is no date, with a finding for the first such cell."""
    try:
        parsed = pd.to_datetime(column, format=date_format or "ISO8601", errors="coerce")
    except (ValueError, TypeError, OverflowError) as error:
        # Mixed offsets and an impossible format raise instead of coercing.
        none = pd.DatetimeIndex([pd.NaT] * len(column)).as_unit("ns")
        return none, [_bad_dates(column, none, file, date_format, str(error))]
    index = pd.DatetimeIndex(parsed)
    if index.tz is not None:
        index = index.tz_localize(None)  # one offset throughout: keep the file's own clock
    outside = (index.year < FIRST_YEAR) | (index.year > LAST_YEAR)
    index = pd.DatetimeIndex(index.where(~outside)).as_unit("ns")
    return index, [_bad_dates(column, index, file, date_format, "")] if index.hasnans else []


def numbers(
    frame: pd.DataFrame, times: pd.DatetimeIndex, file: str, site: str, declared: tuple[str, ...]
) -> tuple[dict[str, np.ndarray], list[Finding]]:
    """Float64 columns, NaN where a cell is no number; undeclared columns of text are left out."""
    values: dict[str, np.ndarray] = {}
    findings: list[Finding] = []
    for name in frame.columns:
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            values[name] = column.to_numpy(dtype=np.float64, na_value=np.nan)
            continue
        number = pd.to_numeric(column.astype(str).where(column.notna()), errors="coerce").to_numpy(np.float64)
        text = np.asarray(column.notna()) & np.isnan(number)
        if name not in declared and text.any() and np.isnan(number).all():
            findings.append(_text_column(name, file, site))
            continue
        values[name] = number
        if text.any():
            findings.append(_text_cells(column, text, times, file, site))
    return values, findings


def day(moment: object) -> str:
    """A timestamp for a message: the date, with the time of day only when it is not midnight."""
    stamp = pd.Timestamp(moment)  # type: ignore[arg-type]
    if pd.isna(stamp):
        return ""
    return stamp.strftime("%Y-%m-%d") if stamp == stamp.normalize() else stamp.strftime("%Y-%m-%d %H:%M:%S")


def _only_one(
    columns: Sequence[str], declared: str | None, usual: Sequence[str], file: str, what: str, option: str
) -> str | None:
    if declared is not None:
        require_columns(columns, [declared], file)
        return declared
    fitting = [column for column in columns if column.strip().lower() in usual]
    if len(fitting) > 1:
        raise DataError(f"{file}: the columns {listed(fitting)} may all be {what}. Choose one with {option}.")
    return fitting[0] if fitting else None


def _bad_dates(
    column: pd.Series, index: pd.DatetimeIndex, file: str, form: str | None, reason: str
) -> Finding:
    bad = np.asarray(index.isna())
    row = int(np.argmax(bad))
    what = f"{str(column.iloc[row])[:40]!r} in data row {row + 1} is not a date"
    if reason:
        what = f"the dates cannot be read ({reason.splitlines()[0][:120].rstrip('.')})"
    remedy = f"Write dates of the form {form or 'YYYY-MM-DD'}, or declare --date-format (such as %d.%m.%Y)"
    return Finding(ERROR, "date", what, remedy, file, "", str(column.name), "", int(bad.sum()))


def _text_cells(column: pd.Series, bad: np.ndarray, times: pd.DatetimeIndex, file: str, site: str) -> Finding:
    row = int(np.argmax(bad))
    cell, name, first = str(column.iloc[row]), str(column.name), day(times[row])
    what = f"{cell[:40]!r} in data row {row + 1} is not a number"
    remedy = "Correct the cell, or leave it empty if the value is missing"
    if cell.count(",") == 1 and cell.replace(",", "").lstrip("-").isdigit():
        remedy = "Write decimals with a point, or declare --decimal ,"
    return Finding(ERROR, "text", what, remedy, file, site, name, first, int(bad.sum()))


def _text_column(name: str, file: str, site: str) -> Finding:
    remedy = "Nothing to do if it is a remark or a flag"
    return Finding(WARNING, "text column", "it holds no number and is left out", remedy, file, site, name)
