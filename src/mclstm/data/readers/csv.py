"""CSV: one file (one site, long or wide) or a folder with one file a site."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from mclstm.data.checks.guess import SITE_NAMES, TIME_NAMES
from mclstm.data.finding import Finding, unreadable
from mclstm.data.readers.attributes import attribute_table
from mclstm.data.readers.text import read_table
from mclstm.data.split import Split, split
from mclstm.data.tables import Raw, Request
from mclstm.errors import DataError

__all__ = ["collect", "load", "one_csv", "site_paths"]

ATTRIBUTES = "attributes.csv"  # in a folder of sites: the static attributes


def load(path: Path, request: Request) -> Raw:
    """Read a CSV file or a folder of them."""
    if not path.is_dir():
        return _joined("csv", [one_csv(path, request)], request, [])
    beside = path / ATTRIBUTES
    if request.attributes is None and beside.is_file():
        request = request._replace(attributes=str(beside))
    files = [file for file in site_paths(path, ".csv", request.sites) if file.name != ATTRIBUTES]
    parts, found = collect(files, lambda file: one_csv(file, request))
    return _joined("csv", parts, request, found)


def site_paths(folder: Path, suffix: str, sites: tuple[str, ...]) -> list[Path]:
    """The files of a folder, one a site, sorted; all of them or those of the named sites."""
    try:
        files = sorted(file for file in folder.iterdir() if file.suffix.lower() == suffix)
    except OSError as error:
        raise DataError(
            f"{folder} cannot be read: {error.strerror}. Name a folder of {suffix} files."
        ) from None
    if not files:
        raise DataError(f"{folder} holds no {suffix} file. Name a folder with one {suffix} file a site.")
    return [file for file in files if not sites or file.stem in sites or file.name == ATTRIBUTES]


def collect(files: list[Path], one: Callable[[Path], Split]) -> tuple[list[Split], list[Finding]]:
    """Read every file, so that one bad file does not hide what is wrong with the others."""
    parts, found = [], []
    for file in files:
        try:
            parts.append(one(file))
        except DataError as error:
            found.append(unreadable(str(file), error))
    return parts, found


def one_csv(path: Path, request: Request) -> Split:
    """The sites of one CSV file."""
    texts = [*TIME_NAMES, *SITE_NAMES, (request.time or "").lower(), (request.site or "").lower()]
    frame = read_table(path, tuple(texts), request.decimal)
    return split(frame, str(path), path.stem, request)


def _joined(reader: str, parts: list[Split], request: Request, found: list[Finding]) -> Raw:
    tables = [table for part in parts for table in part.tables]
    own = [part.attributes for part in parts if len(part.attributes.columns)]
    attributes = pd.concat(own) if own else pd.DataFrame()
    found = found + [finding for part in parts for finding in part.findings]
    if request.attributes is not None:
        attributes = attribute_table([Path(request.attributes)], request.static, request.site)
    return Raw(reader, tables, attributes, {}, found, request.attributes or "")
