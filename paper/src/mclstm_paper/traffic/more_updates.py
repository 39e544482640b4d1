"""What five times as many updates bring on validation days: why the tables are of runs of 400.

python -m mclstm_paper.traffic.more_updates --out results/traffic/updates.json
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import torch

from mclstm.jobs.monitor import JobMonitor
from mclstm.training.atomic import make_folder, write_text_atomic
from mclstm.training.cost import commit
from mclstm_paper.results import committed_results
from mclstm_paper.traffic.days import read_city
from mclstm_paper.traffic.models import NETWORKS, Setting, clock_of
from mclstm_paper.traffic.task import READINGS, FlowTask
from mclstm_paper.traffic.training import GRID_SEED, Forecaster, run

__all__ = ["UPDATES", "main", "validation"]

UPDATES = (400, 2_000)
SEEDS = [GRID_SEED, GRID_SEED + 1]  # no run's


def validation(forecaster: Forecaster, setting: Setting, updates: int, seeds: list[int]) -> list[float]:
    """RMSE of every seed over the scored steps of its validation days; best weights for our variants."""
    with tempfile.TemporaryDirectory() as folder:
        monitor = JobMonitor(Path(folder), lambda: None)
        members, _ = run(Path(folder), monitor, updates, forecaster, setting, seeds)
    last = members.record("validation")[-1]
    errors = last if forecaster.task.clock == "number" else members.at_best("validation")
    return [round(value, 4) for value in errors.sqrt().tolist()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out: Path = parser.parse_args().out
    torch.set_num_threads(1)
    chosen = {
        (row["model"], row["setting"]): Setting(**row["choice"])
        for row in committed_results(out.parent / "stated.json")["rows"]
        if row["metric"] == "rmse" and row["model"] in NETWORKS
    }
    city, trials = read_city(None), []
    for reading in READINGS:
        for model in NETWORKS:
            forecaster = Forecaster(model, FlowTask(city, reading, clock_of(model)), "stated")
            setting = chosen[model, f"{city.name}-{reading}"]
            errors = {str(n): validation(forecaster, setting, n, SEEDS) for n in UPDATES}
            trials.append({"reading": reading, "model": model, "rmse": errors})
            print(reading, model, errors, flush=True)
    about: dict[str, Any] = {"what": "RMSE on validation days by updates", "seeds": SEEDS, "commit": commit()}
    make_folder(out.parent)
    write_text_atomic(out, json.dumps({**about, "trials": trials}, indent=1) + "\n")


if __name__ == "__main__":
    main()
