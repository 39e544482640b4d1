"""The forecasts without gradients: the library's rivals, fitted on what the networks learn from."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from mclstm.evaluation.rivals import LAGS, RIVALS, Record
from mclstm.jobs.job import Result, Work
from mclstm.jobs.monitor import JobMonitor
from mclstm_paper.protocols import Protocol
from mclstm_paper.traffic.days import Clock, Days, clock_inputs, read_city
from mclstm_paper.traffic.scoring import scores
from mclstm_paper.traffic.task import FlowTask
from mclstm_paper.traffic.training import count_scoring

__all__ = ["FIT", "FLOORS", "fit", "lags_chosen"]

# By reading: last week's counts are not there where only nine steps a day are observed.
FLOORS = {
    "climatology": ("dense", "sparse-step", "sparse-overall"),
    "last-week": ("dense",),
    "regression": ("dense", "sparse-step", "sparse-overall"),
    "regression-by-time": ("dense", "sparse-step", "sparse-overall"),
    "regression-timeless": ("dense", "sparse-step", "sparse-overall"),
    "share-of-inflow": ("dense", "sparse-step", "sparse-overall"),
}
TIMELESS = "-timeless"
LAGGED = ("regression", "regression-by-time", "regression-timeless", "share-of-inflow")
TRIED = (*LAGS, 61, 73)  # lags; the number is chosen on validation days, as settings of networks are
SPLIT_SEED = 0


def fit(
    folder: Path,
    monitor: JobMonitor,
    goal: int,
    *,
    model: str,
    operation: str,
    reading: str,
    protocol: Protocol,
    reader: str,
    data: str | None = None,
) -> Result:
    """Fit a floor to the training days and score it on the test days.

    The regressions see harmonics, too; the one without a clock sees nothing but the inflow.
    """
    clock: Clock = "none" if model.endswith(TIMELESS) else "harmonics"
    task = FlowTask(read_city(data, reader), reading, clock)
    lags, trials = lags_chosen(model, task)
    train, test = task.city.train, task.city.test
    learned = torch.arange(len(train.first) + len(test.first)) < len(train.first)
    forecast = predictions(model, lags, task, learned)[:, ~learned]
    stock = (test.x.sum(-1) - forecast.sum(-1)).cumsum(0)
    values = scores(model, forecast.unsqueeze(0), stock.unsqueeze(0), test, protocol)
    return {
        "choice": {} if lags is None else {"lags": lags},
        "trials": trials,
        "test": values,
        "failed": [-1],
        "scorings": count_scoring(folder),
    }


def lags_chosen(model: str, task: FlowTask) -> tuple[int | None, list[dict[str, Any]]]:
    """The number of lags with the lowest error on the days of one validation split, and all errors."""
    if model not in LAGGED:
        return None, []
    train = task.city.train
    _, held_out = task.split(SPLIT_SEED)
    learned = torch.ones(len(train.first), dtype=torch.bool)
    learned[torch.from_numpy(held_out.copy())] = False
    errors = {}
    for lags in TRIED:
        y = predictions(model, lags, task, learned, test=False)[:, ~learned]
        errors[lags] = float(task.errors(y.unsqueeze(0), train.y[:, ~learned].unsqueeze(0)))
    trials = [{"lags": lags, "validation": [error]} for lags, error in errors.items()]
    return min(errors, key=lambda lags: errors[lags]), trials


def predictions(model: str, lags: int | None, task: FlowTask, learned: Tensor, test: bool = True) -> Tensor:
    """What a floor says of the training days and, with `test`, of the test days behind them: (T, N, O).

    learned: (N,) bool, the days to fit on. Only their scored steps are known, with imputed inputs elsewhere.
    """
    rival: Callable[..., np.ndarray] = RIVALS[model.removesuffix(TIMELESS)]
    if lags is not None:
        rival = partial(rival, lags=lags if model == "share-of-inflow" else (lags,))
    record, steps = record_of(task, learned, test), len(task.known)
    y = rival(record, np.repeat(learned.numpy(), steps))
    return torch.from_numpy(y[0].reshape(-1, steps, y.shape[-1]).swapaxes(0, 1).copy())


def record_of(task: FlowTask, learned: Tensor, test: bool) -> Record:
    """Days one after the other as the library's rivals take them."""
    train, days = task.city.train, [task.city.train, *([task.city.test] if test else [])]
    x = torch.cat([task.known, *(day.x for day in days[1:])], dim=1)
    y = torch.cat([day.y for day in days], dim=1).double()
    if task.reading != "dense":
        hidden = torch.ones(len(y), dtype=torch.bool)
        hidden[task.scored] = False
        y[hidden] = torch.nan
        y[:, ~learned] = torch.nan
    a = torch.cat([clock_inputs(day, task.clock) for day in days], dim=1)
    times = np.concatenate([times_of(day) for day in days])
    begins = np.tile(np.arange(len(train.x)) == 0, y.shape[1])
    x_rows, a_rows, y_rows = (row_by_row(value) for value in (x, a, y))
    return Record(x_rows, a_rows, y_rows, pd.DatetimeIndex(times), begins)


def row_by_row(value: Tensor) -> np.ndarray:
    """(T, N, C) as one site of consecutive days, (1, N T, C)."""
    steps, days, columns = value.shape
    return value.double().swapaxes(0, 1).reshape(1, days * steps, columns).numpy()


def times_of(days: Days) -> np.ndarray:
    """The time of every step, day by day, (N T,)."""
    steps = np.arange(len(days.x)) * days.step.to_numpy()
    return np.asarray((days.first.to_numpy()[:, np.newaxis] + steps).ravel())


FIT = Work("traffic floor", fit)
