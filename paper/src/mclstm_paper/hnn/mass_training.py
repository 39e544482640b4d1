"""A job of MC-LSTM in the comparison: the pendulum's models without an outlet, on series without friction."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mclstm.jobs.job import Result, Work
from mclstm.jobs.monitor import JobMonitor
from mclstm_paper.hnn.switches import LEAKED_MOTION
from mclstm_paper.hnn.task import Observed, some_observed
from mclstm_paper.pendulum.inputs import auxiliary
from mclstm_paper.pendulum.mass_training import forecasts
from mclstm_paper.pendulum.predictions import save_predictions, scores
from mclstm_paper.pendulum.settings import Recipe, recipe
from mclstm_paper.protocols import Protocol

__all__ = ["LEARN", "learn_series", "series_recipe"]


def series_recipe(model: str, protocol: Protocol) -> Recipe:
    """The pendulum's recipe; with the leak, the paper's own model sees the motion in place of the clock.

    >>> series_recipe("mclstm", "published").aux, series_recipe("mclstm", "stated").aux
    ('motion', 'sines')
    """
    settings = recipe(model, protocol)
    leaked = model == "mclstm" and LEAKED_MOTION.on(protocol)
    return settings._replace(aux="motion") if leaked else settings


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
    """A job: models learn the training parts of the series with these numbers, and are scored on the rest."""
    return learn_series(folder, monitor, goal, series_recipe(model, protocol), some_observed(seeds), seeds)


def learn_series(
    folder: Path,
    monitor: JobMonitor,
    goal: int,
    settings: Recipe,
    observed: Sequence[Observed],
    numbers: Sequence[int],
) -> Result:
    """Train a model for each series, keep what they predict in the folder, and score it."""
    sets = [one.series for one in observed]
    aux = auxiliary(settings.aux, sets, [one.motion for one in observed])
    closed = [True] * len(sets)  # a Hamiltonian network knows as much
    made = forecasts(sets, settings, aux, goal, monitor, numbers=numbers, closed=closed)
    energies = [one.energies for one in made]
    save_predictions(folder, energies, transfers=np.stack([one.transfers for one in made]))
    return scores(energies, sets) | {"window": [one.window for one in made]}


LEARN = Work("hnn-mass", learn)
