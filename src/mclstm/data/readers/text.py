"""Files and tables of text. Anything but a clean table of UTF-8 text is refused, with the line at fault.

Static attributes are tables with one row per site, joined on the site's name, which stays text.
"""

import csv
import io
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd

from mclstm.data.columns import SITE_NAMES, listed
from mclstm.data.findings import unreadable
from mclstm.data.site_tables import Raw, Request
from mclstm.errors import DataError

__all__ = [
    "attribute_files", "delimiter_of", "read_bytes", "read_table", "read_text", "require_file",
    "require_header", "with_attributes",
]  # fmt: skip

DELIMITERS = ",;\t|"
NUMBER, DATE = r"[+-]?\d*[.,]?\d+(e[+-]?\d+)?", r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}([ T][\d:]+)?"
VALUE = re.compile(rf"{NUMBER}|{DATE}|nan|", re.IGNORECASE)  # or an empty cell
LARGEST = 8 * 2**30  # bytes; larger tables belong into Parquet or netCDF


def require_file(path: Path) -> Path:
    """The path of a regular file, or an error that says what is there instead."""
    try:
        if path.is_file():
            return path
        exists = path.exists()
    except (OSError, ValueError, RuntimeError):
        exists = False
    if path.is_dir():
        raise DataError(f"{path} is a folder where a file is expected. Name the file in it.")
    if exists:
        raise DataError(f"{path} is not a regular file. Name a file with data.")
    if path.is_symlink():
        raise DataError(f"{path} is a link that leads nowhere. Correct or remove it.")
    raise DataError(f"{path} does not exist. Correct the path.")


def read_bytes(path: Path) -> bytes:
    """The whole file. Refused when it cannot be read or is no text."""
    require_file(path)
    try:
        if path.stat().st_size > LARGEST:
            raise DataError(f"{path} is larger than 8 GB. Split it, or use Parquet or netCDF.")
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}. Check the permissions.") from None
    if not data or data.isspace():
        raise DataError(f"{path} is empty. Name a file with data.")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise DataError(f"{path} is UTF-16 text. Save it as UTF-8.")
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise DataError(f"{path}, line {line} has a NUL byte: it is no text. Save it as UTF-8 text.")
    return data


def read_table(
    path: Path, text_columns: tuple[str, ...] = (), decimal: str = ".", *, first_is_text: bool = False
) -> pd.DataFrame:
    """A table with one header line. `text_columns` (in lower case) stay text: 01013500 keeps its zero."""
    text = read_text(path)
    delimiter = delimiter_of(text)
    header = _require_rectangle(text, delimiter, path)
    as_text = {name: str for name in header if name.strip().lower() in text_columns}
    if first_is_text:
        as_text[header[0]] = str
    try:
        options: Any = {"dtype": as_text, "decimal": decimal, "index_col": False, "low_memory": False}
        frame: pd.DataFrame = pd.read_csv(io.StringIO(text), sep=delimiter, **options)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError, OverflowError) as error:
        reason = str(error).splitlines()[0][:150]
        raise DataError(f"{path} is not a table: {reason}. Give every row the header's columns.") from None
    frame.columns = [name.strip() for name in header]
    return frame


def attribute_table(files: list[Path], wanted: tuple[str, ...], site: str | None = None) -> pd.DataFrame:
    """The attributes of all files, by site; only the wanted columns when some are named."""
    if not files:
        return pd.DataFrame()
    table = pd.concat([_by_site(file, site) for file in files], axis=1)
    twice = [name for name, count in Counter(table.columns).items() if count > 1]
    if set(twice) & set(wanted):
        raise DataError(f"{files[0].parent}: the attribute {twice[0]!r} is in several files. Keep one.")
    table = table.loc[:, ~table.columns.duplicated()]
    return table[[name for name in wanted if name in table.columns]] if wanted else table


def with_attributes(raw: Raw, request: Request) -> Raw:
    """What was read, with the attributes of the file that the request names; they replace its own."""
    if request.attributes is None:
        return raw
    table = attribute_table([Path(request.attributes)], request.static, request.site)
    sites = {item.site for item in raw.tables}
    if len(table) == len(sites) == 1:
        table.index = pd.Index(list(sites))  # one site and one row belong together, whatever their names
    own = raw.attributes[[name for name in raw.attributes.columns if name not in table.columns]]
    table = table.join(own, how="outer") if len(own.columns) else table
    return raw._replace(attributes=table, attributes_file=request.attributes)


def attribute_files(files: list[Path], folder: Path, request: Request) -> Raw:
    """The attributes in the files of a folder; a bad file is a finding."""
    try:
        return Raw([], attribute_table(files, request.static, request.site), {}, [], str(folder))
    except DataError as error:
        return Raw([], pd.DataFrame(), {}, [unreadable(str(folder), error)], str(folder))


def _by_site(file: Path, site: str | None) -> pd.DataFrame:
    """One file, indexed by the declared column, a column with a usual name, or the first column."""
    usual = ((site or "").lower(), *SITE_NAMES)
    frame = read_table(file, usual, first_is_text=True)
    usually = [column for column in frame.columns if column.lower() in usual]
    key = str(site if site in frame.columns else (usually or list(frame.columns))[0])
    if frame[key].isna().any():
        raise DataError(f"{file}: a row has no name in column {key!r}. Name the site of every row.")
    frame.index = pd.Index([str(name).strip() for name in frame.pop(key)])
    if frame.index.has_duplicates:
        twice = sorted(map(str, frame.index[frame.index.duplicated()]))
        raise DataError(f"{file} has more than one row for {listed(twice)}. Keep one row per site.")
    return frame


def read_text(path: Path) -> str:
    """The whole file as text. Refused when it is not UTF-8."""
    data = read_bytes(path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}, line {line} is not UTF-8 text. Save the file as UTF-8.") from None


def delimiter_of(text: str) -> str:
    """What separates cells: the mark that is most often in the first line.

    >>> delimiter_of("date;rain;flow")
    ';'
    """
    return max(DELIMITERS, key=text.lstrip("\r\n").split("\n", 1)[0].count)


def _require_rectangle(text: str, delimiter: str, path: Path) -> list[str]:
    """The header, if every row has its length; pandas would fill a short row with NaN in silence."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    header: list[str] = []
    try:
        for row in rows:
            if not row:
                continue
            if not header:
                header = require_header(row, path)
            elif len(row) != len(header):
                fields = f"{len(row)} fields, the header has {len(header)}"
                raise DataError(f"{path}, line {rows.line_num} has {fields}. Give every column one field.")
    except csv.Error as error:
        raise DataError(f"{path}, line {rows.line_num}: {error}. Check the quotes around it.") from None
    return header


def require_header(row: list[str], path: Path) -> list[str]:
    """The names of columns, refused when they are values, not unique or not printable."""
    names = [name.strip() for name in row]
    if any(names) and all(map(VALUE.fullmatch, names)):
        raise DataError(
            f"{path}: the first line holds values, {listed(names)}, not names. "
            "Add a line with a name for every column above it, such as date,rain,flow."
        )
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"{path}: the header names {listed(twice)} more than once. Rename all but one.")
    odd = [name for name in names if not name.isprintable()]
    if odd:
        raise DataError(f"{path}: the column name {odd[0]!r:.60} has control characters. Rename the column.")
    if "" in names:
        raise DataError(f"{path}: column {names.index('') + 1} has no name. Name it in the header line.")
    return row
