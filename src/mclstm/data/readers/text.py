"""The door for text files: what is no clean table of UTF-8 text is refused here, with the line."""

import csv
import io
from collections import Counter
from pathlib import Path

import pandas as pd

from mclstm.data.checks.guess import listed
from mclstm.errors import DataError

__all__ = ["read_bytes", "read_table", "require_file"]

DELIMITERS = ",;\t|"
LARGEST = 8 * 2**30  # bytes; larger tables belong into Parquet or netCDF


def require_file(path: Path) -> Path:
    """A regular file that exists, or an error that says what is there instead."""
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
    """The whole file, refused when it cannot be read or is no text."""
    require_file(path)
    try:
        if path.stat().st_size > LARGEST:
            raise DataError(f"{path} is larger than 8 GB. Split it, or use Parquet or netCDF.")
        data = path.read_bytes()
    except OSError as error:
        raise DataError(
            f"{path} cannot be read: {error.strerror}. Check the file and its permissions."
        ) from None
    if not data or data.isspace():
        raise DataError(f"{path} is empty. Name a file with data.")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise DataError(f"{path} is UTF-16 text. Save it as UTF-8.")
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise DataError(
            f"{path}, line {line} contains a NUL byte: it is damaged or not text. Save it as UTF-8 text."
        )
    return data


def read_table(
    path: Path, text_columns: tuple[str, ...] = (), decimal: str = ".", *, first_is_text: bool = False
) -> pd.DataFrame:
    """A table with one header line; `text_columns` (in lower case) stay text: 01013500 keeps its zero."""
    text = _decoded(read_bytes(path), path)
    header_line = text.lstrip("\r\n").split("\n", 1)[0]
    delimiter = max(DELIMITERS, key=header_line.count)
    header = _require_rectangle(text, delimiter, path)
    as_text = {name: str for name in header if name.strip().lower() in text_columns}
    if first_is_text:
        as_text[header[0]] = str
    try:
        frame = pd.read_csv(
            io.StringIO(text),
            sep=delimiter,
            dtype=as_text,
            decimal=decimal,
            index_col=False,
            low_memory=False,
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError, OverflowError) as error:
        reason = str(error).splitlines()[0][:150]
        raise DataError(
            f"{path} is not a table: {reason}. Give every row the columns of the header."
        ) from None
    frame.columns = [name.strip() for name in header]
    return frame


def _decoded(data: bytes, path: Path) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}, line {line} is not UTF-8 text. Save the file as UTF-8.") from None


def _require_rectangle(text: str, delimiter: str, path: Path) -> list[str]:
    """The header, if every row is as long; pandas would fill a short row with NaN in silence."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    header: list[str] = []
    try:
        for row in rows:
            if not row:
                continue
            if not header:
                header = _require_header(row, path)
            elif len(row) != len(header):
                raise DataError(
                    f"{path}, line {rows.line_num} has {len(row)} fields, the header has {len(header)}. "
                    "Give every row one field for each column."
                )
    except csv.Error as error:
        raise DataError(f"{path}, line {rows.line_num}: {error}. Check the quotes around it.") from None
    return header


def _require_header(row: list[str], path: Path) -> list[str]:
    names = [name.strip() for name in row]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(
            f"{path}: the header names {listed(twice)} more than once. Give every column its own name."
        )
    odd = [name for name in names if not name.isprintable()]
    if odd:
        raise DataError(f"{path}: the column name {odd[0]!r:.60} has control characters. Rename the column.")
    if "" in names:
        raise DataError(f"{path}: column {names.index('') + 1} has no name. Name it in the header line.")
    return row
