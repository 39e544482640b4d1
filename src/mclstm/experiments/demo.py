"""The river Fulda: an MC-LSTM and an LSTM trained the same way, side by side."""

from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from mclstm import pipeline
from mclstm.config import Config, check_config
from mclstm.data.fulda import AREA_KM2, UNITS, fulda

__all__ = ["Compared", "compare", "demo_config", "summary"]

MODELS: dict[str, dict[str, Any]] = {
    "mclstm": {"name": "mclstm", "hidden_size": 16, "gates_see": ["aux", "state", "mass"]},
    "lstm": {"name": "lstm", "hidden_size": 16},
}


class Compared(NamedTuple):
    """One trained and evaluated model of the demo."""

    run: Path
    found: pipeline.Evaluated


def demo_config(model: str, seed: int = 0, updates: int = 300) -> Config:
    """Precipitation is the mass, temperature and season steer the gates, discharge in mm/day is predicted.

    >>> demo_config("mclstm").data.mass
    ['precipitation']
    """
    return check_config(
        {
            "name": f"fulda-{model}",
            "data": {
                "path": str(fulda()),
                "mass": ["precipitation"],
                "aux": ["tmax", "tmin", "tmean"],
                "target": ["discharge"],
                "units": dict(UNITS),
                "area": AREA_KM2,
                "target_unit": "mm/day",
                "day_of_year": True,
            },
            # 1985 varied half as much as the other years: choosing weights by it would be choosing by chance.
            "periods": {"train": ["1979-01-01", "1984-12-31"], "test": ["1986-01-01", "1988-12-31"]},
            "model": MODELS[model],
            "training": {
                "scheme": "sequence",
                "length": 545,
                "warmup": 365,
                "stride": 10,
                "batch_size": 32,
                "updates": updates,
                "learning_rate": 0.02,
                "schedule": {updates * 2 // 3: 0.005},
                "schedule_by": "update",
                "loss": "nse",
                "seed": seed,
            },
        }
    )


def compare(root: Path, seed: int = 0, updates: int = 300, quiet: bool = False) -> dict[str, Compared]:
    """Train and evaluate both models below `root`."""
    results = {}
    for model in MODELS:
        folder = pipeline.train(demo_config(model, seed, updates), root, quiet=quiet)
        results[model] = Compared(folder.path, pipeline.evaluate(folder.path))
    return results


def summary(results: dict[str, Compared]) -> tuple[pd.DataFrame, dict[str, float]]:
    """Scores of both models, one row each, and the water balance of the conserving one."""
    columns = ["nse", "kge", "rmse", "mae", "fhv", "flv"]
    rows = {name: item.found.scores.iloc[0][columns].astype(float) for name, item in results.items()}
    balance = results["mclstm"].found.balance.iloc[0].drop("site").astype(float)
    return pd.DataFrame(rows).T, {str(name): float(value) for name, value in balance.items()}
