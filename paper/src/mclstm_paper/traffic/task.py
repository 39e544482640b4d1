"""What is learned of a city: which steps are observed and scored, what stands for the others, and the split.

dense            all inputs are known, and every step is scored
sparse-step      15 minutes at 6, 12 and 18 o'clock are known and scored; the other inputs are the mean of
                 their step over the training days
sparse-overall   the same with the mean of all steps

The test is the same for all: every input is known, and every step is scored.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from mclstm.training.order import permutation
from mclstm_paper.traffic.days import City, Clock, Days, clock_inputs
from mclstm_paper.traffic.models import Scales

__all__ = ["READINGS", "Batch", "FlowTask", "imputed", "observed_steps"]

READINGS = ("dense", "sparse-step", "sparse-overall")
HOURS, AROUND = (6, 12, 18), (-1, 0, 1)  # one step before the hour to one after it, as published
VALIDATION = 0.15


class Batch(NamedTuple):
    """Days of one member each: x (E, T, B, M), a (E, T, B, A), y (E, T, B, O)."""

    x: Tensor
    a: Tensor
    y: Tensor


def observed_steps(days: Days) -> list[int]:
    """The steps of the three slots.

    For days of 288 steps from midnight they are 71 to 73, 143 to 145 and 215 to 217.
    """
    begin = days.first[0] - days.first[0].normalize()
    hours = [round((pd.Timedelta(hours=hour) - begin) % pd.Timedelta(days=1) / days.step) for hour in HOURS]
    return sorted((hour + around) % len(days.x) for hour in hours for around in AROUND)


def imputed(x: Tensor, steps: list[int], reading: str) -> Tensor:
    """Inputs (T, N, M) as they are known: the observed steps, and means in place of the others."""
    if reading == "dense":
        return x
    mean = x.mean(dim=1, keepdim=True) if reading == "sparse-step" else x.mean(dim=(0, 1), keepdim=True)
    known = mean.expand_as(x).clone()
    known[steps] = x[steps]
    return known


class FlowTask:
    """A city under one reading of the protocol, and the clock that a model sees."""

    def __init__(self, city: City, reading: str, clock: Clock) -> None:
        self.city, self.reading, self.clock = city, reading, clock
        steps = len(city.train.x)
        self.scored = list(range(steps)) if reading == "dense" else observed_steps(city.train)
        self.until = self.scored[-1] + 1  # what comes after the last scored step teaches nothing
        self.known = imputed(city.train.x, self.scored, reading)

    @cached_property
    def a(self) -> Tensor:
        """The auxiliary inputs of the training days, (T, N, A)."""
        return clock_inputs(self.city.train, self.clock)

    def test_a(self) -> Tensor:
        """The auxiliary inputs of the test days, (T, N, A)."""
        return clock_inputs(self.city.test, self.clock)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Inlets, auxiliary inputs, outlets."""
        return self.known.shape[-1], self.a.shape[-1], self.city.train.y.shape[-1]

    def split(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """The days of training and of validation, drawn by the seed: 85 % and 15 %."""
        # Epochs count up from 0, so the last number is free for the split.
        order = permutation(seed, 2**64 - 1, self.known.shape[1])
        count = round(VALIDATION * len(order))
        return order[count:], order[:count]

    def batch(self, days: np.ndarray) -> Batch:
        """The days (E, B) of the members, up to the last scored step."""
        index = torch.from_numpy(np.ascontiguousarray(days))
        parts = (value[: self.until] for value in (self.known, self.a, self.city.train.y))
        return Batch(*(value[:, index].movedim(1, 0).contiguous() for value in parts))

    def errors(self, y: Tensor, target: Tensor) -> Tensor:
        """Mean squared error of every member over the scored steps: (E, T, B, O) each -> (E,)."""
        if self.reading != "dense":
            y, target = y[:, self.scored], target[:, self.scored]
        return (y - target).square().mean(dim=(1, 2, 3))

    def scales(self) -> Scales:
        """The moments of what is known in training: of all inputs, and of the scored outputs."""
        parts = []
        for value in (self.known, self.city.train.y[self.scored]):
            parts += [value.mean(dim=(0, 1)), value.std(dim=(0, 1)).clamp(min=1e-6)]
        return Scales(*parts)
