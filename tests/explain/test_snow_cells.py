"""Snow in the cells: the right cells are found, and the held-out years have no part in finding them."""

from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest

from mclstm.explain import snow_cells as snow
from mclstm.explain.annual_cycle import by_month
from mclstm.explain.snow_cells import (
    Period,
    best_sums,
    by_temperature,
    calendar,
    cell_correlations,
    correlation,
    snow_sums,
    usual,
)

CELLS = (1, 4, 6)


def winters(start: str, years: int, seed: int) -> Period:
    """Snow that differs from winter to winter, split over three of seven cells; the others hold noise."""
    rng = np.random.default_rng(seed)
    days = pd.date_range(start, periods=365 * years)
    height = np.repeat(rng.uniform(50, 300, years), 365)
    season = np.clip(np.cos(2 * np.pi * (days.day_of_year.to_numpy() - 45) / 365), 0, None)
    swe = height * season
    storage = rng.gamma(1.0, 40.0, (len(days), 7))
    shares = rng.dirichlet([2.0, 2.0, 2.0], len(days))
    storage[:, CELLS] = swe[:, np.newaxis] * shares
    return Period(days, storage, swe)


@pytest.fixture(scope="module")
def periods() -> tuple[Period, Period]:
    return winters("1980-10-01", 6, 1), winters("1990-10-01", 6, 2)


def test_the_sum_that_holds_the_snow_is_found_and_scored_elsewhere(periods: tuple[Period, Period]) -> None:
    sums = snow_sums(*periods)
    assert [len(item.cells) for item in sums] == [1, 2, 3, 4]
    assert sums[2].cells == CELLS
    assert sums[2].held_out == pytest.approx(1.0)
    assert sums[2].anomaly == pytest.approx(1.0)
    assert sums[0].held_out < sums[1].held_out < sums[2].held_out


def test_every_sum_is_tried(periods: tuple[Period, Period]) -> None:
    choose = periods[0]._replace(swe=np.random.default_rng(3).gamma(1.0, 1.0, len(periods[0].days)))
    for cells, r in best_sums(choose):
        brute = {
            tried: np.corrcoef(choose.storage[:, tried].sum(1), choose.swe)[0, 1]
            for tried in combinations(range(7), len(cells))
        }
        best = max(brute, key=lambda tried: brute[tried])
        assert cells == best
        assert r == pytest.approx(brute[best])


def test_beyond_the_limit_the_best_smaller_sum_grows(
    periods: tuple[Period, Period], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snow, "MOST", 7)
    sums = [set(cells) for cells, _ in best_sums(periods[0])]
    assert all(smaller < larger for smaller, larger in pairwise(sums))
    assert sums[2] == set(CELLS)


def test_the_held_out_years_do_not_choose(periods: tuple[Period, Period]) -> None:
    choose, held = periods
    before = snow_sums(choose, held)
    swapped = held._replace(storage=held.storage[:, ::-1])
    after = snow_sums(choose, swapped)
    assert [item.cells for item in after] == [item.cells for item in before]
    assert [item.chosen for item in after] == [item.chosen for item in before]
    assert after[2].held_out < 0.8 < before[2].held_out
    other = snow_sums(choose._replace(storage=choose.storage[:, ::-1]), held)
    assert other[2].cells == tuple(sorted(6 - cell for cell in CELLS))


def test_periods_that_share_a_day_are_refused(periods: tuple[Period, Period]) -> None:
    with pytest.raises(ValueError, match="share days"):
        snow_sums(periods[0], periods[0])


def test_the_best_of_many_is_too_good_where_there_is_nothing_to_find() -> None:
    rng = np.random.default_rng(0)
    days = pd.date_range("1990-01-01", periods=60)
    choose, held = (
        Period(days + pd.Timedelta(days=shift), rng.random((60, 20)), rng.random(60)) for shift in (0, 100)
    )
    found = snow_sums(choose, held)[2]
    assert found.chosen > 0.4
    assert abs(found.held_out) < 0.2


def test_gaps_are_left_out_and_a_still_cell_has_no_correlation(periods: tuple[Period, Period]) -> None:
    choose = periods[0]
    gaps = choose.swe.copy()
    gaps[::3] = np.nan
    still = choose.storage.copy()
    still[:, 0] = 5.0
    r = cell_correlations(Period(choose.days, still, gaps))
    known = np.isfinite(gaps)
    assert np.isnan(r[0])
    assert r[1] == pytest.approx(np.corrcoef(still[known, 1], gaps[known])[0, 1])
    assert best_sums(Period(choose.days, still, gaps), 1)[0][0] != (0,)


def test_the_calendar_knows_the_season_but_no_anomaly(periods: tuple[Period, Period]) -> None:
    choose, held = periods
    assert 0.5 < calendar(choose, held) < 1.0
    season = usual(choose.days, choose.swe, held.days)
    always = held._replace(storage=np.column_stack([season] * 7))
    past = choose._replace(storage=np.column_stack([usual(choose.days, choose.swe, choose.days)] * 7))
    only = snow_sums(past, always, 1)[0]
    assert only.held_out == pytest.approx(correlation(season, held.swe))
    assert not abs(only.anomaly) > 1e-6  # NaN or nothing: it is never more or less than usual


def test_season_and_temperature_of_a_store_of_snow() -> None:
    days = pd.date_range("1990-10-01", periods=730)
    warmth = -12 * np.cos(2 * np.pi * (days.day_of_year.to_numpy() - 20) / 365)
    store = np.zeros(730)
    for day in range(1, 730):
        gain = 3.0 if warmth[day] < 0 else -min(store[day - 1], 2.0 * warmth[day])
        store[day] = store[day - 1] + gain
    months = by_month(days, {"cells": store})
    assert list(months.index[:3]) == [10, 11, 12]
    assert months["cells"].idxmax() in (3, 4)
    assert months.loc[8, "cells"] == 0
    classes = by_temperature(warmth, {"cells": store})
    assert (classes.loc[classes.index < 0, "cells"] > 0).all()
    assert classes.loc[3.0, "cells"] < 0
    assert classes["days"].sum() == 729
