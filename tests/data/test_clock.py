"""Times of day and week as text, as steps and as harmonics."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from mclstm.data.clock import at_times, parse_slot, parse_time
from mclstm.data.features import clock_names, with_clock
from mclstm.errors import ConfigError, DataError


def series(freq: str, periods: int = 400) -> xr.Dataset:
    time = pd.date_range("2024-01-01", periods=periods, freq=freq)
    return xr.Dataset(coords={"site": ("site", ["A", "B"]), "time": ("time", time)})


@pytest.mark.parametrize("text", ["4:00", "24:00", "noon", "04:60", ""])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no time of a day\. Write it as '04:00'"):
        parse_time(text)


def test_a_slot_that_ends_before_it_begins_or_holds_no_step_is_refused() -> None:
    with pytest.raises(ValueError, match="ends before it begins"):
        parse_slot("23:00-01:00")
    with pytest.raises(ConfigError, match="no step of the data lies at '06:30'"):
        at_times(pd.date_range("2024-01-01", periods=24, freq="h"), ["06:30"])


def test_harmonics_have_their_period_and_are_orthogonal() -> None:
    plain = series("10min", 1008)  # a week
    waves = with_clock(plain, time_of_day=2, time_of_week=2, weekend=True)
    assert [str(name) for name in waves.data_vars] == clock_names(2, 2, weekend=True)
    columns = np.stack([waves[name].to_numpy()[0] for name in clock_names(2, 2, weekend=False)])
    np.testing.assert_allclose(columns @ columns.T / 504, np.eye(8), atol=1e-12)
    assert waves["week_cosine_1"].to_numpy()[0].argmin() == 504  # Thursday noon
    inside = np.asarray(plain["time"].to_index().day_of_week >= 5)
    np.testing.assert_array_equal(waves["weekend"].to_numpy(), np.stack([inside, inside]))


def test_harmonics_that_the_steps_cannot_tell_apart_are_refused() -> None:
    with_clock(series("h"), time_of_day=11, time_of_week=0, weekend=False)
    with pytest.raises(DataError, match="time_of_day: 12 needs 25 steps in a day or more; the data has 24"):
        with_clock(series("h"), time_of_day=12, time_of_week=0, weekend=False)
    with pytest.raises(DataError, match="time_of_day: 1 needs 3 steps in a day or more; the data has 1"):
        with_clock(series("D"), time_of_day=1, time_of_week=0, weekend=False)
    assert len(with_clock(series("D"), time_of_day=0, time_of_week=3, weekend=True).data_vars) == 7


def test_a_column_of_that_name_is_refused() -> None:
    taken = series("h").assign(weekend=(("site", "time"), np.zeros((2, 400))))
    with pytest.raises(DataError, match=r"already has a column 'weekend'\. Rename it, or change weekend"):
        with_clock(taken, 0, 0, weekend=True)
