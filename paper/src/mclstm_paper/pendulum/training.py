"""A job of the pendulum: each data set of it gets a model of its own, which learns and then predicts."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mclstm.jobs.job import Result, Work
from mclstm.jobs.monitor import JobMonitor
from mclstm_paper.pendulum.inputs import auxiliary
from mclstm_paper.pendulum.lstm_training import lstm_energies
from mclstm_paper.pendulum.mass_training import forecasts
from mclstm_paper.pendulum.predictions import save_predictions, scores
from mclstm_paper.pendulum.settings import LSTM, Recipe, recipe
from mclstm_paper.pendulum.switches import OUTLET_ONLY_WITH_FRICTION
from mclstm_paper.pendulum.task import Series, some_series
from mclstm_paper.protocols import Protocol

__all__ = ["LEARN", "learn_sets"]


def learn(
    folder: Path,
    monitor: JobMonitor,
    goal: int,
    *,
    model: str,
    protocol: Protocol,
    seeds: list[int],
    scoring: int,
) -> Result:
    """A job: models learn the training parts of the sets with these numbers, and are scored on the rest.

    scoring: which one it is of this model's recipes; part of what the job is
    """
    return learn_sets(
        folder, monitor, goal, model, recipe(model, protocol), protocol, some_series(seeds), seeds
    )


def learn_sets(
    folder: Path,
    monitor: JobMonitor,
    goal: int,
    model: str,
    plan: Recipe,
    protocol: Protocol,
    sets: Sequence[Series],
    numbers: Sequence[int],
) -> Result:
    """Train a model for each set, keep what they predict in the folder, and score it."""
    aux = auxiliary(plan.aux, sets)
    if model == LSTM:
        energies, windows = lstm_energies(sets, plan, aux, goal, monitor, numbers=numbers)
        save_predictions(folder, energies)
        return scores(energies, sets) | {"window": windows}
    given_away = OUTLET_ONLY_WITH_FRICTION.on(protocol)
    closed = [given_away and one.setting.friction == 0.0 for one in sets]
    by_set = forecasts(sets, plan, aux, goal, monitor, numbers=numbers, closed=closed)
    energies = [one.energies for one in by_set]
    save_predictions(folder, energies, transfers=np.stack([one.transfers for one in by_set]))
    return scores(energies, sets) | {"window": [one.window for one in by_set]}


LEARN = Work("pendulum", learn)
