"""The paper's 120 data sets of a damped pendulum, others to choose recipes on, and how predictions score."""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from mclstm.errors import ConfigError
from mclstm_paper.options import Options
from mclstm_paper.pendulum.motion import POINTS, Floats, Pendulum, analytic, energies

__all__ = [
    "SCORED",
    "SETTINGS",
    "TUNING",
    "Series",
    "Setting",
    "chosen_sets",
    "errors",
    "series",
    "some_series",
]

SCORED = 500  # steps after the training part


class Setting(NamedTuple):
    """One data set: a pendulum, where it starts, how long one may look at it, and how well."""

    amplitude: float  # rad, at rest at the beginning
    length: float  # m
    steps: int  # points of the training part
    noise: float  # J, standard deviation of what is added to both energies
    friction: float  # 1/s


class Series(NamedTuple):
    """The energies of a data set; kinetic first."""

    setting: Setting
    exact: Floats  # (N, 2) J, the analytic solution
    observed: Floats  # (N, 2) J, with noise; a model sees the first `steps` of them


SETTINGS = [
    Setting(*one)
    for one in product((0.2, 0.4), (0.75, 1.0), (100, 200, 400), (0.0, 0.01), (0.0, 0.1, 0.2, 0.4, 0.8))
]
# Recipes are chosen on these: no amplitude, length or number of steps of theirs is one of the paper's, and of
# friction and noise only zero is.
TUNING = [
    Setting(*one) for one in product((0.25, 0.35), (0.85, 1.1), (120, 360), (0.0, 0.008), (0.0, 0.15, 0.5))
]


def series(setting: Setting, seed: int) -> Series:
    """The energies of a setting; the seed decides the noise.

    >>> one = series(SETTINGS[0], seed=0)
    >>> one.exact.shape, bool((one.exact == one.observed).all())
    ((1000, 2), True)
    """
    pendulum = Pendulum(length=setting.length, friction=setting.friction)
    exact = energies(pendulum, analytic(pendulum, setting.amplitude))
    noise = np.random.default_rng(seed).normal(0.0, setting.noise, size=(POINTS, 2))
    return Series(setting, exact, exact + noise)


def some_series(numbers: Sequence[int], settings: Sequence[Setting] = SETTINGS) -> list[Series]:
    """The data sets of these numbers, each with noise of its own.

    >>> [one.setting.steps for one in some_series([0, 119])]
    [100, 400]
    """
    first = 0 if settings is SETTINGS else 10_000  # tuning never sees noise of the paper's sets
    return [series(settings[number], first + number) for number in numbers]


def chosen_sets(options: Options, name: str, quick: int, every: Sequence[Setting] = SETTINGS) -> list[int]:
    """The numbers of the sets a user asks for: `--seeds` counts sets, by default all, or the first few.

    >>> chosen_sets(Options(seeds=2, first_seed=7), "pendulum", quick=10)
    [7, 8]
    """
    first = options.first_seed
    count = options.seeds or (quick if options.profile == "quick" else len(every))
    if first + count > len(every):
        raise ConfigError(
            f"{name} has {len(every)} data sets, numbered from 0; there is none with the number "
            f"{first + count - 1}. Choose fewer with --seeds and --first-seed."
        )
    return list(range(first, first + count))


def errors(predictions: Sequence[Floats], sets: Sequence[Series], *, noisy: bool = False) -> list[float]:
    """Mean squared error in J^2 over both energies and the 500 steps after the training part.

    predictions: (N, 2) J for each set · noisy: against the noisy energies instead of the analytic solution

    >>> one = series(SETTINGS[0], seed=0)
    >>> errors([one.exact], [one])
    [0.0]
    """
    scores = []
    for prediction, one in zip(predictions, sets, strict=True):
        scored = slice(one.setting.steps, one.setting.steps + SCORED)
        truth = one.observed if noisy else one.exact
        scores.append(float(np.mean((prediction[scored] - truth[scored]) ** 2)))
    return scores
