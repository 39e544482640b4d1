"""The smallest city: what drives in on two roads leaves on two others, counted every hour for some days."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mclstm import pipeline
from mclstm.config import check_config
from mclstm.run import Run

BEGIN, END, HOURS = "04:00", "23:00", 20


def city(days: int = 12) -> pd.DataFrame:
    """Counts per hour; half of the vehicles inside leave in an hour, three of four to the east."""
    source = np.random.default_rng(0)
    hours = pd.date_range("2024-01-01", periods=24 * days, freq="h")
    rush = 20 + 15 * np.sin((hours.hour.to_numpy() - 6) / 24 * 2 * np.pi)
    table = pd.DataFrame(
        {"in_west": rush + 5 * source.random(len(hours)), "in_north": 0.5 * rush}, index=hours
    )
    inside, left = 0.0, []
    for entered in table.sum(axis=1):
        inside = (inside + entered) / 2
        left.append(inside)
    table["out_east"], table["out_south"] = 0.75 * np.array(left), 0.25 * np.array(left)
    return table.rename_axis("time")


def city_config(path: Path, model: dict[str, Any] | None = None, **training: Any) -> dict[str, Any]:
    """Its config as nested dictionaries."""
    settings = {"batch_size": 4, "updates": 4, "learning_rate": 0.02, "checkpoint_every": 1, "threads": 1}
    return {
        "name": "city",
        "data": {"path": str(path), "mass": ["in_*"], "target": ["out_*"], "time_of_day": 2},
        "periods": {
            "train": ["2024-01-01", "2024-01-06"],
            "validation": ["2024-01-07", "2024-01-08"],
            "test": ["2024-01-09", "2024-01-12"],
        },
        "sequences": {"each": "day", "begin": BEGIN, "end": END},
        "model": {"name": "mclstm", "hidden_size": 4, "head": "mcfc"} if model is None else model,
        "training": settings | training,
    }


def city_run(folder: Path, raw: dict[str, Any] | None = None, **training: Any) -> Run:
    """A trained run; its table lies beside it as city.csv."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "city.csv"
    city().to_csv(path)
    config = check_config(city_config(path, **training) if raw is None else raw)
    return pipeline.train(config, folder / "runs", quiet=True)
