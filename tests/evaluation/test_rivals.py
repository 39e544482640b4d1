"""Rivals by hand and against numpy's least squares; nothing leaks from test steps or from the day before."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from mclstm.errors import DataError
from mclstm.evaluation.regression import PENALTIES, coefficients, factors, left_out, shrunk
from mclstm.evaluation.rival_scores import require_rivals
from mclstm.evaluation.rivals import (
    RIVALS,
    Record,
    climatology,
    lagged,
    last_week,
    persistence,
    regression,
    regression_by_time,
    share_of_inflow,
)

NAN = float("nan")
EPS = np.finfo(np.float64).eps


def record(
    y: list[float] | np.ndarray, freq: str = "12h", start: str = "2024-01-01", **parts: np.ndarray
) -> Record:
    """One site and one target from a Monday on; nothing flows in."""
    flow = np.asarray(y, dtype=np.float64).reshape(1, -1, 1)
    time, blank = pd.date_range(start, periods=flow.shape[1], freq=freq), np.zeros((1, flow.shape[1], 0))
    fields = {"x": blank, "a": blank, "begins": np.arange(flow.shape[1]) == 0} | parts
    return Record(y=flow, time=time, **fields)


def until(steps: int, of: int) -> np.ndarray:
    return np.arange(of) < steps


def test_climatology_by_time_of_day_and_weekend() -> None:
    # Monday to Sunday, midnight and noon; then a Monday, a Saturday and a Sunday to predict.
    flow = record([1.0, 2.0, 3.0, 4.0, 5.0, NAN, 1.0, 2.0, 3.0, 4.0, 20.0, 30.0, 40.0, 50.0] + [NAN] * 14)
    forecast = climatology(flow, until(14, 28))[0, :, 0]
    # Midnights of workdays 1, 3, 5, 1, 3, noons 2, 4, 2, 4; weekends 20, 40 and 30, 50.
    assert forecast[14:16].tolist() == pytest.approx([13 / 5, 3.0])
    assert forecast[24:28].tolist() == pytest.approx([30.0, 40.0] * 2)


def test_a_weekend_that_training_lacks_has_the_mean_of_its_time_of_day() -> None:
    forecast = climatology(record([1.0, 2.0] * 5 + [NAN] * 4), until(10, 14))[0, :, 0]
    assert forecast[10:].tolist() == [1.0, 2.0, 1.0, 2.0]
    assert np.isnan(climatology(record([NAN] * 4), until(2, 4))).all()


def test_climatology_of_days_is_that_of_the_day_of_the_year() -> None:
    flow = record(np.arange(730.0), freq="D", start="2001-01-01")
    forecast = climatology(flow, until(730, 730))[0, :, 0]
    np.testing.assert_allclose(forecast[:365], np.arange(365) + 365 / 2)


def test_last_week_and_what_stands_for_it() -> None:
    flow = np.arange(28.0)
    flow[3] = NAN
    forecast = last_week(record(flow), until(14, 28))[0, :, 0]
    np.testing.assert_array_equal(np.delete(forecast, 17)[14:], np.delete(flow, 3)[:13])
    assert forecast[17] == climatology(record(flow), until(14, 28))[0, 17, 0]


def test_persistence_forgets_where_a_sequence_begins() -> None:
    begins = np.array([True, False, False, False, True, False])
    forecast = persistence(record([1.0, NAN, 3.0, 4.0, 5.0, 6.0], begins=begins), until(3, 6))
    assert forecast[0, :, 0].tolist() == [0.0, 1.0, 1.0, 3.0, 0.0, 5.0]


def test_lags_are_zero_before_a_sequence_begins() -> None:
    values = np.arange(1.0, 7.0).reshape(1, 6, 1)
    first = np.array([0, 0, 0, 3, 3, 3])
    assert lagged(values, first, 3)[0, :, :, 0].tolist() == [
        [1, 0, 0], [2, 1, 0], [3, 2, 1], [4, 0, 0], [5, 4, 0], [6, 5, 4],
    ]  # fmt: skip


def inflows(steps: int, masses: int = 2, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).gamma(2.0, 3.0, (1, steps, masses))


def test_share_of_inflow_finds_share_and_lag() -> None:
    x = inflows(60)
    flow = np.zeros(60)
    flow[2:] = 0.3 * x[0, :-2].sum(-1)
    forecast = share_of_inflow(record(flow, x=x), until(40, 60))
    np.testing.assert_allclose(forecast[0, 2:, 0], flow[2:], rtol=1e-12)
    # One known step is enough for a share, and none gives nothing.
    sparse = np.where(np.arange(60) == 7, flow, NAN)
    assert share_of_inflow(record(sparse, x=x), until(40, 60))[0, 7, 0] == pytest.approx(flow[7])
    assert np.isnan(share_of_inflow(record([NAN] * 60, x=x), until(40, 60))).all()


def test_ridge_is_least_squares_without_a_penalty_and_solves_its_equation_with_one() -> None:
    source = np.random.default_rng(1)
    features, values = source.normal(size=(40, 6)), source.normal(size=(40, 3))
    expected = np.linalg.lstsq(features, values, rcond=None)[0]
    np.testing.assert_allclose(
        coefficients(factors(features), values, 0.0), expected, rtol=1e3 * EPS, atol=1e3 * EPS
    )
    normal = np.linalg.solve(features.T @ features + 2.5 * np.eye(6), features.T @ values)
    np.testing.assert_allclose(
        coefficients(factors(features), values, 2.5), normal, rtol=1e3 * EPS, atol=1e3 * EPS
    )
    doubled = np.concatenate([features, features[:, :1]], axis=1)  # a column twice: the shortest solution
    expected = np.linalg.lstsq(doubled, values, rcond=None)[0]
    np.testing.assert_allclose(
        coefficients(factors(doubled), values, 0.0), expected, rtol=1e4 * EPS, atol=1e4 * EPS
    )


def test_left_out_is_what_fits_without_each_row_give() -> None:
    source = np.random.default_rng(2)
    features, values = source.normal(size=(7, 9)), source.normal(size=(7, 2))
    by_hand = 0.0
    for row in range(7):
        others = np.arange(7) != row
        solved = coefficients(factors(features[others]), values[others], 0.7)
        by_hand += float(((values[row] - features[row] @ solved) ** 2).sum())
    assert (left_out(factors(features), values, 0.7) ** 2).sum() == pytest.approx(by_hand, rel=1e-10)


def test_regression_equals_least_squares_on_lags_and_auxiliaries() -> None:
    steps, source = 400, np.random.default_rng(3)
    x, a = inflows(steps), source.normal(size=(1, steps, 3))
    begins = np.arange(steps) % 48 == 0
    whole = record(np.zeros(steps), freq="30min", x=x, a=a, begins=begins)
    design = np.concatenate(
        [lagged(x, whole.first(), 13)[0].reshape(steps, -1), a[0], np.ones((steps, 1))], axis=1
    )
    flow = design @ source.normal(size=(design.shape[1], 2)) + source.normal(0, 1e-3, (steps, 2))
    flow[5:9, 1] = NAN  # the outlets are not known at the same steps
    train = until(300, steps)
    forecast = regression(whole._replace(y=flow[np.newaxis]), train)[0]
    for outlet in range(2):
        known = train & np.isfinite(flow[:, outlet])
        solved = np.linalg.lstsq(design[known], flow[known, outlet], rcond=None)[0]
        # The smallest penalty, 1e-3, is not zero: singular values of 300 rows make it 1e-3 / 300 of them.
        np.testing.assert_allclose(forecast[:, outlet], design @ solved, rtol=0, atol=2e-3)


@pytest.mark.parametrize("rival", [regression, regression_by_time])
def test_the_lags_are_those_that_the_flow_needs_as_far_as_a_sequence_is_long(
    rival: Callable[..., np.ndarray],
) -> None:
    steps, source = 24 * 40, np.random.default_rng(7)
    x = inflows(steps, 1)
    late = np.zeros(steps)
    late[30:] = 0.5 * x[0, :-30, 0]  # leaves 30 steps after it came
    whole, train = record(late + source.normal(0, 0.1, steps), freq="h", x=x), until(24 * 30, steps)
    np.testing.assert_array_equal(rival(whole, train), rival(whole, train, (37,)))
    soon = whole._replace(y=(0.5 * x + source.normal(0, 0.1, x.shape)))
    np.testing.assert_array_equal(rival(soon, train), rival(soon, train, (13,)))
    days = whole._replace(begins=np.arange(steps) % 24 == 0)  # no lag reaches back beyond 24 steps
    np.testing.assert_array_equal(rival(days, train), rival(days, train, (13,)))


def by_day(days: int, seed: int) -> Record:
    """A share of the inflow leaves at once, 0.2 at midnight and 0.8 at noon; every day begins anew."""
    steps, source = 24 * days, np.random.default_rng(seed)
    x, hour = inflows(steps, 1, seed), np.arange(24 * days) % 24
    flow = (0.5 - 0.3 * np.cos(2 * np.pi * hour / 24)) * x[0, :, 0] + source.normal(0, 0.1, steps)
    return record(flow, freq="h", x=x, begins=hour == 0)


def test_regression_by_time_learns_the_hours_and_falls_back_to_the_common_map() -> None:
    data, train = by_day(20, 0), until(24 * 14, 24 * 20)
    errors = {
        name: float(np.sqrt(((RIVALS[name](data, train) - data.y)[:, ~train] ** 2).mean()))
        for name in ("regression", "regression-by-time")
    }
    assert errors["regression-by-time"] < 0.5 * errors["regression"]
    # One day of training tells nothing about differences between hours: the common map stays.
    short = until(24, 24 * 20)
    common, own = (RIVALS[name](data, short)[:, 24:] for name in errors)
    assert np.abs(own - common).max() < 0.5 * np.abs(common).max()


@pytest.mark.parametrize("name", RIVALS)
def test_no_rival_learns_from_other_steps_than_those_of_training(name: str) -> None:
    data = by_day(21, 1)
    train = until(24 * 7, 24 * 21)
    expected = RIVALS[name](data, train)
    assert np.isfinite(expected).all()
    later = data._replace(y=np.where(train[:, np.newaxis], data.y, 1e6), x=data.x.copy())
    later.x[:, -24:] += 1.0  # one more day of inflow, after all that is compared
    compared = slice(0, 24 * 7 + 1) if name == "persistence" else slice(0, 24 * 14)
    np.testing.assert_allclose(RIVALS[name](later, train)[:, compared], expected[:, compared], rtol=1e-12)


def test_sites_do_not_learn_from_each_other() -> None:
    one, two = by_day(10, 4), by_day(10, 5)
    both = one._replace(
        **{key: np.concatenate([getattr(one, key), getattr(two, key)]) for key in ("x", "a", "y")}
    )
    train = until(24 * 7, 240)
    for name, rival in RIVALS.items():
        parts = np.concatenate([rival(one, train), rival(two, train)])
        np.testing.assert_allclose(rival(both, train), parts, rtol=1e-9, err_msg=name)


def test_rivals_that_steps_cannot_have_are_refused() -> None:
    require_rivals(RIVALS, pd.date_range("2024-01-01", periods=9, freq="10min"))
    require_rivals(["regression", "last-week"], pd.date_range("2024-01-01", periods=9))
    with pytest.raises(
        DataError, match=r"regression-by-time needs steps shorter than a day\. Choose regression"
    ):
        require_rivals(["regression-by-time"], pd.date_range("2024-01-01", periods=9))
    with pytest.raises(DataError, match="last-week needs steps that divide a week"):
        require_rivals(["last-week"], pd.date_range("2024-01-01", periods=9, freq="5D"))


def test_regression_by_time_equals_ridge_by_the_hour_with_every_day_left_out_once() -> None:
    data, train = by_day(9, 6), until(24 * 6, 24 * 9)
    common = regression(data, train, (13,))[0]
    lags = lagged(data.x, data.first(), 13)[0].reshape(len(train), -1)
    scaled = (lags - lags[train].mean(0)) / lags[train].std(0)
    features, scale = np.concatenate([np.ones((len(train), 1)), scaled], axis=1), data.y[0][train].std()
    hour, rest = np.arange(len(train)) % 24, np.full_like(common, NAN)
    rest[train] = shrunk([(scaled[train], (data.y[0] - data.y[0][train].mean())[train] / scale)]).left_out[0]

    def solved(rows: np.ndarray, penalty: float) -> np.ndarray:
        x = features[rows]
        return np.linalg.solve(x.T @ x + penalty * np.eye(x.shape[1]), x.T @ rest[rows])

    def error(penalty: float) -> float:
        steps = np.flatnonzero(train)
        others = [train & (hour == hour[step]) & (np.arange(len(train)) != step) for step in steps]
        left = [
            rest[step] - features[step] @ solved(rows, penalty)
            for step, rows in zip(steps, others, strict=True)
        ]
        return float(np.square(left).sum())

    best = min(PENALTIES, key=error)
    assert PENALTIES[0] < best < PENALTIES[-1]
    expected = common.copy()
    for time in range(24):
        here = hour == time
        expected[here] += scale * (features[here] @ solved(here & train, best))
    np.testing.assert_allclose(regression_by_time(data, train, (13,))[0], expected, rtol=1e-9)
