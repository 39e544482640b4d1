"""Ages and fates of mass add up to what was simulated, and a linear store has the ages it must have."""

import math

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

from mclstm.data.scaling import moments
from mclstm.data.sequences import Rhythm
from mclstm.data.windows import Tensors, tensors
from mclstm.errors import ConfigError, DataError
from mclstm.evaluation.simulate import simulate
from mclstm.explain.mass_ages import START, age_classes, exits, trace_ages
from mclstm.explain.mass_paths import entry_to_exit, origins
from mclstm.models.mass_model import MassModel, build_mass
from mclstm.models.output import Sizes

DAYS, SITES = 60, ["A", "B", "C"]


def rain(freq: str = "D", steps: int = DAYS) -> xr.Dataset:
    """Three sites with two mass inputs; the last one has data for the second half only."""
    source = np.random.default_rng(1)
    time = pd.date_range("2001-01-01", periods=steps, freq=freq)
    values = source.gamma(0.5, 4.0, (2, 3, steps))
    values[:, 2, : steps // 2] = np.nan
    series = xr.Dataset(coords={"site": ("site", SITES), "time": ("time", time)}, attrs={"step": freq})
    for name, mass in zip(("rain", "melt"), values, strict=True):
        series[name] = (("site", "time"), mass, {"role": "mass", "units": "mm/day"})
        series[f"{name}_filled"] = (("site", "time"), np.zeros((3, steps), dtype=bool))
    warm = np.where(np.isnan(values[0]), np.nan, source.normal(size=(3, steps)))
    series["warm"] = (("site", "time"), warm, {"role": "aux", "units": "degC"})
    series["flow"] = (("site", "time"), values.sum(0), {"role": "target", "units": "mm/day"})
    return series


def prepared(series: xr.Dataset) -> Tensors:
    return tensors(series, moments(series), torch.float32)


def model(seed: int = 0, **options: object) -> MassModel:
    torch.manual_seed(seed)
    return build_mass(Sizes(2, 1, 0, ["flow"]), None, hidden_size=4, **options)


@pytest.fixture(scope="module")
def series() -> xr.Dataset:
    return rain()


def test_classes_and_fates_are_all_of_the_simulated_mass(series: xr.Dataset) -> None:
    data, members = prepared(series), [model(0), model(1)]
    traced = trace_ages(members, data, series, age_classes(series["time"].to_index()))
    runs = [simulate(one, data, series, (0, DAYS), 0).predictions for one in members]
    outflow = sum(run["outflow"].to_numpy() for run in runs) / 2
    bound = 8 * torch.finfo(torch.float32).eps * math.sqrt(DAYS) * float(np.nansum(outflow))
    np.testing.assert_allclose(traced["outflow_by_age"].sum("age_class", skipna=False), outflow, atol=bound)
    entered = [float(series[name].isel(site=0).sum()) for name in ("rain", "melt")]
    np.testing.assert_allclose(traced["fate"].isel(site=0).sum("exit"), [*entered, 0.0], atol=bound)
    stored = sum(run["storage"].isel(time=-1).sum("cell").to_numpy() for run in runs) / 2
    np.testing.assert_allclose(traced["stored_by_age"].sum("age"), stored, atol=bound)
    np.testing.assert_allclose(traced["transit"].sum("age"), np.nansum(outflow, axis=1), atol=bound)
    later = trace_ages(members, data, series, age_classes(series["time"].to_index()), counted=20)["transit"]
    np.testing.assert_allclose(later.sum("age"), np.nansum(outflow[:, 20:], axis=1), atol=bound)
    assert np.isnan(traced["young_share"].sel(site="C")[: DAYS // 2]).all()
    assert not np.isnan(traced["young_share"].sel(site="C")[DAYS // 2 :]).any()


def test_the_median_age_of_a_linear_store(series: xr.Dataset) -> None:
    """Half of the outflow that steady rain causes is at most as old as n with (1 - o)^(n + 1) = 1 / 2."""
    store = build_mass(Sizes(2, 1, 0, ["flow"]), None, hidden_size=1, trash_cell=False, outlet="constant")
    steady = rain(steps=2000).isel(site=[0])
    steady["rain"][:] = 1.0
    steady["melt"][:] = 0.0
    traced = trace_ages([store], prepared(steady), steady, age_classes(steady["time"].to_index()))
    leaves = torch.sigmoid(store.layer.gates.b_o).item()
    expected = math.ceil(math.log(0.5) / math.log(1 - leaves)) - 1
    assert float(traced["median_age"][0, -1, 0]) == expected
    assert float(traced["young_share"][0, -1, 0]) == pytest.approx(1 - (1 - leaves) ** 70, rel=1e-5)


def test_the_origins_of_an_outflow_are_those_of_the_ages(series: xr.Dataset) -> None:
    data, one = prepared(series), model(initial_state=2.0)
    date = pd.Timestamp("2001-02-20")
    table = origins([one], data, series, "B", date, "flow")
    traced = trace_ages([one], data, series, age_classes(series["time"].to_index()))
    here = traced["outflow_by_age"].sel(site="B", time=date, outlet="flow")
    assert table["share"].sum() == pytest.approx(1.0)
    assert table["amount"].sum() == pytest.approx(float(here.sum()))
    young = table[table["date"] > date - pd.Timedelta("7D")]["amount"].sum()
    assert young == pytest.approx(float(here[0]))
    start = table[table["input"] == START]["amount"].item()
    assert start == pytest.approx(float(here[-1]))
    assert start > 0


def test_what_cannot_be_traced_is_said(series: xr.Dataset) -> None:
    with pytest.raises(ConfigError, match="does not conserve"):
        exits(model(head="linear"))
    data = prepared(series)
    with pytest.raises(DataError, match="no inputs at"):
        origins([model()], data, series, "C", pd.Timestamp("2001-01-05"), "flow")
    with pytest.raises(DataError, match="no site 'D'"):
        origins([model()], data, series, "D", pd.Timestamp("2001-01-05"), "flow")
    with pytest.raises(DataError, match="no step at"):
        origins([model()], data, series, "A", pd.Timestamp("2011-01-05"), "flow")


def test_classes_follow_the_step() -> None:
    hours = age_classes(pd.date_range("2001-01-01", periods=99, freq="h"))
    assert (hours.ends, hours.labels[0]) == ((24, 168, 720), "below 1 day")
    tens = age_classes(pd.date_range("2001-01-01", periods=99, freq="10min"))
    assert (tens.ends, tens.labels[1], tens.young) == ((6, 36, 144), "1 hour to 6 hours", 6)
    longer = age_classes(pd.date_range("2001-01-01", periods=99), longest=1000.0)
    assert (longer.ends, longer.young) == ((7, 30, 365, 1000), 70)
    months = age_classes(pd.date_range("2001-01-01", periods=99, freq="MS"))
    assert months.ends[0] == 3


def test_from_entry_to_exit_by_hour() -> None:
    """Every vehicle leaves or is inside at midnight; dwell times are those of the ages, entry by entry."""
    city = rain(freq="h", steps=24 * 6).isel(site=[0, 1])
    data, one = prepared(city), model(head="mcfc")
    paths = entry_to_exit([one], data, city, (0, 24 * 6), Rhythm("day", "04:00", "23:00"))
    assert paths["hour"].to_numpy().tolist() == list(range(4, 24))
    inside = city["time"].dt.hour >= 4
    for name in ("rain", "melt"):
        by_hour = city[name].where(inside, drop=True).groupby("time.hour").sum(...)
        np.testing.assert_allclose(paths["amount"].sel(input=name).sum("exit"), by_hour, rtol=1e-5)
    # The last hour can only leave at once.
    np.testing.assert_allclose(paths["dwell"].isel(hour=-1), 0.0, atol=1e-9)
    assert (paths["dwell"].isel(hour=0) > 60).all()
