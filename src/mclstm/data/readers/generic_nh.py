"""NeuralHydrology's Generic layout: time_series/<site>.nc with the coordinate `date`, attributes/*.csv."""

from pathlib import Path

import pandas as pd

from mclstm.data.finding import Finding, unreadable
from mclstm.data.readers.attributes import attribute_table, with_attributes
from mclstm.data.readers.csv import collect, site_paths
from mclstm.data.readers.netcdf import open_netcdf, site_tables, units_of
from mclstm.data.split import Split
from mclstm.data.tables import Raw, Request
from mclstm.errors import DataError

__all__ = ["load"]


def load(path: Path, request: Request) -> Raw:
    """Read every site of the folder, or the named ones."""
    files = site_paths(path / "time_series", ".nc", request.sites)
    return with_attributes(one_file_a_site("generic_nh", files, path / "attributes", request), request)


def one_file_a_site(reader: str, files: list[Path], attributes: Path, request: Request) -> Raw:
    """A folder of netCDF files, each one site, with a folder of CSV files of attributes."""
    units: dict[str, str] = {}

    def one(file: Path) -> Split:
        data = open_netcdf(file)
        units.update(units_of(data))
        tables, _, found = site_tables(data, file, file.stem, request)
        return Split(tables, pd.DataFrame(), found)

    parts, found = collect(files, one)
    tables = [table for part in parts for table in part.tables]
    found += [finding for part in parts for finding in part.findings]
    table, bad = static_table(attributes, request)
    return Raw(reader, tables, table, units, found + bad, str(attributes))


def static_table(folder: Path, request: Request) -> tuple[pd.DataFrame, list[Finding]]:
    """The attributes of a folder of CSV files, if there is one; a bad file is a finding."""
    if not folder.is_dir():
        return pd.DataFrame(), []
    try:
        return attribute_table(sorted(folder.glob("*.csv")), request.static, request.site), []
    except DataError as error:
        return pd.DataFrame(), [unreadable(str(folder), error)]
