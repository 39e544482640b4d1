"""The learning-rate grid of the paper: each model's rate is chosen on validation data with separate seeds."""

import json
import math
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from mclstm.errors import ConfigError
from mclstm.jobs.execution import run_jobs
from mclstm.jobs.job import Job, alone
from mclstm.report.markdown import markdown
from mclstm.training.atomic import make_folder, write_text_atomic
from mclstm_paper.experiment import Experiment, refuse_unused_options
from mclstm_paper.number_format import median_error
from mclstm_paper.options import Options, Plan
from mclstm_paper.registry import experiment
from mclstm_paper.results import read_results

__all__ = ["RATES", "choose", "chosen_rates"]

RATES = (0.1, 0.05, 0.01, 0.005, 0.001)
FIRST_SEED, SEEDS = 1_000, 5  # no seed of a table

Errors = dict[str, dict[float, list[float | None]]]  # validation errors by model, or model/setting, and rate


class Trial(NamedTuple):
    """A job with one rate of the grid."""

    key: str  # the model, or model/setting, whose rate is chosen
    rate: float
    job: Job


def choose(
    name: str,
    options: Options,
    out: Path,
    *,
    results_dir: Path | None = None,
    workers: int = 1,
    executor: Executor | None = None,
    quiet: bool = False,
) -> tuple[Path, str]:
    """Train every model with every rate and record which rate has the lowest median validation error.

    Returns the file of the record and a table of the errors.
    """
    task, folder = experiment(name), out / name / f"{options.profile}-{options.protocol}"
    refuse_fixed_options(options)
    refuse_unused_options(task, options)
    options = options._replace(first_seed=FIRST_SEED, seeds=options.seeds or SEEDS)
    path = (results_dir / name if results_dir else folder) / f"{options.protocol}-rates.json"
    about = {
        "experiment": name,
        "protocol": options.protocol,
        "profile": options.profile,
        "seeds": [FIRST_SEED, options.seeds],
    }
    require_alike(path, read_results(path), about)  # before hours of training, and again after them
    trials = trials_of(task, options)
    jobs = [trial.job._replace(name=folder_name) for folder_name, trial in trials.items()]
    results = run_jobs(jobs, folder / "grid", workers=workers, executor=executor, quiet=quiet)
    errors: Errors = {}
    for folder_name, trial in trials.items():
        by_rate = errors.setdefault(trial.key, {})
        by_rate.setdefault(trial.rate, []).extend(results[folder_name]["validation"])
    record: dict[str, Any] = {
        **about,
        "updates": {trial.key: trial.job.goal for trial in trials.values()},
        "choice": {key: best(by_rate) for key, by_rate in errors.items()},
        "validation": {key: {f"{r:g}": v for r, v in by_rate.items()} for key, by_rate in errors.items()},
    }
    make_folder(path.parent)
    with alone(path.parent):
        write_text_atomic(path, json.dumps(with_earlier(path, record), indent=1) + "\n")
    return path, table(errors)


def refuse_fixed_options(options: Options) -> None:
    """Refuse options that a choice of rates sets itself."""
    for name in ("rates", "add", "first_seed"):
        if getattr(options, name) != Options._field_defaults[name]:
            raise ConfigError(
                f"--grid tries its own rates on seeds of its own. Leave --{name.replace('_', '-')} out."
            )


def trials_of(task: Experiment, options: Options) -> dict[str, Trial]:
    """Every job with every rate, by its folder."""
    trials = {}
    for job in task.jobs(Plan(options)):
        if "learning_rate" not in job.parameters:
            raise ConfigError(f"{task.name} has no learning rates to choose. Leave --grid out.")
        key = job.parameters["model"]
        if key in task.without_rate:
            continue
        key += f"/{job.parameters['operation']}" if "operation" in job.parameters else ""
        for rate in RATES:
            parameters = {**job.parameters, "learning_rate": rate}
            trials[f"rate-{rate:g}/{job.name}"] = Trial(key, rate, job._replace(parameters=parameters))
    return trials


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


def best(by_rate: Mapping[float, Sequence[float | None]]) -> float:
    """The rate with the lowest median error, the smallest of several."""
    return min(sorted(by_rate), key=lambda rate: median_error(by_rate[rate]))


def table(errors: Errors) -> str:
    """Median validation error by model and rate."""
    columns: dict[str, list[str]] = {"model": list(errors)}
    for rate in RATES:
        columns[f"{rate:g}"] = [f"{median_error(by_rate[rate]):.3g}" for by_rate in errors.values()]
    columns["choice"] = [f"{best(by_rate):g}" for by_rate in errors.values()]
    return markdown(pd.DataFrame(columns))


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
