"""Simulated and observed flow of a few sites, as a run's predictions have them."""

import numpy as np
import pandas as pd
import xarray as xr


def flows(
    sites: tuple[str, ...] = ("01", "02", "03"), days: int = 400, seed: int = 0, start: str = "1989-10-01"
) -> xr.Dataset:
    """Random rain, a flow that follows it, and a simulation that is off by another factor at every site."""
    rng = np.random.default_rng(7)  # the same river for every seed
    rain = rng.gamma(0.4, 8.0, (len(sites), days))
    observed = 0.02 + 0.4 * rain + rng.gamma(1.0, 0.3, rain.shape)
    own = np.random.default_rng(seed)
    factors = own.uniform(0.6, 1.3, (len(sites), 1))
    simulated = 0.01 + factors * (0.4 * rain + 0.3) * own.uniform(0.8, 1.2, rain.shape)
    about = {"units": "mm/day"}
    both = ("site", "time")
    return xr.Dataset(
        {
            "simulated": (both, simulated, about | {"long_name": "simulated discharge"}),
            "observed": (both, observed, about),
            "inflow": (both, rain, about),
        },
        coords={"site": np.array(sites, dtype=object), "time": pd.date_range(start, periods=days)},
    )
