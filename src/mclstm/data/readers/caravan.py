"""Caravan: timeseries/{csv,netcdf}/<prefix>/<prefix>_<gauge>.*, attributes/<prefix>/*.csv."""

from pathlib import Path

from mclstm.data.readers import csv, netcdf
from mclstm.data.readers.generic_nh import site_folder
from mclstm.data.site_tables import Raw, Request, joined
from mclstm.errors import DataError

__all__ = ["UNITS", "load", "sites"]

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
    raw = joined([_prefix(folder, path, request) for folder in _folders(path)])
    return raw._replace(units=UNITS, attributes_file=str(path / "attributes"))


def sites(path: Path, request: Request) -> list[str]:
    """The gauges of every prefix; no file is read."""
    folders = [(folder, ".nc" if folder.parent.name == "netcdf" else ".csv") for folder in _folders(path)]
    return [file.stem for place, end in folders for file in csv.site_paths(place, end, request.sites)]


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
    suffix, read = (".nc", netcdf.load) if folder.parent.name == "netcdf" else (".csv", csv.load)
    return site_folder(csv.site_paths(folder, suffix, request.sites), read, attributes, request)
