"""Whole sequences: where they begin, which are left out, and what is refused."""

import numpy as np
import pandas as pd
import pytest
import torch

from mclstm.data.sequences import Rhythm, inside_sequences, sequences
from mclstm.data.windows import Tensors
from mclstm.errors import ConfigError, DataError

HOURS = pd.date_range("2024-01-01", periods=24 * 9, freq="h")  # a Monday


def data(steps: int = len(HOURS), sites: int = 1) -> Tensors:
    x, a = torch.rand(sites, steps, 1), torch.zeros(sites, steps, 0)
    return Tensors(
        x, a, torch.zeros(sites, 0), torch.rand(sites, steps, 1), np.ones((sites, steps), dtype=bool)
    )


@pytest.mark.parametrize(
    ("rhythm", "first", "length", "count"),
    [
        (Rhythm(), 0, 24, 9),
        (Rhythm(begin="04:00", end="23:00"), 4, 20, 9),
        (Rhythm(begin="22:00", end="05:00"), 22, 8, 8),  # over midnight
        (Rhythm("week", "Tue 04:00", "Sun 23:00"), 28, 140, 1),
        (Rhythm("week"), 0, 168, 1),
    ],
    ids=str,
)
def test_sequences_begin_at_their_time_and_never_slide(
    rhythm: Rhythm, first: int, length: int, count: int
) -> None:
    where = sequences(data(), HOURS, (0, len(HOURS)), rhythm, observed=True).windows
    assert where.start[0] == first
    assert (where.length, where.scored, len(where.start)) == (length, length, count)
    assert where.every == 1  # nothing shifts


def test_sequences_that_lack_inputs_or_leave_the_period_are_left_out_and_counted() -> None:
    table = data(sites=2)
    table.covered[0, 27] = False  # on the second day
    result = sequences(table, HOURS, (1, 24 * 8), Rhythm(begin="00:00", end="05:00"), observed=True)
    days = [sorted(result.windows.start[result.windows.site == site] // 24) for site in (0, 1)]
    assert days == [[2, 3, 4, 5, 6, 7], [1, 2, 3, 4, 5, 6, 7]]  # the first day begins before the period
    assert result.left_out == 3


def test_training_needs_an_observation_and_simulation_does_not() -> None:
    table = data()
    table.y[:, :48] = torch.nan
    period = (0, len(HOURS))
    assert len(sequences(table, HOURS, period, Rhythm(), observed=True).windows.start) == 7
    assert len(sequences(table, HOURS, period, Rhythm(), observed=False).windows.start) == 9


def test_steps_inside_sequences() -> None:
    inside = inside_sequences(HOURS, Rhythm(begin="22:00", end="01:00"))
    assert np.flatnonzero(inside[:48]).tolist() == [0, 1, 22, 23, 24, 25, 46, 47]


def test_what_is_refused() -> None:
    whole, days = (0, len(HOURS)), pd.date_range("2024-01-01", periods=9)
    with pytest.raises(ConfigError, match=r"sequences.begin: no step lies at 04:30"):
        sequences(data(), HOURS, whole, Rhythm(begin="04:30"), observed=True)
    with pytest.raises(ConfigError, match="a day does not hold several whole steps"):
        sequences(data(9), days, (0, 9), Rhythm(), observed=True)
    with pytest.raises(DataError, match="no whole day from 04:00 with all inputs lies between"):
        sequences(data(), HOURS, (0, 20), Rhythm(begin="04:00"), observed=False)


def test_days_make_weeks() -> None:
    days = pd.date_range("2024-01-01", periods=15)
    where = sequences(data(15), days, (0, 15), Rhythm("week"), observed=True).windows
    assert where.start.tolist() == [0, 7]
