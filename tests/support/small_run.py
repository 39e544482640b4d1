"""The smallest run that has every part: a generated brook, three cells, windows of ten days."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from mclstm import pipeline
from mclstm.config import check_config


def brook(path: Path, days: int = 240) -> Path:
    """Rain, temperature and the flow of a bucket that loses a fifth of its content a day, as CSV."""
    source = np.random.default_rng(0)
    rain = source.gamma(0.5, 6.0, days) * (source.random(days) < 0.5)
    stored = np.zeros(days)
    for day in range(days):
        stored[day] = 0.8 * stored[day - 1] + rain[day]
    table = pd.DataFrame({"date": pd.date_range("2001-01-01", periods=days), "rain": rain})
    table["temperature"] = 10 + 8 * np.sin(np.arange(days) / 58)
    table["flow"] = 0.2 * stored
    table.to_csv(path, index=False)
    return path


def brook_config(data: Path, model: dict[str, Any] | None = None, **training: Any) -> dict[str, Any]:
    """Its config as nested dictionaries."""
    settings = {
        "length": 10, "warmup": 4, "stride": 6, "batch_size": 6, "updates": 24, "learning_rate": 0.02,
        "checkpoint_every": 2, "threads": 1,
    }  # fmt: skip
    return {
        "name": "brook",
        "data": {"path": str(data), "mass": ["rain"], "aux": ["temperature"], "target": ["flow"]},
        "periods": {
            "train": ["2001-01-01", "2001-05-31"],
            "validation": ["2001-06-01", "2001-06-30"],
            "test": ["2001-07-01", "2001-08-28"],
        },
        "model": {"name": "mclstm", "hidden_size": 3} if model is None else model,
        "training": settings | training,
    }


def brook_file(folder: Path, **training: Any) -> Path:
    """Data and config as a user has them: two files in a folder."""
    raw = brook_config(brook(folder / "brook.csv"), **training)
    (folder / "brook.yaml").write_text(yaml.safe_dump(raw))
    return folder / "brook.yaml"


def trained(folder: Path, model: dict[str, Any] | None = None, **training: Any) -> Path:
    """The folder of a run that came to its end."""
    folder.mkdir(parents=True, exist_ok=True)
    data = brook(folder / "brook.csv")
    config = check_config(brook_config(data, model, **training))
    return pipeline.train(config, folder / "runs", quiet=True).path


def brooks(path: Path, sites: list[str]) -> pd.DataFrame:
    """The table of a brook once for each site, which a column names; every next one has more rain."""
    table = pd.read_csv(path)
    return pd.concat(
        [table.assign(site=site, rain=table["rain"] * (1 + at)) for at, site in enumerate(sites)]
    )
