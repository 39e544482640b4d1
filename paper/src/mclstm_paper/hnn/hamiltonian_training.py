"""A job of the Hamiltonian network: it learns the derivatives of one series, and its motion is integrated."""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from mclstm.errors import Interrupted
from mclstm.jobs.job import Result, Work
from mclstm.jobs.monitor import JobMonitor
from mclstm_paper.hnn.network import Hamiltonian, integrate
from mclstm_paper.hnn.task import DAMPED, PENDULUM, SETTINGS, Samples, damped_samples, samples, some_observed
from mclstm_paper.pendulum.motion import Floats, Motion, energies
from mclstm_paper.pendulum.predictions import save_predictions, scores
from mclstm_paper.pendulum.task import Setting

__all__ = ["DAMPED_FIELD", "HAMILTONIAN", "UPDATES", "learn_field", "predicted_energies"]

UPDATES = 2_001  # each with all samples, as in the authors' code
RATE, DECAY = 1e-3, 1e-4


def learn(folder: Path, monitor: JobMonitor, goal: int, *, model: str, seeds: list[int]) -> Result:
    """Learn each series with a network of its own; the errors are those of the integrated motion."""
    predictions = []
    for at, number in enumerate(seeds):
        setting, part = SETTINGS[number], monitor.part(at, len(seeds))
        network = learn_field(samples(setting, seed=40_000 + number), goal, seed=number, monitor=part)
        predictions.append(predicted_energies(network, setting))
    save_predictions(folder, predictions)
    return scores(predictions, [one.series for one in some_observed(seeds)])


def learn_damped(folder: Path, monitor: JobMonitor, goal: int, *, model: str, seeds: list[int]) -> Result:
    """Learn a pendulum with friction, for the figure of what a Hamiltonian network makes of it."""
    network = learn_field(damped_samples(), goal, seed=0, monitor=monitor)
    save_predictions(folder, [predicted_energies(network, DAMPED)])
    return {}


def learn_field(data: Samples, updates: int, seed: int, monitor: JobMonitor) -> Hamiltonian:
    """A network whose field has been fitted to derivatives, by Adam on all samples at once."""
    network = Hamiltonian(seed)
    optimiser = torch.optim.Adam(network.parameters(), lr=RATE, weight_decay=DECAY)
    state, change = (torch.from_numpy(value).float() for value in data)
    for update in range(updates):
        if (signum := monitor.stopped()) is not None:
            raise Interrupted(signum, "Stopped; this series begins again.")
        loss = field_error(network, state, change)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        monitor.show(update + 1, updates)
    return network


def field_error(
    network: Hamiltonian,
    state: Tensor,  # (B, 2)
    change: Tensor,  # (B, 2)
) -> Tensor:
    """Mean squared error of the derivatives."""
    return (network.field(state) - change).square().mean()


def predicted_energies(network: Hamiltonian, setting: Setting) -> Floats:
    """Kinetic and potential energy of the learned motion from the exact first state: (N, 2) J."""
    q, p = integrate(network, (setting.amplitude, 0.0)).T
    return energies(PENDULUM, Motion(np.asarray(q), p / PENDULUM.mass))


HAMILTONIAN = Work("hamiltonian", learn)
DAMPED_FIELD = Work("hamiltonian-friction", learn_damped)
