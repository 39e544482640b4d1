"""From data sets to what members learn: energies without units, and what is seen beside the state."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from mclstm_paper.pendulum.floors import fitted_frequency
from mclstm_paper.pendulum.motion import POINTS, Floats
from mclstm_paper.pendulum.settings import Aux
from mclstm_paper.pendulum.task import Series

__all__ = ["Scaling", "auxiliary", "scaling", "sines"]

FREQUENCIES = (10, 20, 30, 40, 50, 100, 200, 400, 600)  # of the published temporal embedding


class Scaling(NamedTuple):
    """energy = shift + factor * value, for each set."""

    shift: Floats  # (S, 1, 2) J
    factor: Floats  # (S, 1, 2) J

    def values(self, energies: Floats) -> Floats:
        """Energies in J (S, N, 2) without units."""
        return (energies - self.shift) / self.factor

    def energies(self, values: Floats) -> Floats:
        """Values (S, N, 2) in J."""
        return self.shift + self.factor * values


def scaling(sets: Sequence[Series], separate: bool) -> Scaling:
    """Each energy by its own least and largest value in the training part, or both by the first total.

    >>> from mclstm_paper.pendulum.task import some_series
    >>> first = some_series([0])
    >>> one = scaling(first, separate=False)
    >>> one.values(first[0].exact[None])[0, 0].tolist(), one.shift.tolist()
    ([0.0, 1.0], [[[0.0, 0.0]]])
    """
    if separate:
        parts = [one.observed[: one.setting.steps] for one in sets]
        least, largest = (np.stack([limit(part, axis=0) for part in parts]) for limit in (np.min, np.max))
        return Scaling(least[:, None], (largest - least)[:, None])
    totals = np.array([one.observed[0].clip(min=0.0).sum() for one in sets])
    factor = np.repeat(totals[:, None, None], 2, axis=2)
    return Scaling(np.zeros_like(factor), factor)


def auxiliary(kind: Aux, sets: Sequence[Series], motion: Sequence[Floats] = ()) -> Tensor:
    """What a model sees beside the state, at every step and for each set: (S, N, A).

    motion: (N, 2) angle and velocity of each set, for "motion" only, which has the whole series in view
    """
    if kind == "sines":
        seen = np.stack([sines()] * len(sets))
    elif kind == "clock":
        seen = np.stack([clock(one) for one in sets])
    elif kind == "motion":
        seen = np.stack([one / np.abs(one).max(axis=0) for one in motion])
    else:
        seen = np.empty((len(sets), POINTS, 0))
    return torch.from_numpy(seen).float()


def sines() -> Floats:
    """Nine sine curves over the whole series: (N, 9)."""
    curves: Floats = np.sin(np.linspace(0.0, np.pi, POINTS)[:, None] * np.array(FREQUENCIES))
    return curves


def clock(one: Series) -> Floats:
    """Cosine and sine at the frequency of the energies in the training part: (N, 2)."""
    angle = fitted_frequency(one.observed[: one.setting.steps]) * np.arange(POINTS)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)
