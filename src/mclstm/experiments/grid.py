"""The learning-rate grid of the paper: each model's rate, chosen on validation data and seeds of its own."""

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd

from mclstm.errors import ConfigError
from mclstm.experiments.experiment import Options
from mclstm.experiments.jobs import run_jobs
from mclstm.experiments.run import experiment
from mclstm.experiments.success import numbers
from mclstm.report.tables import markdown
from mclstm.training.atomic import make_folder, write_text_atomic

__all__ = ["RATES", "choose", "chosen_rates"]

RATES = (0.1, 0.05, 0.01, 0.005, 0.001)
FIRST_SEED, SEEDS = 1_000, 5  # no seed of a table


def choose(
    name: str, options: Options, out: Path, *, kept: Path | None = None, workers: int = 1, quiet: bool = False
) -> tuple[Path, str]:
    """Train every model with every rate and record which has the lowest median validation error.

    The result is the file of the record, and a table for reading.
    """
    asked, folder = experiment(name), out / name / f"{options.profile}-{options.protocol}"
    options = options._replace(first_seed=FIRST_SEED, seeds=options.seeds or SEEDS, rates={})
    tried = {}
    for job in asked.jobs(options):
        key = job.parameters["model"]
        if key in asked.rateless:
            continue
        key += f"/{job.parameters['operation']}" if "operation" in job.parameters else ""
        for rate in RATES:
            parameters = {**job.parameters, "learning_rate": rate}
            tried[f"rate-{rate:g}/{job.name}"] = (key, rate, job._replace(parameters=parameters))
    jobs = [job._replace(name=where) for where, (_, _, job) in tried.items()]
    results = run_jobs(jobs, folder / "grid", workers=workers, quiet=quiet)
    found: dict[str, dict[float, list[float | None]]] = {}
    for where, (key, rate, _) in tried.items():
        found.setdefault(key, {}).setdefault(rate, []).extend(results[where]["validation"])
    record = {
        "experiment": name,
        "protocol": options.protocol,
        "profile": options.profile,
        "updates": {key: job.goal for key, _, job in tried.values()},
        "seeds": [FIRST_SEED, options.seeds],
        "choice": {key: best(by_rate) for key, by_rate in found.items()},
        "validation": {key: {f"{r:g}": v for r, v in by_rate.items()} for key, by_rate in found.items()},
    }
    path = (kept / name if kept else folder) / f"{options.protocol}-rates.json"
    make_folder(path.parent)
    write_text_atomic(path, json.dumps(record, indent=1) + "\n")
    return path, table(found)


def median(values: list[float | None]) -> float:
    """The median validation error; a seed that failed counts as infinitely bad."""
    every = sorted(value if math.isfinite(value) else math.inf for value in numbers(values))
    return (every[(len(every) - 1) // 2] + every[len(every) // 2]) / 2


def best(by_rate: dict[float, list[float | None]]) -> float:
    """The rate with the lowest median; of equals the smallest rate."""
    return min(sorted(by_rate), key=lambda rate: median(by_rate[rate]))


def table(found: dict[str, dict[float, list[float | None]]]) -> str:
    """Median validation error by model and rate."""
    shown: dict[str, list[Any]] = {"model": list(found)}
    for rate in RATES:
        shown[f"{rate:g}"] = [f"{median(by_rate[rate]):.3g}" for by_rate in found.values()]
    shown["choice"] = [f"{best(by_rate):g}" for by_rate in found.values()]
    return markdown(pd.DataFrame(shown))


def chosen_rates(path: Path) -> dict[str, float]:
    """The learning rates a record chose, by model or model/operation."""
    try:
        choice = json.loads(path.read_text())["choice"]
        return {str(name): float(rate) for name, rate in choice.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"{path} holds no chosen learning rates. Give a file that --grid recorded, *-rates.json."
        ) from error
