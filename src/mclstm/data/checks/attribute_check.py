"""Static attributes that are absent, missing for a site, no numbers, or belong to no series."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from mclstm.data.checks import sentinels
from mclstm.data.finding import ABSENT, ERROR, WARNING, Finding
from mclstm.data.tables import Raw, Roles

__all__ = ["attribute_findings"]

FIRST_SENTINEL = -999.0  # nearer to zero lie longitudes and elevations


def attribute_findings(raw: Raw, roles: Roles) -> Iterator[Finding]:
    """One finding an attribute, for the first site concerned."""
    if not roles.static and not len(raw.attributes):
        return
    file = raw.attributes_file or (raw.tables[0].file if raw.tables else "")
    table = raw.attributes.loc[~raw.attributes.index.duplicated()]  # a site found twice is reported as such
    sites = [item.site for item in raw.tables]
    strangers = [str(site) for site in table.index if str(site) not in set(sites)]
    if strangers and sites:
        what = f"{len(strangers)} sites have attributes but no series"
        remedy = "Nothing to do if they are not to be used"
        yield Finding(WARNING, "attributes", what, remedy, file, strangers[0], count=len(strangers))
    for name in roles.static:
        if name in table.columns:
            yield from _numbers(table[name].reindex(sites), file)
        else:
            remedy = "Correct --static, or name the file of attributes with --attributes"
            yield Finding(ERROR, ABSENT, "there is no such attribute", remedy, file, "", name)


def _numbers(column: pd.Series, file: str) -> Iterator[Finding]:
    values = pd.to_numeric(column, errors="coerce").to_numpy(np.float64)
    marks = [mark for mark in sentinels.find(values) if mark <= FIRST_SENTINEL or mark > 0]
    bad = ~np.isfinite(values) | np.isin(values, marks)
    if not bad.any():
        return
    row = int(np.argmax(bad))
    cell = column.iloc[row]
    if pd.isna(cell):
        what = "the attribute is missing"
    elif values[row] in marks:
        what = f"{cell} probably stands for missing"
    else:
        what = f"{str(cell)[:40]!r} is not a finite number"
    remedy = "Give every site a number, or leave the attribute or the site out"
    place = file, str(column.index[row]), str(column.name)
    yield Finding(ERROR, "attributes", what, remedy, *place, "", int(bad.sum()))
