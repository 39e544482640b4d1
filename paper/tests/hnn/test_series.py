"""The series of the comparison and the samples of derivatives."""

import numpy as np

from mclstm_paper.hnn.task import (
    DAMPED,
    PENDULUM,
    SETTINGS,
    damped_samples,
    samples,
    some_observed,
)
from mclstm_paper.pendulum.motion import DT


def test_there_are_24_series() -> None:
    assert len(set(SETTINGS)) == 24


def test_the_total_is_conserved() -> None:
    for one in some_observed([0, 18]):
        total = one.series.exact.sum(axis=1)
        amplitude = one.series.setting.amplitude
        assert np.allclose(total, 3 * (1 - np.cos(amplitude)), rtol=1e-7)  # m g l = 3
        assert np.array_equal(one.series.exact, one.series.observed)


def test_noise_is_on_every_column() -> None:
    (one,) = some_observed([1])
    assert abs((one.series.observed - one.series.exact).std() / 0.01 - 1) < 0.1
    (exact,) = some_observed([0])
    assert abs((one.motion - exact.motion).std() / 0.01 - 1) < 0.1


def test_derivatives_are_those_of_the_motion() -> None:
    data = samples(SETTINGS[18], seed=0)  # amplitude 1
    slope = (data.state[2:] - data.state[:-2]) / (2 * DT)
    # Central differences are off by dt^2 / 6 of the third derivative, at most 6^1.5.
    assert np.abs(slope - data.change[1:-1]).max() < DT**2 / 6 * 6**1.5
    assert np.allclose(data.change[:, 0], data.state[:, 1] / PENDULUM.mass)


def test_copies_differ_by_noise_on_states_only() -> None:
    quiet, noisy = samples(SETTINGS[0], seed=0), samples(SETTINGS[1], seed=0, copies=4)
    assert noisy.state.shape == (400, 2)
    assert np.array_equal(noisy.change, np.tile(quiet.change, (4, 1)))
    assert not np.array_equal(noisy.state[:100], noisy.state[100:200])


def test_damped_samples_lose_energy() -> None:
    data = damped_samples()
    slope = (data.state[2:] - data.state[:-2]) / (2 * DT)
    assert np.abs(slope - data.change[1:-1]).max() < DT**2
    small = data.state[:, 1] ** 2 + 1.5 * data.state[:, 0] ** 2  # p^2 / 2 m + m g q^2 / 2
    assert small[-1] / small[0] < 1.1 * np.exp(-DAMPED.friction * DT * (DAMPED.steps - 1))
