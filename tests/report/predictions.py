"""Small predictions with the structure `simulate` gives; the books of the stores close."""

import numpy as np
import pandas as pd
import xarray as xr

RECORDS = [
    {"update": 10, "epoch": 0, "rate": 0.01, "loss": 2.0, "gradient": 1.0, "mass_error": 1e-8},
    {"update": 12, "epoch": 0, "validation_nse": -20.0},
    {"update": 20, "epoch": 1, "rate": 0.005, "loss": 0.1, "gradient": None, "mass_error": 3e-7},
    {"update": 24, "epoch": 1, "validation_nse": 0.6},
]


def made(
    sites: tuple[str, ...] = ("A",),
    steps: int = 40,
    cells: int = 3,
    freq: str = "D",
    unit: str = "mm/day",
    start: str = "1999-12-01",
) -> xr.Dataset:
    """Random inflow through stores that lose a tenth a step; cell 0 is for losses."""
    rng = np.random.default_rng(0)
    time = pd.date_range(start, periods=steps, freq=freq)
    inflow = rng.gamma(0.3, 8.0, (len(sites), steps))
    storage = np.zeros((len(sites), steps, cells))
    outflow = np.zeros((len(sites), steps, cells))
    now = before = np.ones((len(sites), cells))
    for step in range(steps):
        now = now + inflow[:, step, np.newaxis] / cells
        outflow[:, step], now = 0.1 * now, 0.9 * now
        storage[:, step] = now
    both, about = ("site", "time"), {"units": unit}
    flow = outflow[..., 1:].sum(-1)
    noise = 1 + rng.normal(0, 1, flow.shape) * np.linspace(0.01, 0.5, len(sites))[:, np.newaxis]
    return xr.Dataset(
        {
            "simulated": (both, flow, about | {"long_name": "simulated flow"}),
            "observed": (both, np.abs(flow * noise), about | {"long_name": "observed flow"}),
            "inflow": (both, inflow, about),
            "entered": (both, inflow, about),
            "storage": ((*both, "cell"), storage, about | {"trash_cell": 0}),
            "outflow": (
                (*both, "outlet"),
                np.stack([flow, outflow[..., 0]], -1),
                about | {"losses": "losses"},
            ),
            "residual": (both, np.zeros_like(inflow), about),
            "storage_before": ("site", before.sum(-1), about),
            "filled": (both, np.zeros_like(inflow), about),
            "was_filled": (both, np.zeros(inflow.shape, np.int8)),
        },
        coords={
            "site": np.array(sites, dtype=object),
            "time": time,
            "cell": np.arange(cells),
            "outlet": ["flow", "losses"],
        },
    )


def without_stores(predictions: xr.Dataset) -> xr.Dataset:
    """As an LSTM gives them."""
    return predictions.drop_dims(["cell", "outlet"]).drop_vars(["entered", "residual", "storage_before"])
