"""Snow water equivalent by site: model output of CAMELS (Snow-17), or a CSV of date, [site,] swe."""

import gzip
import zlib
from pathlib import Path

import pandas as pd

from mclstm.data.columns import dates, numbers
from mclstm.data.finding import raise_first
from mclstm.data.guess import require_columns, site_column, time_column
from mclstm.data.readers.camels_text import model_output
from mclstm.data.readers.text import read_bytes, read_table, require_file
from mclstm.data.slug import require_site
from mclstm.errors import DataError

__all__ = ["read_swe"]

LARGEST = 64 * 2**20  # bytes of an unpacked file: a century of days is 5 MB


def read_swe(path: Path) -> dict[str, pd.Series]:
    """Daily snow water equivalent in mm by site, of one file or of every file in a folder.

    `<site>_*_model_output.txt[.gz]` is the output of Snow-17 and SAC-SMA that CAMELS ships, which takes the
    site from its name; a CSV has a column of dates, `swe`, and a column of sites unless its name is the site.
    """
    files = sorted(file for file in path.iterdir() if file.is_file()) if path.is_dir() else [path]
    found: dict[str, pd.Series] = {}
    for file in files:
        for site, series in (_csv(file) if file.suffix.lower() == ".csv" else _camels(file)).items():
            if site in found:
                raise DataError(f"{path} has snow of site {site} twice, again in {file.name}. Keep one.")
            found[site] = series
    if not found:
        raise DataError(f"{path} holds no file. Name a file or folder with snow water equivalent.")
    return found


def _camels(file: Path) -> dict[str, pd.Series]:
    data = _unpacked(file) if file.suffix == ".gz" else read_bytes(file)
    times, values = model_output(data, file)
    if "swe" not in values:
        raise DataError(f"{file} has no column SWE. Name a file of CAMELS' model output, or a CSV.")
    site = require_site(file.name.split("_")[0], str(file))
    return {site: _daily(pd.Series(values["swe"], index=times, name="swe"), file)}


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


def _csv(file: Path) -> dict[str, pd.Series]:
    frame = read_table(file, ("site", "gauge_id", "basin"))
    columns = [str(name) for name in frame.columns]
    time, site = time_column(columns, None, str(file)), site_column(columns, None, str(file))
    require_columns(columns, ["swe"], str(file))
    times, odd = dates(frame[time], str(file), None)
    read, text = numbers(frame[["swe"]], times, str(file), "", ("swe",))
    raise_first(odd + text)
    values = read["swe"]
    owner = pd.Series(file.stem, index=frame.index) if site is None else frame[site].astype(str)
    return {
        require_site(str(name), str(file)): _daily(
            pd.Series(values[rows], index=times[rows], name="swe"), file
        )
        for name, rows in owner.groupby(owner.to_numpy()).indices.items()
    }


def _daily(series: pd.Series, file: Path) -> pd.Series:
    if not series.index.is_unique:
        raise DataError(f"{file} has two rows for {series.index[series.index.duplicated()][0]}. Keep one.")
    if (series < 0).any():
        raise DataError(f"{file} has negative snow, on {series.index[series < 0][0]}. Mark gaps as empty.")
    return series.sort_index()
