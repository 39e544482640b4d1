"""What is predicted without a model: by hand."""

import numpy as np
import pytest

from mclstm_paper.pendulum.floors import FLOORS, fitted_frequency
from mclstm_paper.pendulum.task import Series, Setting, errors, some_series

SETTING = Setting(0.4, 1.0, 100, 0.0, 0.2)


def damped(frequency: float, decay: float) -> Series:
    t = np.arange(1_000.0)
    wave = np.cos(frequency * t)
    exact = np.exp(-decay * t)[:, None] * np.stack([1 - wave, 1 + wave], axis=1)
    return Series(SETTING, exact, exact)


def test_the_plain_ones() -> None:
    one = damped(0.15, 0.005)
    assert not FLOORS["zero"](one).any()
    assert np.allclose(FLOORS["training-mean"](one)[700], one.exact[:100].mean(axis=0))
    half = FLOORS["half-total"](one)
    assert np.allclose(half[:, 0], np.exp(-0.005 * np.arange(1_000.0)))
    assert np.array_equal(half[:, 0], half[:, 1])


@pytest.mark.parametrize(("frequency", "decay"), [(0.157, 0.0), (0.181, 0.02), (0.12, 0.0025)])
def test_the_damped_cosine_finds_frequency_and_decay(frequency: float, decay: float) -> None:
    one = damped(frequency, decay)
    assert fitted_frequency(one.observed[:100]) == pytest.approx(frequency, abs=1e-6)
    assert errors([FLOORS["damped-cosine"](one)], [one])[0] < 1e-8  # a decay of 0 is at the bound of the fit


def test_a_damped_cosine_is_all_there_is_to_these_data_sets() -> None:
    sets = some_series([7, 44, 119])
    scores = {name: errors([floor(one) for one in sets], sets) for name, floor in FLOORS.items()}
    assert max(scores["damped-cosine"]) < 0.01 * min(np.maximum(scores["half-total"], 1e-3))
