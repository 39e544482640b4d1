"""Two brooks with the columns of CAMELS, written as users have them: CSV, Generic, Caravan, CAMELS-US."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from mclstm import pipeline
from mclstm.config import check_config

UNITS = {"prcp": "mm/day", "srad": "W/m2", "tmax": "degC", "tmin": "degC", "vp": "Pa", "discharge": "mm/day"}
STATIC = {"elev_mean": "m", "p_mean": "mm/day"}
SITES = {"01013500": 1.0, "02055100": 2.0}  # and how much more it rains there
AREA_KM2 = 86.4  # 1 m3/s is 1 mm/day

Frames = dict[str, pd.DataFrame]
COLUMNS = {
    "prcp": "total_precipitation_sum",
    "srad": "surface_net_solar_radiation_mean",
    "tmax": "temperature_2m_max",
    "tmin": "temperature_2m_min",
    "vp": "vapour_pressure",
    "discharge": "streamflow",
}


def frames(days: int = 240) -> Frames:
    """A table a site, indexed by date; two decimals, so that text holds the same numbers."""
    source, found = np.random.default_rng(0), {}
    for site, wet in SITES.items():
        rain = wet * source.gamma(0.5, 6.0, days) * (source.random(days) < 0.5)
        stored = np.zeros(days)
        for day in range(days):
            stored[day] = 0.8 * stored[day - 1] + rain[day]
        warm = 10 + 8 * np.sin(np.arange(days) / 58) + wet
        columns = {"prcp": rain, "srad": 20 * warm, "tmax": warm + 5, "tmin": warm - 5, "vp": 90 * warm}
        table = pd.DataFrame(columns | {"discharge": 0.2 * stored}).round(2)
        found[site] = table.set_index(pd.date_range("2001-01-01", periods=days, name="date"))
    return found


def attributes(path: Path, key: str = "gauge_id", prefix: str = "", separator: str = ",") -> Path:
    """One row a site."""
    rows = [
        {key: f"{prefix}{site}", "elev_mean": 100 * wet, "p_mean": 3.5 + wet} for site, wet in SITES.items()
    ]
    pd.DataFrame(rows).to_csv(path, index=False, sep=separator)
    return path


def as_csv(folder: Path, tables: Frames) -> Path:
    """One file a site, and attributes.csv beside them."""
    folder.mkdir(parents=True)
    for site, table in tables.items():
        table.to_csv(folder / f"{site}.csv")
    attributes(folder / "attributes.csv")
    return folder


def as_generic(folder: Path, tables: Frames) -> Path:
    """NeuralHydrology's: time_series/<site>.nc, attributes/*.csv; vapour pressure in hPa, as files state."""
    (folder / "time_series").mkdir(parents=True)
    (folder / "attributes").mkdir()
    for site, table in tables.items():
        one = xr.Dataset.from_dataframe(table.assign(vp=table["vp"] / 100))
        one["vp"].attrs["units"] = "hPa"
        one.to_netcdf(folder / "time_series" / f"{site}.nc", engine="h5netcdf")
    attributes(folder / "attributes" / "a.csv")
    return folder


def as_caravan(folder: Path, tables: Frames) -> Path:
    """Caravan's names, with a column added for the vapour pressure, in kPa, which it has not."""
    series, static = (folder / part / "camels" for part in ("timeseries/csv", "attributes"))
    series.mkdir(parents=True)
    static.mkdir(parents=True)
    for site, table in tables.items():
        named = table.assign(vp=table["vp"] / 1000).rename(columns=COLUMNS)
        named.to_csv(series / f"camels_{site}.csv")
    attributes(static / "attributes_caravan_camels.csv", prefix="camels_")
    return folder


def as_camels(folder: Path, tables: Frames) -> Path:
    """CAMELS-US as published, one product, flow in cubic feet a second."""
    forcing, flow = folder / "basin_mean_forcing/daymet/01", folder / "usgs_streamflow/01"
    static = folder / "camels_attributes_v2.0"
    for part in (forcing, flow, static):
        part.mkdir(parents=True)
    header = "Year Mnth Day Hr\tprcp(mm/day)\tsrad(W/m2)\ttmax(C)\ttmin(C)\tvp(Pa)\n"
    for site, table in tables.items():
        dates = [f"{day:%Y %m %d}" for day in table.index]
        rows = [
            f"{day} 12\t" + "\t".join(f"{value:.2f}" for value in row)
            for day, row in zip(dates, table.drop(columns="discharge").to_numpy(), strict=True)
        ]
        text = f"45.0\n250.0\n{AREA_KM2 * 1e6:.0f}\n{header}" + "\n".join(rows) + "\n"
        (forcing / f"{site}_lump_cida_forcing_leap.txt").write_text(text)
        lines = [
            f"{site} {day} {q / 0.028316846592:.6f} A"
            for day, q in zip(dates, table["discharge"], strict=True)
        ]
        (flow / f"{site}_streamflow_qc.txt").write_text("\n".join(lines) + "\n")
    attributes(static / "camels_topo.txt", separator=";")
    return folder


LAYOUTS: dict[str, Callable[[Path, Frames], Path]] = {
    "csv": as_csv,
    "generic": as_generic,
    "caravan": as_caravan,
    "camels": as_camels,
}


def member_config(data: Path, seed: int, **model: Any) -> dict[str, Any]:
    """A tiny model of the brooks, as nested dictionaries."""
    return {
        "name": "brooks",
        "data": {
            "path": str(data),
            "mass": ["prcp"],
            "aux": ["srad", "tmax", "tmin", "vp"],
            "static": list(STATIC),
            "target": ["discharge"],
            "units": UNITS | STATIC,
        },
        "periods": {
            "train": ["2001-01-01", "2001-05-31"],
            "validation": ["2001-06-01", "2001-06-30"],
            "test": ["2001-07-01", "2001-08-28"],
        },
        "model": {"name": "mclstm", "hidden_size": 3, "gates_see": ["aux", "state", "mass"], **model},
        "training": {
            "length": 20, "warmup": 8, "batch_size": 8, "updates": 6, "learning_rate": 0.02, "threads": 1,
            "seed": seed,
        },
    }  # fmt: skip


def member(root: Path, config: dict[str, Any]) -> Path:
    """The folder of a run that was trained and scored."""
    run = pipeline.train(check_config(config), root, quiet=True).path
    pipeline.evaluate(run, figures=False)
    return run
