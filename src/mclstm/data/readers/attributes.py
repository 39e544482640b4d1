"""Static attributes: tables with one row a site, joined on the site's name, which stays text."""

from collections import Counter
from pathlib import Path

import pandas as pd

from mclstm.data.checks.guess import SITE_NAMES, listed
from mclstm.data.readers.text import read_table
from mclstm.data.tables import Raw, Request
from mclstm.errors import DataError

__all__ = ["attribute_table", "with_attributes"]


def attribute_table(files: list[Path], wanted: tuple[str, ...], site: str | None = None) -> pd.DataFrame:
    """All attributes of all files, by site; only the wanted columns when some are named."""
    parts = [_by_site(file, site) for file in files]
    if not parts:
        return pd.DataFrame()
    table = pd.concat([part.loc[:, ~part.columns.duplicated()] for part in parts], axis=1)
    twice = [name for name, count in Counter(table.columns).items() if count > 1]
    if set(twice) & set(wanted):
        raise DataError(
            f"{files[0].parent}: the attribute {twice[0]!r} is in more than one file. Keep it in one of them."
        )
    table = table.loc[:, ~table.columns.duplicated()]
    return table[[name for name in wanted if name in table.columns]] if wanted else table


def with_attributes(raw: Raw, request: Request) -> Raw:
    """What a layout holds, with the attributes of a named file, which go before its own."""
    if request.attributes is None:
        return raw
    given = attribute_table([Path(request.attributes)], request.static, request.site)
    own = raw.attributes[[name for name in raw.attributes.columns if name not in given.columns]]
    return raw._replace(attributes=given.join(own, how="outer"), attributes_file=request.attributes)


def _by_site(file: Path, site: str | None) -> pd.DataFrame:
    """One file, indexed by the declared column, one with a usual name, or the first."""
    usual = ((site or "").lower(), *SITE_NAMES)
    frame = read_table(file, usual, first_is_text=True)
    named = [column for column in frame.columns if column.lower() in usual]
    key = str(site if site in frame.columns else (named or list(frame.columns))[0])
    if frame[key].isna().any():
        raise DataError(f"{file}: a row has no name in column {key!r}. Name the site of every row.")
    frame.index = pd.Index([str(name).strip() for name in frame.pop(key)])
    if frame.index.has_duplicates:
        twice = sorted(map(str, frame.index[frame.index.duplicated()]))
        raise DataError(f"{file} has more than one row for {listed(twice)}. Keep one row a site.")
    return frame
