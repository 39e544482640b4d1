"""How a table of text is written, guessed from its first lines: decimal mark, column and form of dates."""

import csv
import io
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from mclstm.data.columns import TIME_NAMES
from mclstm.data.findings import ERROR, Finding
from mclstm.data.readers.text import delimiter_of, read_text, require_header
from mclstm.data.site_tables import Request
from mclstm.data.steps import step_of
from mclstm.data.units import known
from mclstm.errors import DataError

__all__ = ["guess_form"]

MOST_ROWS = 5000
NUMBER = re.compile(r"[+-]?\d*[.,]?\d+([eE][+-]?\d+)?")
COMMA = re.compile(r"[+-]?\d+,\d+")
DAYS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y-%d-%m", "%d.%m.%y", "%d/%m/%y",
        "%m/%d/%y", "%d-%b-%Y", "%d %b %Y", "%d-%B-%Y", "%b %d, %Y", "%Y%m%d%H", "%Y%m%d%H%M")  # fmt: skip
CLOCKS = (" %H:%M", " %H:%M:%S", " %I:%M %p", "T%H:%M")
FIRST_DAY, LAST_DAY = 20_000, 60_000  # day numbers of spreadsheets, 1954 to 2064


class Sample(NamedTuple):
    """The first rows of a table, column by column, without empty cells."""

    columns: dict[str, list[str]]
    delimiter: str


def guess_form(path: Path, request: Request) -> tuple[Request, list[Finding]]:
    """The request with what the text shows and nobody declared, each with the finding that declares it.

    A path that is no table of text is left to its reader.
    """
    try:
        sample = _sample(path)
    except (DataError, csv.Error):
        return request, []
    findings = []

    def declare(column: str, what: str, remedy: str) -> None:
        findings.append(Finding(ERROR, "form", what, remedy, str(path), "", column))

    if named := _units_below(sample):
        column, unit = named
        remedy = f"Remove the line, and declare its units with --unit {column}={unit}"
        declare(column, f"the line below the header holds units, {unit!r}", remedy)
    if request.decimal == "." and (column := _with_commas(sample)):
        cell = next(cell for cell in sample.columns[column] if COMMA.fullmatch(cell))
        declare(column, f"decimals are written with a comma, {cell!r}", "Declare --decimal ,")
        request = request._replace(decimal=",")
    if request.time is None and (column := _unnamed_dates(sample)):
        declare(column, "it holds the dates, under an unusual name", f"Declare --time {column!r}")
        request = request._replace(time=column)
    time = request.time or next((name for name in sample.columns if name.lower() in TIME_NAMES), None)
    cells = sample.columns.get(time or "", [])
    if time and cells and request.date_format is None and _dates(cells, "ISO8601") is None:
        if all(cell.isdigit() and FIRST_DAY < int(cell) < LAST_DAY for cell in cells):
            remedy = "Format the column as dates, YYYY-MM-DD, and save the table again"
            declare(time, f"{cells[0]!r} is the day number of a spreadsheet, not a date", remedy)
        elif form := _date_format(cells):
            declare(time, f"dates are written as {cells[0]!r}", f"Declare --date-format {form!r}")
            request = request._replace(date_format=form)
    return request, findings


def _sample(path: Path) -> Sample:
    text = read_text(path)
    delimiter = delimiter_of(text)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    header, *lines = islice((row for row in rows if row), MOST_ROWS)
    require_header(header, path)
    columns = zip(*(line for line in lines if len(line) == len(header)), strict=True)
    cells = [[cell.strip() for cell in column if cell.strip()] for column in columns]
    return Sample(dict(zip((name.strip() for name in header), cells, strict=False)), delimiter)


def _units_below(sample: Sample) -> tuple[str, str] | None:
    """A column that begins with the name of a unit instead of a number, and that unit."""
    firsts = {name: cells[0] for name, cells in sample.columns.items() if cells}
    return next(
        ((name, cell) for name, cell in firsts.items() if cell != "nan" and known(cell.strip("[]()"))), None
    )


def _with_commas(sample: Sample) -> str:
    """The first column in which numbers have a comma; empty where the comma separates cells."""
    for name, cells in sample.columns.items() if sample.delimiter != "," else ():
        if sum(COMMA.fullmatch(cell) is not None for cell in cells) > len(cells) / 2:
            return name
    return ""


def _unnamed_dates(sample: Sample) -> str:
    """The only column of dates, where none has a usual name."""
    if any(name.lower() in TIME_NAMES for name in sample.columns):
        return ""
    fitting = [
        name
        for name, cells in sample.columns.items()
        if cells and not all(map(NUMBER.fullmatch, cells)) and _are_dates(cells)
    ]
    return fitting[0] if len(fitting) == 1 else ""


def _are_dates(cells: Sequence[str]) -> bool:
    return _dates(cells, "ISO8601") is not None or bool(_date_format(cells))


def _dates(cells: Sequence[str], form: str) -> pd.DatetimeIndex | None:
    """The dates, if all cells have this form."""
    try:
        return pd.DatetimeIndex(pd.to_datetime(pd.Series(cells), format=form))
    except (ValueError, TypeError, OverflowError):
        return None


def _date_format(cells: Sequence[str]) -> str:
    """The form of dates that fits all cells: if several do, the first with a regular step."""
    forms = {}
    for form in (day + clock for day in DAYS for clock in ("",) + CLOCKS * ("%H" not in day)):
        if _dates(cells[:1], form) is not None and (dates := _dates(cells, form)) is not None:
            forms[form] = dates
    regular = [form for form, dates in forms.items() if step_of(dates.unique().sort_values()) is not None]
    return next(iter([*regular, *forms]), "")
