"""Every metric equals its published implementation on random series with gaps; the edges are decided here."""

import math
import warnings
from functools import cache, partial

import HydroErr
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from mclstm.errors import ConfigError
from mclstm.evaluation.metrics import METRICS, mae, peak_timing, score

# neuralhydrology's import chain uses interfaces its dependencies have deprecated; our own code stays strict.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from neuralhydrology.evaluation import metrics as nh

ORACLES = {
    "alpha-nse": nh.alpha_nse,
    "beta-nse": nh.beta_nse,
    "beta-kge": nh.beta_kge,
    "fhv": nh.fdc_fhv,
    "flv": nh.fdc_flv,
    "fms": nh.fdc_fms,
    # its default window for daily data, given here because looking it up meets a deprecated pandas name
    "peak-timing": partial(nh.mean_peak_timing, window=3),
    "rmse": nh.rmse,
}
CASES = 200


@cache
def random_series(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A flashy river with zeros and gaps, and a simulation that is late, biased, sometimes negative."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 1500))
    rain = rng.gamma(0.2, 8.0, n) * (rng.random(n) < 0.4)
    observed = np.convolve(rain, np.exp(-np.arange(40) / rng.uniform(1, 9)))[:n]
    simulated = np.roll(observed, rng.integers(-2, 3)) * rng.uniform(0.5, 1.5) + rng.normal(0, 0.3, n)
    observed[rng.random(n) < 0.05] = 0.0
    for series in (observed, simulated):
        series[rng.random(n) < rng.choice([0.0, 0.01, 0.2])] = np.nan
    return simulated, observed


@cache
def as_xarray(seed: int) -> tuple[xr.DataArray, xr.DataArray]:
    series = random_series(seed)
    dates = pd.date_range("1990-01-01", periods=len(series[0]))
    simulated, observed = (xr.DataArray(v, coords={"date": dates}, dims="date") for v in series)
    return simulated, observed


def by_neuralhydrology(name: str, seed: int) -> float:
    simulated, observed = as_xarray(seed)
    return float(ORACLES[name](observed, simulated))


@pytest.mark.parametrize("name", [n for n in ORACLES if n != "peak-timing"])
def test_equals_neuralhydrology(name: str) -> None:
    for seed in range(CASES):
        simulated, observed = random_series(seed)
        if name == "fhv" and np.isfinite(simulated + observed).sum() < 26:
            continue  # neuralhydrology divides zero by zero here; ours is checked below
        expected = by_neuralhydrology(name, seed)
        assert METRICS[name](simulated, observed) == pytest.approx(
            expected, rel=1e-10, abs=1e-10, nan_ok=True
        )


# neuralhydrology calls an xarray method whose meaning will change; only this oracle does.
@pytest.mark.filterwarnings("ignore:Behaviour of argmin/argmax:FutureWarning")
def test_peak_timing_equals_neuralhydrology() -> None:
    defined = 0
    for seed in range(CASES):
        simulated, observed = random_series(seed)
        expected = by_neuralhydrology("peak-timing", seed)
        assert peak_timing(simulated, observed) == pytest.approx(expected, abs=1e-10, nan_ok=True)
        defined += not math.isnan(expected)
    assert defined > CASES / 2  # the comparison is not one of NaN with NaN


@pytest.mark.parametrize(
    ("name", "oracle"),
    [("nse", HydroErr.nse), ("kge", HydroErr.kge_2009), ("rmse", HydroErr.rmse), ("mae", HydroErr.mae)],
)
def test_equals_hydroerr(name: str, oracle: object) -> None:
    for seed in range(CASES):
        simulated, observed = random_series(seed)
        keep = ~np.isnan(simulated + observed)  # dropped by hand, because HydroErr warns about each one
        expected = oracle(simulated[keep], observed[keep])  # type: ignore[operator]
        assert METRICS[name](simulated, observed) == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("length", [0, 1, 50])
def test_undefined_without_two_pairs(name: str, length: int) -> None:
    observed = np.full(length, np.nan)
    observed[:1] = 1.0
    assert math.isnan(METRICS[name](np.ones(length), observed))


@pytest.mark.parametrize("value", [0.0, 0.1, 3.0])
def test_constant_observation(value: float) -> None:
    rng = np.random.default_rng(0)
    scores = score(rng.random(300), np.full(300, value))
    undefined = {name for name, number in scores.items() if math.isnan(number)}
    without_mean = {"beta-kge", "fhv"} if value == 0 else set()
    assert undefined == {"nse", "kge", "alpha-nse", "beta-nse", "peak-timing"} | without_mean


def test_constant_simulation() -> None:
    scores = score(np.full(300, 0.5), np.random.default_rng(0).random(300))
    assert math.isnan(scores["kge"])  # no correlation exists
    assert scores["alpha-nse"] == 0
    assert scores["nse"] < 0.01


def test_zeros_on_both_sides() -> None:
    scores = score(np.zeros(100), np.zeros(100))
    assert scores["rmse"] == scores["mae"] == scores["flv"] == scores["fms"] == 0


def test_perfect_simulation() -> None:
    _, observed = random_series(7)
    scores = score(observed, observed)
    ones = {"nse", "kge", "alpha-nse", "beta-kge"}
    assert {name: round(number, 12) for name, number in scores.items()} == {
        n: float(n in ones) for n in METRICS
    }


def test_low_flow_sign() -> None:
    """As in neuralhydrology, flv is positive where simulated low flows vary less than observed ones."""
    observed = np.arange(1.0, 101.0)
    assert score(np.sqrt(observed), observed, ["flv"])["flv"] > 0


@pytest.mark.parametrize("day", [2, 397])
def test_peak_too_close_to_an_end(day: int) -> None:
    series = np.exp(-((np.arange(400.0) - day) ** 2))
    assert math.isnan(peak_timing(series, series))


@pytest.mark.parametrize("shift", range(-3, 4))
def test_one_peak(shift: int) -> None:
    days = np.arange(400.0)
    simulated, observed = np.exp(-((days - 200 - shift) ** 2)), np.exp(-((days - 200) ** 2))
    assert peak_timing(simulated, observed) == abs(shift)


def test_gap_beside_the_only_peak() -> None:
    observed = np.exp(-((np.arange(400.0) - 200) ** 2))
    observed[202] = np.nan
    assert math.isnan(peak_timing(observed, observed))


def test_overflowed_simulation_scores_badly_without_a_warning() -> None:
    scores = score(np.array([1.0, np.inf, 2.0]), np.array([1.0, 2.0, 3.0]))
    assert scores["nse"] == -math.inf


def test_series_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="two series of one length"):
        mae(np.zeros(3), np.zeros(4))


def test_score_keeps_the_order_asked_for() -> None:
    assert list(score(np.zeros(3), np.zeros(3), ["mae", "fhv"])) == ["mae", "fhv"]


def test_unknown_metric_suggests_the_nearest() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'peak-timing'"):
        score(np.zeros(3), np.zeros(3), ["peak-timming"])
    with pytest.raises(ConfigError, match="Use one of: nse"):
        score(np.zeros(3), np.zeros(3), ["zzz"])
