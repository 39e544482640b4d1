"""Columns as they stand in a file become dates and numbers; what cannot is found, not guessed."""

import numpy as np
import pandas as pd

from mclstm.data.finding import ERROR, WARNING, Finding

__all__ = ["dates", "day", "numbers"]

FIRST_YEAR, LAST_YEAR = 1678, 2261  # what 64-bit nanoseconds can hold


def dates(column: pd.Series, file: str, date_format: str | None) -> tuple[pd.DatetimeIndex, list[Finding]]:
    """Timestamps in the file's order, NaT where a cell is no date, and a finding for the first of those."""
    try:
        parsed = pd.to_datetime(column, format=date_format or "ISO8601", errors="coerce")
    except (ValueError, TypeError, OverflowError) as error:
        # Mixed offsets and a senseless format raise instead of coercing.
        return _no_dates(column), [_bad_dates(column, _no_dates(column), file, date_format, str(error))]
    index = pd.DatetimeIndex(parsed)
    if index.tz is not None:
        index = index.tz_localize(None)  # one offset throughout: the file's own clock is kept
    outside = (index.year < FIRST_YEAR) | (index.year > LAST_YEAR)
    index = pd.DatetimeIndex(index.where(~outside)).as_unit("ns")
    bad = [_bad_dates(column, index, file, date_format, "")] if index.hasnans else []
    return index, bad


def numbers(
    frame: pd.DataFrame, times: pd.DatetimeIndex, file: str, site: str, declared: tuple[str, ...]
) -> tuple[dict[str, np.ndarray], list[Finding]]:
    """Float64 columns, NaN where a cell is no number; undeclared columns of text are left out."""
    values: dict[str, np.ndarray] = {}
    found: list[Finding] = []
    for name in frame.columns:
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            values[name] = column.to_numpy(dtype=np.float64, na_value=np.nan)
            continue
        number = pd.to_numeric(column.astype(str).where(column.notna()), errors="coerce").to_numpy(np.float64)
        text = np.asarray(column.notna()) & np.isnan(number)
        if name not in declared and text.any() and np.isnan(number).all():
            found.append(_text_column(name, file, site))
            continue
        values[name] = number
        if text.any():
            found.append(_text_cells(column, text, times, file, site))
    return values, found


def day(moment: object) -> str:
    """A timestamp for a message: the date, with the time of day only when it matters."""
    stamp = pd.Timestamp(moment)  # type: ignore[arg-type]
    if pd.isna(stamp):
        return ""
    return stamp.strftime("%Y-%m-%d") if stamp == stamp.normalize() else stamp.strftime("%Y-%m-%d %H:%M:%S")


def _no_dates(column: pd.Series) -> pd.DatetimeIndex:
    return pd.DatetimeIndex([pd.NaT] * len(column)).as_unit("ns")


def _bad_dates(
    column: pd.Series, index: pd.DatetimeIndex, file: str, date_format: str | None, reason: str
) -> Finding:
    bad = np.flatnonzero(index.isna())
    cell = column.iloc[bad[0]] if len(bad) else column.iloc[0]
    what = f"{str(cell)[:40]!r} in data row {bad[0] + 1 if len(bad) else 1} is not a date"
    wanted = f"of the form {date_format}" if date_format else "of the form YYYY-MM-DD"
    if reason:
        what = f"the dates cannot be read ({reason.splitlines()[0][:120].rstrip('.')})"
    remedy = f"Write dates {wanted}, or declare the form with --date-format (for example %d.%m.%Y)"
    return Finding(ERROR, "date", what, remedy, file, "", str(column.name), "", len(bad))


def _text_cells(
    column: pd.Series, text: np.ndarray, times: pd.DatetimeIndex, file: str, site: str
) -> Finding:
    row = int(np.flatnonzero(text)[0])
    cell = str(column.iloc[row])
    what = f"{cell[:40]!r} in data row {row + 1} is not a number"
    remedy = "Correct the cell, or leave it empty if the value is missing"
    if cell.count(",") == 1 and cell.replace(",", "").lstrip("-").isdigit():
        remedy = "Write decimals with a point, or declare --decimal ,"
    return Finding(
        ERROR, "text", what, remedy, file, site, str(column.name), day(times[row]), int(text.sum())
    )


def _text_column(name: str, file: str, site: str) -> Finding:
    remedy = "Nothing to do if it is a remark or a flag"
    return Finding(WARNING, "text column", "it holds no number and is left out", remedy, file, site, name)
