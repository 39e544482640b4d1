"""Data counted at some times of the day: targets elsewhere unknown, mass elsewhere a mean of the training."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from mclstm.data.sequences import Rhythm, inside_sequences
from mclstm.data.sparse import as_counted
from mclstm.errors import ConfigError

SLOTS = ["06:00-07:00", "18:00"]
STEPS = 24 * 5
TRAIN = np.arange(STEPS) < 24 * 3


def series(seed: int = 0) -> xr.Dataset:
    source, both = np.random.default_rng(seed), ("site", "time")
    time = pd.date_range("2024-01-01", periods=STEPS, freq="h")
    values = {name: (both, source.random((2, STEPS)), {"role": role}) for name, role in
              (("in_a", "mass"), ("in_b", "mass"), ("out", "target"))}  # fmt: skip
    return xr.Dataset(values, {"site": ["A", "B"], "time": time})


def test_targets_are_known_at_the_scored_times_only() -> None:
    seen = as_counted(series(), SLOTS, None, TRAIN)
    known = np.isfinite(seen["out"].to_numpy())
    assert set(np.flatnonzero(known[0]) % 24) == {6, 7, 18}
    np.testing.assert_array_equal(seen["in_a"], series()["in_a"])
    np.testing.assert_array_equal(seen["out"].to_numpy()[known], series()["out"].to_numpy()[known])
    assert as_counted(series(), [], None, TRAIN).identical(series())


def test_a_slot_outside_the_sequences_is_refused() -> None:
    inside = inside_sequences(pd.DatetimeIndex(series()["time"]), Rhythm(begin="04:00", end="23:00")) & TRAIN
    assert np.isfinite(as_counted(series(), ["03:00-04:00"], None, inside)["out"]).any()
    with pytest.raises(ConfigError, match=r"no sequence of the training period has a step at '03:00'\. Give"):
        as_counted(series(), ["06:00", "03:00"], None, inside)


@pytest.mark.parametrize("how", ["mean-per-step", "mean"])
def test_mass_elsewhere_is_a_mean_of_the_training_days(how: str) -> None:
    raw, seen = series(), as_counted(series(), SLOTS, how, TRAIN)
    for name in ("in_a", "in_b"):
        days = raw[name].to_numpy().reshape(2, 5, 24)
        means = days[:, :3].mean(1) if how == "mean-per-step" else days[:, :3].mean((1, 2))[:, np.newaxis]
        expected = np.broadcast_to(means[:, np.newaxis], days.shape).copy()
        expected[..., [6, 7, 18]] = days[..., [6, 7, 18]]
        np.testing.assert_allclose(seen[name].to_numpy().reshape(2, 5, 24), expected, rtol=1e-14)


@pytest.mark.parametrize("how", ["mean-per-step", "mean"])
def test_later_days_change_nothing_of_what_training_sees(how: str) -> None:
    one, two = series(), series()
    for name in one.data_vars:
        two[name][:, ~TRAIN] = 99.0
    first, second = (as_counted(table, SLOTS, how, TRAIN).isel(time=TRAIN) for table in (one, two))
    assert first.identical(second)
