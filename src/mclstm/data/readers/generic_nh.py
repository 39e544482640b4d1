"""NeuralHydrology's Generic layout: time_series/<site>.nc with the coordinate `date`, attributes/*.csv."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from mclstm.data.readers import netcdf
from mclstm.data.readers.csv import site_paths
from mclstm.data.readers.text import attribute_files
from mclstm.data.site_tables import Raw, Request, joined, read_each

__all__ = ["load", "site_folder", "sites"]


def load(path: Path, request: Request) -> Raw:
    """Read every site of the folder, or the named ones."""
    files = site_paths(path / "time_series", ".nc", request.sites)
    return site_folder(files, netcdf.load, path / "attributes", request)


def sites(path: Path, request: Request) -> list[str]:
    """The sites of the folder; no file is read."""
    return [file.stem for file in site_paths(path / "time_series", ".nc", request.sites)]


def site_folder(
    files: list[Path], read: Callable[[Path, Request], Raw], attributes: Path, request: Request
) -> Raw:
    """Files with one site each, and a folder with CSV files of attributes, which alone are static."""
    series = read_each(files, lambda file: read(file, request)._replace(attributes=pd.DataFrame()))
    return joined([series, attribute_files(sorted(attributes.glob("*.csv")), attributes, request)])
