"""Caravan: timeseries/{csv,netcdf}/<prefix>/<prefix>_<gauge>.*, attributes/<prefix>/*.csv."""

from pathlib import Path

import pandas as pd

from mclstm.data.readers.attributes import with_attributes
from mclstm.data.readers.csv import collect, one_csv, site_paths
from mclstm.data.readers.generic_nh import one_file_a_site, static_table
from mclstm.data.tables import Raw, Request
from mclstm.errors import DataError

__all__ = ["UNITS", "load"]

# Caravan states its units once, in its documentation and in a global attribute of the netCDF files.
UNITS = {
    "total_precipitation_sum": "mm/day", "streamflow": "mm/day",
    "potential_evaporation_sum": "mm/day", "potential_evaporation_sum_ERA5_LAND": "mm/day",
    "potential_evaporation_sum_FAO_PENMAN_MONTEITH": "mm/day",
    "temperature_2m_mean": "degC", "temperature_2m_min": "degC", "temperature_2m_max": "degC",
    "snow_depth_water_equivalent_mean": "mm", "surface_pressure_mean": "kPa",
    "surface_net_solar_radiation_mean": "W/m2",
}  # fmt: skip


def load(path: Path, request: Request) -> Raw:
    """Read every gauge of every prefix, or the named ones; CSV where both forms exist: it is read faster."""
    raws = [_prefix(folder, path, request) for folder in _folders(path)]
    tables = [table for raw in raws for table in raw.tables]
    attributes = pd.concat([raw.attributes for raw in raws])
    found = [finding for raw in raws for finding in raw.findings]
    raw = Raw("caravan", tables, attributes, UNITS, found, str(path / "attributes"))
    return with_attributes(raw, request)


def _folders(path: Path) -> list[Path]:
    for form in ("csv", "netcdf"):
        root = path / "timeseries" / form
        if root.is_dir():
            folders = sorted(folder for folder in root.iterdir() if folder.is_dir())
            if folders:
                return folders
    raise DataError(
        f"{path} has no folder timeseries/csv/<prefix> or timeseries/netcdf/<prefix>. "
        "Name the folder that Caravan was unpacked into."
    )


def _prefix(folder: Path, path: Path, request: Request) -> Raw:
    attributes = path / "attributes" / folder.name
    if folder.parent.name == "netcdf":
        return one_file_a_site("caravan", site_paths(folder, ".nc", request.sites), attributes, request)
    parts, found = collect(site_paths(folder, ".csv", request.sites), lambda file: one_csv(file, request))
    tables = [table for part in parts for table in part.tables]
    found += [finding for part in parts for finding in part.findings]
    table, bad = static_table(attributes, request)
    return Raw("caravan", tables, table, UNITS, found + bad, str(attributes))
