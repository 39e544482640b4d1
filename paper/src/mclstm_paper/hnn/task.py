"""The 24 series of a pendulum without friction, made as Greydanus et al. (2019) make theirs."""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from mclstm_paper.pendulum.motion import POINTS, Floats, Motion, Pendulum, analytic, energies, integrated
from mclstm_paper.pendulum.task import Series, Setting

__all__ = [
    "COPIES",
    "DAMPED",
    "PENDULUM",
    "SETTINGS",
    "Observed",
    "Samples",
    "damped_samples",
    "samples",
    "some_observed",
]

PENDULUM = Pendulum(length=1.0, mass=0.5, gravity=6.0)
SETTINGS = [
    Setting(amplitude, PENDULUM.length, steps, noise, friction=0.0)
    for amplitude, steps, noise in product((0.2, 0.3, 0.4, 1.0), (100, 200, 400), (0.0, 0.01))
]
COPIES = 25  # of each series, with noise of their own: half of the authors' 50, the other half is not learned
# The paper's figure of a Hamiltonian network under friction.
DAMPED = Setting(0.3, PENDULUM.length, 400, noise=0.0, friction=0.1)


class Observed(NamedTuple):
    """A series with the motion it comes from, both with noise."""

    series: Series
    motion: Floats  # (N, 2) angle and velocity


class Samples(NamedTuple):
    """What a Hamiltonian network learns from: states, and their exact derivatives."""

    state: Floats  # (B, 2) q and p
    change: Floats  # (B, 2) dq/dt and dp/dt


def some_observed(numbers: Sequence[int]) -> list[Observed]:
    """The series of these numbers, each with noise of its own.

    >>> [one.series.setting.amplitude for one in some_observed([0, 23])]
    [0.2, 1.0]
    """
    return [observed(SETTINGS[number], seed=20_000 + number) for number in numbers]


def observed(setting: Setting, seed: int) -> Observed:
    """Energies and motion of a setting; the seed decides the noise, which every column has."""
    motion = integrated(PENDULUM, setting.amplitude)
    exact = energies(PENDULUM, motion)
    source = np.random.default_rng(seed)
    noise, shaken = source.normal(0.0, setting.noise, size=(2, POINTS, 2))
    return Observed(Series(setting, exact, exact + noise), np.stack(motion, axis=1) + shaken)


def samples(setting: Setting, seed: int, copies: int = COPIES) -> Samples:
    """Copies of the training part that differ by the noise on q and p; derivatives have none.

    Without noise all copies are the same, and one of them has the same mean squared error as all.

    >>> samples(SETTINGS[0], seed=0).state.shape, samples(SETTINGS[1], seed=0).state.shape
    ((100, 2), (2500, 2))
    """
    state, change = states(integrated(PENDULUM, setting.amplitude), setting.steps)
    count = copies if setting.noise else 1
    noise = np.random.default_rng(seed).normal(0.0, setting.noise, size=(count, *state.shape))
    return Samples((state + noise).reshape(-1, 2), np.tile(change, (count, 1)))


def damped_samples() -> Samples:
    """The training part of a pendulum with friction, whose motion no Hamiltonian has."""
    pendulum = PENDULUM._replace(friction=DAMPED.friction)
    motion = analytic(pendulum, DAMPED.amplitude)
    q, velocity = (column[: DAMPED.steps] for column in motion)
    p = PENDULUM.mass * velocity
    dp = -DAMPED.friction * p - PENDULUM.mass * PENDULUM.gravity * q
    return Samples(np.stack([q, p], axis=1), np.stack([velocity, dp], axis=1))


def states(motion: Motion, steps: int) -> tuple[Floats, Floats]:
    """(q, p) of the first steps and their derivatives: dq/dt = p / m, dp/dt = -m g sin(q) at length 1."""
    q, velocity = (column[:steps] for column in motion)
    state = np.stack([q, PENDULUM.mass * velocity], axis=1)
    return state, np.stack([velocity, -PENDULUM.mass * PENDULUM.gravity * np.sin(q)], axis=1)
