"""A job of the traffic forecast: choose settings on validation days, train the seeds, test them once."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mclstm.jobs.job import Result, Work, read_json
from mclstm.jobs.monitor import JobMonitor
from mclstm.training.atomic import make_folder, write_text_atomic
from mclstm.training.order import batches_per_epoch, permutation
from mclstm_paper.protocols import Protocol
from mclstm_paper.seeds.member_ensemble import Ensemble
from mclstm_paper.seeds.networks import sources
from mclstm_paper.seeds.recipes import Decay
from mclstm_paper.seeds.training_loop import Problem, train
from mclstm_paper.traffic.days import read_city
from mclstm_paper.traffic.models import LSTMFlows, MassFlows, Setting, build, clock_of
from mclstm_paper.traffic.scoring import scores
from mclstm_paper.traffic.task import FlowTask

__all__ = ["FORECAST", "choose", "learn", "problem"]

BATCH = 32
GRID_SEED = 1_000  # no run's
EVALUATIONS = 20  # per training


class Forecaster(NamedTuple):
    """A model and what it learns."""

    model: str
    task: FlowTask
    protocol: Protocol


class Trial(NamedTuple):
    """A setting with the validation errors of its seeds; NaN for those that failed."""

    setting: Setting
    errors: list[float]

    def mean(self) -> float:
        """The mean error; a failed seed counts as infinite."""
        return float(np.mean([error if math.isfinite(error) else math.inf for error in self.errors]))


def learn(
    folder: Path,
    monitor: JobMonitor,
    goal: int,
    *,
    model: str,
    operation: str,
    reading: str,
    protocol: Protocol,
    seeds: list[int],
    grid: list[list[Any]],
    grid_updates: int,
    reader: str,
    data: str | None = None,
) -> Result:
    """Train the seeds to update `goal` with the best setting of the grid; the last weights are tested.

    Our own variants use their best weights on validation days. operation: the name of city and reading.
    """
    forecaster = Forecaster(model, FlowTask(read_city(data, reader), reading, clock_of(model)), protocol)
    settings = [Setting(*values) for values in grid]
    trials = choose(folder, monitor, grid_updates, forecaster, settings)
    best = min(trials, key=Trial.mean).setting
    members, network = run(folder, monitor, goal, forecaster, best, seeds)
    if clock_of(model) != "number":
        members.use_best()
    return {
        "choice": best._asdict(),
        "trials": [{**trial.setting._asdict(), "validation": trial.errors} for trial in trials],
        "validation": members.record("validation")[-1].tolist(),
        "failed": members.failed.tolist(),
        "scorings": count_scoring(folder),
        **tested(network, members, forecaster),
    }


def choose(
    folder: Path,
    monitor: JobMonitor,
    updates: int,
    forecaster: Forecaster,
    settings: Sequence[Setting],
) -> list[Trial]:
    """The validation error of every setting, with a seed that is no run's; finished ones are read again."""
    trials = []
    for setting in settings:
        place = folder / "grid" / setting.label()
        make_folder(place)
        done = read_json(place / "trial.json")
        if done is None:
            members, _ = run(place, monitor, updates, forecaster, setting, [GRID_SEED])
            done = {"validation": [none_if_nan(v) for v in members.record("validation")[-1].tolist()]}
            write_text_atomic(place / "trial.json", json.dumps(done) + "\n")
        errors = [math.nan if value is None else value for value in done["validation"]]
        trials.append(Trial(setting, errors))
    return trials


def none_if_nan(value: float) -> float | None:
    return value if math.isfinite(value) else None


def run(
    folder: Path,
    monitor: JobMonitor,
    updates: int,
    forecaster: Forecaster,
    setting: Setting,
    seeds: list[int],
) -> tuple[Ensemble, MassFlows | LSTMFlows]:
    """Train the members of some seeds with one setting, from the folder's checkpoint if there is one."""
    model, task, protocol = forecaster
    network = build(model, setting, task.sizes, task.scales(), protocol, sources(seeds))
    members = train(
        folder,
        monitor,
        updates,
        problem(network, task, seeds, updates),
        members=len(seeds),
        learning_rate=setting.rate,
        evaluate_every=max(1, updates // EVALUATIONS),
    )
    return members, network


def problem(network: MassFlows | LSTMFlows, task: FlowTask, seeds: list[int], updates: int) -> Problem:
    """Every member learns the days of its own split, in its own order, and is judged by its own days."""
    splits = [task.split(seed) for seed in seeds]
    count = len(splits[0][0])
    per_epoch = batches_per_epoch(count, BATCH)
    held_out = task.batch(np.stack([validation for _, validation in splits]))

    def losses(update: int) -> Tensor:
        epoch, position = divmod(update, per_epoch)
        here = slice(position * BATCH, (position + 1) * BATCH)
        orders = [permutation(seed, epoch, count)[here] for seed in seeds]
        days = [train_days[order] for (train_days, _), order in zip(splits, orders, strict=True)]
        x, a, y = task.batch(np.stack(days))
        return task.errors(network(x, a), y)

    def evaluate(update: int) -> dict[str, Tensor]:
        return {"validation": task.errors(network(held_out.x, held_out.a), held_out.y)}

    def note(ensemble: Ensemble) -> str:
        return f"validation RMSE {float(ensemble.record('validation')[-1].nanmedian().sqrt()):.3g}"

    # The paper's rate is constant, that of our variants falls.
    decay = Decay(updates // 2, updates, 0.05) if task.clock != "number" else None
    return Problem(network, losses, evaluate, clamped=False, note=note, decay=decay)


@torch.no_grad()
def tested(network: MassFlows | LSTMFlows, members: Ensemble, forecaster: Forecaster) -> dict[str, Any]:
    """The scores of every member on the test days, and one day as the first member forecasts it."""
    model, task, protocol = forecaster
    days = task.city.test
    y, stock = network.with_stock(days.x, task.test_a())
    values = scores(model, y, stock, days, protocol)
    failed = (members.failed >= 0).tolist()
    marked = {
        name: [math.nan if bad else value for bad, value in zip(failed, column, strict=True)]
        for name, column in values.items()
    }
    day = len(days.first) // 2
    return {"test": marked, "day": {"number": day, "forecast": y[0, :, day].tolist()}}


def count_scoring(folder: Path) -> int:
    """Note that the test days are scored now; how often that was done in this folder."""
    path = folder / "scorings.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    write_text_atomic(path, "\n".join([*lines, "scored"]) + "\n")
    return len(lines) + 1


FORECAST = Work("traffic", learn)
