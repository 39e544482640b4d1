"""The river Fulda: an MC-LSTM and an LSTM trained the same way, side by side."""

import argparse
import time
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from mclstm import pipeline
from mclstm.config import Config, check_config
from mclstm.data.fulda import AREA_KM2, UNITS, fulda
from mclstm.report.results import row, save_results
from mclstm.report.tables import mass_balance, side_by_side

__all__ = ["Compared", "compare", "demo_config", "record", "tables"]

SCORES = ["nse", "kge", "rmse", "fhv", "flv"]
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


def tables(results: dict[str, Compared]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Scores and water balance of the test years, one column a model."""
    scores = {name: item.found.scores[["site", *SCORES]] for name, item in results.items()}
    balance = {name: mass_balance(item.found.predictions) for name, item in results.items()}
    return side_by_side(scores), side_by_side(balance, over="mean")


def record(root: Path, seeds: int, target: Path) -> None:
    """Run the demo with several seeds and keep every score, as the README shows them."""
    started = time.monotonic()
    found: dict[str, list[dict[str, float]]] = {name: [] for name in MODELS}
    for seed in range(seeds):
        for model, scores in tables(compare(root, seed, quiet=True))[0].items():
            found[str(model)].append({str(name): float(value) for name, value in scores.items()})
            print(f"seed {seed}, {model}: {found[str(model)][-1]}", flush=True)
    rows = [
        row("fulda 1986-1988", model, metric, [run[metric] for run in runs])
        for model, runs in found.items()
        for metric in SCORES
    ]
    save_results(target, "demo", "quick", rows, time.monotonic() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    options = parser.parse_args()
    record(options.runs, options.seeds, options.out)


if __name__ == "__main__":
    main()
