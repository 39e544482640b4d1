"""CAMELS-US as published: basin_mean_forcing/<product>/NN/*, usgs_streamflow/NN/*, camels_attributes*/*."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd

from mclstm.data import cache
from mclstm.data.checks.guess import listed, require_columns
from mclstm.data.finding import Finding, unreadable
from mclstm.data.readers.attributes import attribute_table, with_attributes
from mclstm.data.readers.camels_text import discharge, forcing
from mclstm.data.slug import require_site
from mclstm.data.tables import Raw, Request, Table
from mclstm.errors import DataError

__all__ = ["UNITS", "load", "root_of"]

FLOW = "discharge"
# The units of attributes stand in the description of the data (Addor et al. 2017), not in its files.
UNITS = {
    "elev_mean": "m", "slope_mean": "m/km", "area_gages2": "km2", "area_geospa_fabric": "km2",
    "frac_forest": "1", "lai_max": "1", "lai_diff": "1", "gvf_max": "1", "gvf_diff": "1",
    "soil_depth_pelletier": "m", "soil_depth_statsgo": "m", "soil_porosity": "1",
    "soil_conductivity": "cm/h", "max_water_content": "m",
    "sand_frac": "%", "silt_frac": "%", "clay_frac": "%",
    "carbonate_rocks_frac": "1", "geol_permeability": "log10(m2)",
    "p_mean": "mm/day", "pet_mean": "mm/day", "p_seasonality": "1", "frac_snow": "1", "aridity": "1",
    "high_prec_freq": "days/year", "high_prec_dur": "days",
    "low_prec_freq": "days/year", "low_prec_dur": "days",
}  # fmt: skip
NOT_SNOW = "swe"  # 0 throughout in every product: read only when asked for


def load(path: Path, request: Request, product: str = "") -> Raw:
    """Read every basin, or the named ones; flow is converted to mm/day over the area in the forcing file."""
    root = root_of(path)
    if root is None:
        raise DataError(
            f"{path} has no folder basin_mean_forcing. Name the folder that holds it and usgs_streamflow."
        )
    files = _forcing_files(root, product, request.sites)
    flows = {file.name[:8]: file for file in sorted((root / "usgs_streamflow").rglob("*_streamflow_qc.txt"))}
    tables, units, found = _all(root, files, flows, request.dynamic)
    columns = list(dict.fromkeys(name for table in tables for name in table.values))
    for table in tables if not found else []:  # a file that could not be read is the better explanation
        require_columns(
            table.values,
            [name for name in request.dynamic if name not in request.optional],
            table.file,
        )
    wanted = [name for name in columns if name in request.dynamic] or [
        name for name in columns if name != NOT_SNOW
    ]
    tables = [
        table._replace(values={name: table.values[name] for name in wanted if name in table.values})
        for table in tables
    ]
    attributes, bad = _attributes(root, request)
    stated, place = UNITS | units, str(root / "camels_attributes_v2.0")
    return with_attributes(Raw("camels_us", tables, attributes, stated, found + bad, place), request)


def root_of(path: Path) -> Path | None:
    """The folder with basin_mean_forcing: the path, or the only folder in it that has one."""
    inside = [path, *sorted(path.glob("*/"))] if path.is_dir() else []
    found = [folder for folder in inside if (folder / "basin_mean_forcing").is_dir()]
    return found[0] if found else None


def _forcing_files(root: Path, product: str, sites: tuple[str, ...]) -> dict[str, Path]:
    products = sorted(folder.name for folder in (root / "basin_mean_forcing").iterdir() if folder.is_dir())
    if not product and len(products) == 1:
        product = products[0]
    if product not in products:
        raise DataError(
            f"{root}/basin_mean_forcing holds the products {listed(products)}. "
            "Choose one, for example --reader camels_us/daymet."
        )
    folder = root / "basin_mean_forcing" / product
    files = {file.name[:8]: file for file in sorted(folder.rglob("*_forcing_leap.txt"))}
    missing = [site for site in sites if site not in files]
    if missing or not files:
        what = f"no forcing file for {listed(missing)}" if missing else "no file *_forcing_leap.txt"
        raise DataError(f"{folder} holds {what}. Unpack the archive again, or leave the basins out.")
    return {site: files[site] for site in (sites or sorted(files))}


def _all(
    root: Path, files: dict[str, Path], flows: dict[str, Path], wanted: tuple[str, ...]
) -> tuple[list[Table], dict[str, str], list[Finding]]:
    """Every basin's table, from the cache when nothing has changed since."""
    used = [*files.values(), *(flows[site] for site in files if site in flows)]
    kept = cache.key("camels_us", [str(root.resolve()), *map(str, files.values())], used)
    cached = cache.fetch(kept, wanted)
    if cached is not None:
        return *cached, []
    # Threads: numbers are parsed outside the interpreter's lock.
    with ThreadPoolExecutor(cache.cores()) as pool:
        results = list(pool.map(_basin, files, files.values(), [flows.get(site) for site in files]))
    tables = [table for table, _, _ in results if table is not None]
    units = {name: unit for _, own, _ in results for name, unit in own.items()}
    found = [finding for _, _, bad in results for finding in bad]
    if not found:
        cache.store(kept, tables, units)
        return *(cache.fetch(kept, wanted) or (tables, units)), []
    return tables, units, found


def _basin(site: str, file: Path, flow: Path | None) -> tuple[Table | None, dict[str, str], list[Finding]]:
    """One basin over the days of its forcing: flow beyond them cannot be modelled."""
    try:
        require_site(site, str(file))
        times, values, units, area_km2 = forcing(file)
    except DataError as error:
        return None, {}, [unreadable(str(file), error)]
    table = Table(site, str(file), times, values)
    if flow is None:
        return table, units, []
    try:
        values[FLOW] = _at(discharge(flow, site, area_km2), table.times, flow)
    except DataError as error:
        return table, units, [unreadable(str(flow), error)]
    return table, units | {FLOW: "mm/day"}, []


def _at(flow: pd.Series, times: pd.DatetimeIndex, file: Path) -> np.ndarray:
    if not flow.index.is_unique:
        twice = flow.index[flow.index.duplicated()][0]
        raise DataError(f"{file} has two rows for {twice:%Y-%m-%d}. Keep one row a day.")
    return flow.reindex(times).to_numpy(np.float64)


def _attributes(root: Path, request: Request) -> tuple[pd.DataFrame, list[Finding]]:
    folders = sorted(root.glob("camels_attributes*"))
    files = [file for folder in folders for file in sorted(folder.glob("camels_*.txt"))]
    try:
        return attribute_table(files, request.static, "gauge_id"), []
    except DataError as error:
        return pd.DataFrame(), [unreadable(str(folders[0]), error)]
