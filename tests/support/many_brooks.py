"""More sites than one part holds: brooks with records of unlike lengths, as zarr, netCDF or one file each."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

SITES, DAYS = 130, 200  # two parts of 64 sites and one of 2
SHORT = 100  # days with inputs of the sites of the last part: none of them lies in the test period
LAYOUTS = ("zarr", "netcdf", "folder", "generic_nh")


def brooks() -> xr.Dataset:
    """Rain, temperature and flow over (site, time), and the area of each site."""
    source = np.random.default_rng(0)
    rain = source.gamma(0.5, 6.0, (SITES, DAYS)) * (source.random((SITES, DAYS)) < 0.5)
    stored = np.zeros((SITES, DAYS))
    for day in range(DAYS):
        stored[:, day] = 0.8 * stored[:, day - 1] + rain[:, day]
    flow = 0.2 * stored
    flow[source.random(flow.shape) < 0.1] = np.nan
    temperature = 10 + 8 * np.sin(np.arange(DAYS) / 58) + source.normal(size=(SITES, DAYS))
    columns = {"rain": rain, "temperature": temperature, "flow": flow}
    for values in columns.values():
        values[128:, SHORT:] = np.nan
        values[5, :30] = np.nan
    units = {"rain": "mm/day", "temperature": "degC", "flow": "mm/day"}
    dims = ("site", "time")
    table = xr.Dataset({name: (dims, values, {"units": units[name]}) for name, values in columns.items()})
    table["slope"] = ("site", source.random(SITES))
    names = np.array([f"b{number:03d}" for number in range(SITES)])
    return table.assign_coords(site=names, time=pd.date_range("2001-01-01", periods=DAYS))


def written(folder: Path, layout: str, sites: int = SITES) -> Path:
    """So many of the brooks in one of LAYOUTS; where the data is."""
    table = brooks().isel(site=slice(sites))
    if layout == "zarr":
        table.to_zarr(folder / "brooks.zarr", zarr_format=2, consolidated=False)
        return folder / "brooks.zarr"
    if layout == "netcdf":
        table.to_netcdf(folder / "brooks.nc", engine="h5netcdf")
        return folder / "brooks.nc"
    place = folder / "brooks" / ("time_series" if layout == "generic_nh" else "")
    place.mkdir(parents=True)
    for name in table["site"].to_numpy():
        one = table.sel(site=name).drop_vars(["site", "slope"]).dropna("time", how="all")
        one.to_netcdf(place / f"{name}.nc", engine="scipy")
    slopes = table["slope"].to_series().rename_axis("gauge_id")
    (folder / "brooks" / "attributes").mkdir(exist_ok=True)
    slopes.to_csv(folder / "brooks" / "attributes" / "sites.csv")
    return folder / "brooks"


def config(data: Path, *, in_memory: bool, **training: Any) -> dict[str, Any]:
    """A training on them as nested dictionaries."""
    settings = {
        "length": 20, "warmup": 8, "batch_size": 32, "updates": 12, "threads": 1, "checkpoint_every": 5,
        "loss": "nse",
    }  # fmt: skip
    return {
        "name": "brooks",
        "data": {
            "path": str(data), "in_memory": in_memory, "mass": ["rain"], "aux": ["temperature"],
            "static": ["slope"], "target": ["flow"], "day_of_year": True, "antecedent": [5],
        },
        "periods": {
            "train": ["2001-01-01", "2001-04-30"],
            "validation": ["2001-05-01", "2001-05-31"],
            "test": ["2001-06-01", "2001-07-15"],
        },
        "model": {"name": "mclstm", "hidden_size": 3},
        "training": settings | training,
    }  # fmt: skip
