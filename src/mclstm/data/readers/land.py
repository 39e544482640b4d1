"""Daily snow water equivalent and evapotranspiration of land surface models, by site."""

import gzip
import zlib
from pathlib import Path

import pandas as pd

from mclstm.data.columns import dates, numbers, require_columns, site_column, time_column
from mclstm.data.findings import raise_first
from mclstm.data.readers.camels_text import model_output
from mclstm.data.readers.text import read_bytes, read_table, require_file
from mclstm.data.site_names import require_site
from mclstm.errors import DataError

__all__ = ["read_land", "series_of"]

LARGEST = 64 * 2**20  # bytes of an unpacked file: a century of days is 5 MB
# Lowest value of each: dew makes evapotranspiration a little negative; -999 is an unmarked gap.
LOWEST = {"swe": 0.0, "pet": -5.0, "et": -5.0}
WORDS = {"swe": "snow", "pet": "potential evapotranspiration", "et": "evapotranspiration"}


def read_land(path: Path) -> dict[str, pd.DataFrame]:
    """Those of swe (mm), pet and et (mm/day) that are known, by site, from a file or all files of a folder.

    `<site>_*_model_output.txt[.gz]` is the output of Snow-17 and SAC-SMA in CAMELS; its name begins with the
    site. A CSV has a column of dates, at least one of `swe`, `pet` and `et`, and a column of sites unless its
    name is the site.
    """
    files = sorted(file for file in path.iterdir() if file.is_file()) if path.is_dir() else [path]
    tables: dict[str, pd.DataFrame] = {}
    for file in files:
        for site, table in (_csv(file) if file.suffix.lower() == ".csv" else _camels(file)).items():
            if site in tables:
                raise DataError(f"{path} has site {site} twice, again in {file.name}. Keep one.")
            tables[site] = table
    if not tables:
        raise DataError(f"{path} holds no file. Name a file or folder with snow water equivalent.")
    return tables


def series_of(land: dict[str, pd.DataFrame], name: str) -> dict[str, pd.Series]:
    """One variable, for the sites that have it.

    >>> snowy = pd.DataFrame({"swe": [1.0]}, index=pd.to_datetime(["2001-01-01"]))
    >>> list(series_of({"A": snowy}, "swe")), list(series_of({"A": snowy}, "pet"))
    (['A'], [])
    """
    return {site: table[name] for site, table in land.items() if name in table}


def _camels(file: Path) -> dict[str, pd.DataFrame]:
    data = _unpacked(file) if file.suffix == ".gz" else read_bytes(file)
    times, values = model_output(data, file)
    columns = {name: values[name] for name in LOWEST if name in values}
    if not columns:
        raise DataError(f"{file} has no column SWE, PET or ET. Name CAMELS' model output, or a CSV.")
    site = require_site(file.name.split("_")[0], str(file))
    return {site: _daily(pd.DataFrame(columns, index=times), file)}


def _unpacked(file: Path) -> bytes:
    require_file(file)
    try:
        with gzip.open(file) as stream:
            data = stream.read(LARGEST + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{file} cannot be unpacked: {error}. Copy the file again.") from None
    if len(data) > LARGEST:
        raise DataError(f"{file} unpacks to more than 64 MB. Name a file of one basin.")
    return data


def _csv(file: Path) -> dict[str, pd.DataFrame]:
    frame = read_table(file, ("site", "gauge_id", "basin"))
    columns = [str(name) for name in frame.columns]
    time, site = time_column(columns, None, str(file)), site_column(columns, None, str(file))
    # Without any of them, the message names the one that most people want.
    names = [name for name in LOWEST if name in columns] or ["swe"]
    require_columns(columns, names, str(file))
    times, bad_dates = dates(frame[time], str(file), None)
    values, bad_numbers = numbers(frame[names], times, str(file), "", tuple(names))
    raise_first(bad_dates + bad_numbers)
    table = pd.DataFrame(values).set_axis(times)
    owner = pd.Series(file.stem, index=frame.index) if site is None else frame[site].astype(str)
    return {
        require_site(str(name), str(file)): _daily(table.iloc[rows], file)
        for name, rows in owner.groupby(owner.to_numpy()).indices.items()
    }


def _daily(table: pd.DataFrame, file: Path) -> pd.DataFrame:
    days = table.index
    if not days.is_unique:
        raise DataError(f"{file} has two rows for {days[days.duplicated()][0]}. Keep one.")
    for name in table:
        low = (table[name] < LOWEST[str(name)]).to_numpy()
        if low.any():
            words = f"negative {WORDS[str(name)]}"
            raise DataError(f"{file} has {words}, on {days[low][0]}. Mark gaps as empty.")
    return table.sort_index()
