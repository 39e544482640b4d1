"""The learning-rate grid of the paper: each model's rate, chosen on validation data and seeds of its own."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from mclstm.errors import ConfigError
from mclstm.jobs.execution import Job, run_jobs
from mclstm.jobs.locks import alone
from mclstm.report.results import read_results
from mclstm.report.tables import markdown
from mclstm.training.atomic import make_folder, write_text_atomic
from mclstm_paper.arithmetic.entries import median_error
from mclstm_paper.experiment import Experiment, Options, require_heard
from mclstm_paper.runner import experiment

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
    require_free(options)
    require_heard(asked, options)
    options = options._replace(first_seed=FIRST_SEED, seeds=options.seeds or SEEDS)
    path = (kept / name if kept else folder) / f"{options.protocol}-rates.json"
    about = {
        "experiment": name,
        "protocol": options.protocol,
        "profile": options.profile,
        "seeds": [FIRST_SEED, options.seeds],
    }
    require_alike(path, read_results(path), about)  # before hours of training, and again when they are over
    tried = trials(asked, options)
    jobs = [job._replace(name=where) for where, (_, _, job) in tried.items()]
    results = run_jobs(jobs, folder / "grid", workers=workers, quiet=quiet)
    found: dict[str, dict[float, list[float | None]]] = {}
    for where, (key, rate, _) in tried.items():
        found.setdefault(key, {}).setdefault(rate, []).extend(results[where]["validation"])
    record: dict[str, Any] = {
        **about,
        "updates": {key: job.goal for key, _, job in tried.values()},
        "choice": {key: best(by_rate) for key, by_rate in found.items()},
        "validation": {key: {f"{r:g}": v for r, v in by_rate.items()} for key, by_rate in found.items()},
    }
    make_folder(path.parent)
    with alone(path.parent):
        write_text_atomic(path, json.dumps(with_earlier(path, record), indent=1) + "\n")
    return path, table(found)


def require_free(options: Options) -> None:
    """Refuse what a choice of rates settles by itself."""
    for name in ("rates", "add", "first_seed"):
        if getattr(options, name) != Options._field_defaults[name]:
            raise ConfigError(
                f"--grid tries its own rates on seeds of its own. Leave --{name.replace('_', '-')} out."
            )


def trials(asked: Experiment, options: Options) -> dict[str, tuple[str, float, Job]]:
    """Every job with every rate, by its folder: whose rate it is to choose, the rate, the job."""
    tried = {}
    for job in asked.jobs(options):
        if "learning_rate" not in job.parameters:
            raise ConfigError(f"{asked.name} has no learning rates to choose. Leave --grid out.")
        key = job.parameters["model"]
        if key in asked.rateless:
            continue
        key += f"/{job.parameters['operation']}" if "operation" in job.parameters else ""
        for rate in RATES:
            parameters = {**job.parameters, "learning_rate": rate}
            tried[f"rate-{rate:g}/{job.name}"] = (key, rate, job._replace(parameters=parameters))
    return tried


def require_alike(path: Path, old: Mapping[str, Any] | None, about: Mapping[str, Any]) -> None:
    """Refuse to mix rates that were chosen on other seeds or at another scale."""
    if old is not None and any(old[key] != about[key] for key in ("profile", "seeds")):
        raise ConfigError(
            f"{path} holds rates chosen with {old['seeds'][1]} seeds, profile {old['profile']}. "
            "Ask for the same, or choose another folder with --results."
        )


def with_earlier(path: Path, record: dict[str, Any]) -> dict[str, Any]:
    """A record with what an earlier command chose for other models."""
    old = read_results(path)
    require_alike(path, old, record)
    if old is None:
        return record
    return record | {key: old[key] | record[key] for key in ("updates", "choice", "validation")}


def best(by_rate: dict[float, list[float | None]]) -> float:
    """The rate with the lowest median; of equals the smallest rate."""
    return min(sorted(by_rate), key=lambda rate: median_error(by_rate[rate]))


def table(found: dict[str, dict[float, list[float | None]]]) -> str:
    """Median validation error by model and rate."""
    shown: dict[str, list[Any]] = {"model": list(found)}
    for rate in RATES:
        shown[f"{rate:g}"] = [f"{median_error(by_rate[rate]):.3g}" for by_rate in found.values()]
    shown["choice"] = [f"{best(by_rate):g}" for by_rate in found.values()]
    return markdown(pd.DataFrame(shown))


def chosen_rates(path: Path, name: str) -> dict[str, float]:
    """The learning rates a record of an experiment chose, by model or model/operation."""
    try:
        record = json.loads(path.read_text())
        choice = {str(model): float(rate) for model, rate in record["choice"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"{path} holds no chosen learning rates. Give a file that --grid recorded, *-rates.json."
        ) from error
    if record.get("experiment") != name:
        raise ConfigError(f"{path} holds rates for {record.get('experiment')}. Give a file for {name}.")
    wrong = next((model for model, rate in choice.items() if not 0.0 < rate < math.inf), None)
    if wrong is not None:
        raise ConfigError(f"{path}: the rate of {wrong} is {choice[wrong]:g}. Give one above 0.")
    return choice
