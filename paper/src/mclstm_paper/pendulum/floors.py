"""Predictions that learn nothing about the motion, and the one that knows its form: a damped cosine.

They stand in every table. A model that is not below the first three has learned no phase; the last one shows
what a fit of six numbers to the training part achieves.
"""

from collections.abc import Callable

import numpy as np
from scipy.optimize import least_squares

from mclstm_paper.pendulum.motion import POINTS, Floats
from mclstm_paper.pendulum.task import Series

__all__ = ["FLOORS", "damped_cosine", "fitted_frequency"]

STEPS: Floats = np.arange(POINTS, dtype=np.float64)


def zero(one: Series) -> Floats:
    return np.zeros_like(one.exact)


def training_mean(one: Series) -> Floats:
    """The mean of each energy over the training part, at every step."""
    return np.broadcast_to(one.observed[: one.setting.steps].mean(axis=0), one.exact.shape)


def half_total(one: Series) -> Floats:
    """Half of the true total for each energy: everything about the decay, nothing about the phase."""
    return np.repeat(one.exact.sum(axis=1, keepdims=True) / 2, 2, axis=1)


def damped_cosine(one: Series) -> Floats:
    """Least squares on the training part; frequency and decay are searched, the rest is linear."""
    frequency, decay = fit(one.observed[: one.setting.steps])
    weights = linear_weights(one.observed[: one.setting.steps], frequency, decay)
    return basis(frequency, decay, POINTS) @ weights


def fitted_frequency(observed: Floats) -> float:
    """The angular frequency of the energies in radians per step, by least squares on observed (T, 2)."""
    return fit(observed)[0]


def fit(observed: Floats) -> tuple[float, float]:
    """Frequency and decay per step of exp(-decay t) (1, cos, sin) that fit both energies best."""

    def misfit(parameters: Floats) -> Floats:
        frequency, decay = parameters
        weights = linear_weights(observed, frequency, decay)
        return np.ravel(basis(frequency, decay, len(observed)) @ weights - observed)

    starts = [(frequency, decay) for frequency in np.linspace(0.05, 0.3, 26) for decay in (0.0, 0.01)]
    best = min(starts, key=lambda start: float(np.square(misfit(np.array(start))).sum()))
    bounds = ([0.01, 0.0], [0.6, 0.1])
    frequency, decay = least_squares(misfit, best, bounds=bounds, x_scale=(1e-2, 1e-2), xtol=1e-12).x
    return float(frequency), float(decay)


def basis(frequency: float, decay: float, steps: int) -> Floats:
    """exp(-decay t) times 1, cos(frequency t) and sin(frequency t): (steps, 3)."""
    t = STEPS[:steps]
    waves = np.stack([np.ones_like(t), np.cos(frequency * t), np.sin(frequency * t)], axis=1)
    return waves * np.exp(-decay * t)[:, None]


def linear_weights(observed: Floats, frequency: float, decay: float) -> Floats:
    """The amplitudes of the waves, (3, 2), that fit observed (T, 2) best."""
    weights = np.linalg.lstsq(basis(frequency, decay, len(observed)), observed, rcond=None)[0]
    return weights.astype(np.float64)


FLOORS: dict[str, Callable[[Series], Floats]] = {
    "zero": zero,
    "training-mean": training_mean,
    "half-total": half_total,
    "damped-cosine": damped_cosine,
}
