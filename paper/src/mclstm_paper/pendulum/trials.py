"""Recipes tried on settings that are none of the paper's: how a recipe is chosen.

    python -m mclstm_paper.pendulum.trials mclstm-invariant --protocol stated --change rate=0.005 \\
        --out results/pendulum/trials.json

Every trial is added to the file, with its errors after the training parts of `task.TUNING`. It never touches
the 120 sets of the experiment.
"""

import argparse
import ast
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from mclstm.jobs.job import alone
from mclstm.jobs.monitor import JobMonitor
from mclstm.training.atomic import make_folder, write_text_atomic
from mclstm.training.cost import commit
from mclstm_paper.pendulum.error_rows import set_rows
from mclstm_paper.pendulum.settings import LSTM, MASS_MODELS, recipe
from mclstm_paper.pendulum.task import TUNING, some_series
from mclstm_paper.pendulum.training import learn_sets
from mclstm_paper.protocols import PROTOCOLS, Protocol
from mclstm_paper.results import read_results

__all__ = ["main", "trial"]

Changes = dict[str, Any]  # fields of a recipe with other values


def trial(model: str, protocol: Protocol, changes: Changes, count: int, seed: int = 0) -> dict[str, Any]:
    """The errors of a changed recipe on the first tuning sets; another seed is another start."""
    settings = recipe(model, protocol)._replace(**changes)
    numbers = list(range(count))
    begun = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        monitor = JobMonitor(Path(folder), lambda: None)
        sets = some_series(numbers, TUNING)
        starts = [number + 1_000 * seed for number in numbers]
        outcome = learn_sets(Path(folder), monitor, settings.updates, model, settings, protocol, sets, starts)
    rows = {
        row["setting"]: row for row in set_rows(model, outcome, numbers, TUNING) if row["metric"] == "mse"
    }
    return {
        "model": model,
        "protocol": protocol,
        "changes": changes,
        "seed": seed,
        "sets": count,
        "mean": rows["all"]["value"],
        "median": rows["all"]["median"],
        "no friction": rows["no friction"]["value"],
        "values": rows["all"]["values"],
        "cpu_seconds": round(time.process_time() - begun, 1),
        "commit": commit(),
    }


def add(path: Path, record: dict[str, Any]) -> None:
    """Add a trial to the file."""
    make_folder(path.parent)
    with alone(path.parent):
        trials = (read_results(path) or {"trials": []})["trials"]
        write_text_atomic(path, json.dumps({"trials": [*trials, record]}, indent=1) + "\n")


def change(text: str) -> tuple[str, Any]:
    """A field of a recipe and its value, as typed: "rate=0.005"."""
    name, _, value = text.partition("=")
    return name, ast.literal_eval(value)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", choices=(*MASS_MODELS, LSTM))
    parser.add_argument("--protocol", choices=PROTOCOLS, default="stated")
    parser.add_argument("--change", type=change, action="append", default=[])
    parser.add_argument("--sets", type=int, default=len(TUNING))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    record = trial(options.model, options.protocol, dict(options.change), options.sets, options.seed)
    add(options.out, record)
    print(*(f"{name} {record[name]:.3g}" for name in ("mean", "median", "no friction", "cpu_seconds")))


if __name__ == "__main__":
    main()
