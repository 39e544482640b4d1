"""CAMELS-US as published: basin_mean_forcing/<product>/NN/*, usgs_streamflow/NN/*, camels_attributes*/*."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd

from mclstm.data.columns import listed, require_columns
from mclstm.data.findings import unreadable
from mclstm.data.readers import cache
from mclstm.data.readers.camels_text import discharge, forcing
from mclstm.data.readers.text import attribute_files
from mclstm.data.site_names import require_site
from mclstm.data.site_tables import Raw, Request, Table, joined
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
NOT_SNOW = "swe"  # 0 throughout in every product: read only when requested


def load(path: Path, request: Request, product: str = "") -> Raw:
    """Read every basin, or the named ones; flow is converted to mm/day over the area in the forcing file."""
    root = root_of(path)
    if root is None:
        raise DataError(f"{path} has no folder basin_mean_forcing. Name the folder that contains it.")
    files = _forcing_files(root, product, request.sites)
    flows = {file.name[:8]: file for file in sorted((root / "usgs_streamflow").rglob("*_streamflow_qc.txt"))}
    raw = _basins(root, files, flows, request.dynamic)
    columns = list(dict.fromkeys(name for table in raw.tables for name in table.values))
    for table in raw.tables if not raw.findings else []:  # an unreadable file is the better explanation
        require_columns(table.values, request.required(), table.file)
    chosen = [name for name in columns if name in request.dynamic]
    chosen = chosen or [name for name in columns if name != NOT_SNOW]
    tables = [
        table._replace(values={name: table.values[name] for name in chosen if name in table.values})
        for table in raw.tables
    ]
    folders = sorted(root.glob("camels_attributes*"))
    texts = [file for folder in folders for file in sorted(folder.glob("camels_*.txt"))]
    place = folders[0] if folders else root
    attributes = attribute_files(texts, place, request._replace(site="gauge_id"))
    return joined([raw._replace(tables=tables, units=UNITS | raw.units), attributes])


def root_of(path: Path) -> Path | None:
    """The folder with basin_mean_forcing: the path, or the only folder in it that has one."""
    inside = [path, *sorted(path.glob("*/"))] if path.is_dir() else []
    return next((folder for folder in inside if (folder / "basin_mean_forcing").is_dir()), None)


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


def _basins(root: Path, files: dict[str, Path], flows: dict[str, Path], wanted: tuple[str, ...]) -> Raw:
    """Every basin's table, from the cache when nothing has changed since."""
    used = [*files.values(), *(flows[site] for site in files if site in flows)]
    place = cache.key("camels_us", [str(root.resolve()), *map(str, files.values())], used)
    cached = cache.fetch(place, wanted)
    if cached is not None:
        return Raw(cached[0], pd.DataFrame(), cached[1], [])
    # Threads: numbers are parsed outside the interpreter's lock.
    with ThreadPoolExecutor(cache.cores()) as pool:
        raw = joined(list(pool.map(_basin, files, files.values(), [flows.get(site) for site in files])))
    if not raw.findings:
        cache.store(place, raw.tables, raw.units)
        tables, units = cache.fetch(place, wanted) or (raw.tables, raw.units)
        return raw._replace(tables=tables, units=units)
    return raw


def _basin(site: str, file: Path, flow: Path | None) -> Raw:
    """One basin over the days of its forcing: flow beyond them cannot be modelled."""
    try:
        require_site(site, str(file))
        times, values, units, area_km2 = forcing(file)
    except DataError as error:
        return Raw([], pd.DataFrame(), {}, [unreadable(str(file), error)])
    raw = Raw([Table(site, str(file), times, values)], pd.DataFrame(), units, [])
    if flow is None:
        return raw
    try:
        values[FLOW] = discharge(flow, site, area_km2).reindex(times).to_numpy(np.float64)
    except DataError as error:
        return raw._replace(findings=[unreadable(str(flow), error)])
    return raw._replace(units=units | {FLOW: "mm/day"})
