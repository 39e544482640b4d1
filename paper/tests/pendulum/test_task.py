"""The data sets: as many as the paper has, none of them used for tuning, and what is scored."""

import numpy as np
import pytest

from mclstm.errors import ConfigError
from mclstm_paper.options import Options
from mclstm_paper.pendulum.task import SETTINGS, TUNING, chosen_sets, errors, series, some_series


def test_the_settings_are_the_papers_and_those_of_tuning_are_others() -> None:
    assert len(set(SETTINGS)) == 120
    for field in ("amplitude", "length", "steps", "friction"):
        used, tuned = ({getattr(one, field) for one in many} for many in (SETTINGS, TUNING))
        assert used & tuned <= ({0.0} if field == "friction" else set())


def test_noise_is_of_the_setting_and_of_the_seed() -> None:
    quiet, noisy = some_series([0, 5])
    assert np.array_equal(quiet.exact, quiet.observed)
    assert quiet.exact.tolist() == noisy.exact.tolist()
    assert abs((noisy.observed - noisy.exact).std() / 0.01 - 1) < 5 / np.sqrt(2 * 2_000)
    again, other = series(SETTINGS[5], 5), series(SETTINGS[5], 6)
    assert np.array_equal(again.observed, noisy.observed)
    assert not np.array_equal(other.observed, noisy.observed)


def test_a_pendulum_starts_at_rest() -> None:
    for one in some_series([0, 119]):
        assert one.exact[0, 0] == 0.0
        assert one.exact[0, 1] == one.exact[:, 1].max()


def test_scored_are_the_500_steps_after_the_training_part() -> None:
    (one,) = some_series([5])
    prediction = one.exact.copy()
    prediction[:100] += 1.0
    prediction[600:] += 1.0
    assert errors([prediction], [one]) == [0.0]
    prediction[100:600, 0] += 0.5
    assert np.isclose(errors([prediction], [one])[0], 0.125)
    noise = one.observed - one.exact
    assert np.isclose(errors([one.exact], [one], noisy=True)[0], np.mean(noise[100:600] ** 2))


def test_sets_that_do_not_exist_are_refused() -> None:
    assert chosen_sets(Options(profile="paper"), "pendulum", quick=10) == list(range(120))
    with pytest.raises(ConfigError, match="pendulum has 120 data sets, numbered from 0"):
        chosen_sets(Options(seeds=2, first_seed=119), "pendulum", quick=10)
