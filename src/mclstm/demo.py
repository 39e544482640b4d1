"""The river Fulda: an MC-LSTM and an LSTM trained the same way, side by side."""

from pathlib import Path
from typing import Any

import pandas as pd

from mclstm import pipeline
from mclstm.config import Config, check_config
from mclstm.data.fulda import AREA_KM2, UNITS, fulda
from mclstm.deploy.result_page import TRACED, page_of_comparison
from mclstm.evaluation_files import Evaluation
from mclstm.report.comparison import comparison_report
from mclstm.report.comparison.balance_section import mass_balance, side_by_side
from mclstm.report.comparison.comparison_report import Others

__all__ = ["MODELS", "SCORES", "compare", "demo_config", "tables", "write_page"]

SCORES = ["nse", "kge", "rmse", "fhv", "flv"]
MODELS: dict[str, dict[str, Any]] = {
    "mclstm": {
        "name": "hybrid", "hidden_size": 16, "memory_size": 32, "memory_outputs": 16, "dropout": 0.0,
        "redistribution_norm": "softmax", "input_norm": "softmax", "stay": 0.9,
    },
    "lstm": {"name": "lstm", "hidden_size": 16},
}  # fmt: skip
MEMBERS = 4  # of each model: seven years hold few floods, so one member depends much on its seed

Results = dict[str, tuple[Path, Evaluation]]  # the folder of a run and its results, by model


def demo_config(model: str, seed: int = 0, updates: int = 300) -> Config:
    """Precipitation is the mass, temperature steers the gates, discharge in mm/day is predicted.

    >>> demo_config("mclstm").data.mass
    ['precipitation']
    """
    data = {
        "path": str(fulda()), "mass": ["precipitation"], "aux": ["tmax", "tmin", "tmean"],
        "target": ["discharge"], "target_unit": "mm/day", "area": AREA_KM2, "units": dict(UNITS),
    }  # fmt: skip
    training = {
        "scheme": "sequence", "length": 545, "warmup": 365, "batch_size": 32, "updates": updates,
        "learning_rate": 0.02, "schedule": {updates * 2 // 3: 0.005}, "schedule_by": "update",
        "loss": "nse", "seed": seed, "members": MEMBERS,
    }  # fmt: skip
    periods = {"train": ["1979-01-01", "1985-12-31"], "test": ["1986-01-01", "1988-12-31"]}
    sections = {"data": data, "periods": periods, "model": MODELS[model], "training": training}
    return check_config({"name": f"fulda-{model}", **sections})


def compare(root: Path, seed: int = 0, updates: int = 300, quiet: bool = False) -> Results:
    """Train and evaluate both models below `root`."""
    results = {}
    for model in MODELS:
        run = pipeline.train(demo_config(model, seed, updates), root, quiet=quiet)
        results[model] = run.path, pipeline.evaluate(run)
    return results


def tables(results: Results) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Scores and water balance of the test years, one column per model."""
    scores = {name: result.scores[["site", *SCORES]] for name, (_, result) in results.items()}
    balance = {name: mass_balance(result.predictions) for name, (_, result) in results.items()}
    return side_by_side(scores), side_by_side(balance, over="mean")


def write_page(results: Results, root: Path) -> Path:
    """The page of both models and what it shows: fulda-report/report.html below `root`."""
    comparison = comparison_report.compare([run for run, _ in results.values()], Others())
    folder = root / "fulda-report"
    comparison_report.write(comparison, folder)
    return page_of_comparison(comparison, folder, "test", None, TRACED)
