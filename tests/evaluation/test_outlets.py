"""Scores of several targets by hand: each outlet, their total, all of them together, and the headline."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from mclstm.errors import DataError
from mclstm.evaluation.ensemble import ensemble_mean, model_scores, require_alike
from mclstm.evaluation.outlets import require_target_names, targets, with_total
from mclstm.evaluation.score_tables import headline, median_score, score_table

NAN = float("nan")
# Simulated and observed of two outlets over four steps.
NORTH = [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 6.0]
SOUTH = [10.0, 20.0, 30.0, 40.0], [10.0, 24.0, NAN, 38.0]


def outlets(units: tuple[str, str] = ("veh/h", "veh/h"), sites: int = 1) -> xr.Dataset:
    """Both outlets at every site."""
    axes = {"site": [f"s{n}" for n in range(sites)], "time": pd.date_range("2024-01-01", periods=4, freq="h")}
    series = {}
    for (name, pair), unit in zip({"north": NORTH, "south": SOUTH}.items(), units, strict=True):
        for what, values in zip(("simulated", "observed"), pair, strict=True):
            series[f"{what}_{name}"] = (("site", "time"), [values] * sites, {"units": unit})
    series["inflow"] = (("site", "time"), np.ones((sites, 4)), {"units": units[0]})
    return xr.Dataset(series, axes)


def test_each_outlet_the_total_and_the_pool_by_hand() -> None:
    table = score_table(outlets(), ["nse", "rmse", "mae", "kge"]).set_index("target")
    assert list(table.index) == ["north", "south", "total", "pooled"]
    # north: errors 0, 0, 0, -2; observed mean 3, squared distances 4 + 1 + 0 + 9 = 14
    assert table.loc["north", ["nse", "rmse", "mae"]].tolist() == pytest.approx([1 - 4 / 14, 1.0, 0.5])
    # south: errors 0, -4, 2 of three steps; observed mean 24, squared distances 196 + 0 + 196 = 392
    expected = [1 - 20 / 392, np.sqrt(20 / 3), 2.0]
    assert table.loc["south", ["nse", "rmse", "mae"]].tolist() == pytest.approx(expected)
    # total, the steps that both observe: 11, 22, 44 against 11, 26, 44, mean 27, distances 256 + 1 + 289
    expected = [1 - 16 / 546, np.sqrt(16 / 3), 4 / 3]
    assert table.loc["total", ["nse", "rmse", "mae"]].tolist() == pytest.approx(expected)
    # all seven pairs together: squared errors 4 + 20, absolute errors 2 + 6
    expected = [1 - 24 / 406, np.sqrt(24 / 7), 8 / 7]
    assert table.loc["pooled", ["nse", "rmse", "mae"]].tolist() == pytest.approx(expected)
    assert np.isnan(table.loc["pooled", "kge"])


def test_the_headline_is_the_pool_in_one_unit_and_the_mean_in_two() -> None:
    assert headline(score_table(outlets(sites=3)))["site"].tolist() == ["s0", "s1", "s2"]
    assert median_score(outlets(sites=3)) == pytest.approx(1 - 24 / 406)
    other = outlets(("veh/h", "degC"))
    assert score_table(other)["target"].tolist() == ["north", "south"]
    assert median_score(other) == pytest.approx(((1 - 4 / 14) + (1 - 20 / 392)) / 2)
    spelt = outlets(("veh/h", "veh h-1"))
    assert median_score(spelt) == pytest.approx(1 - 24 / 406)


def test_an_idle_outlet_does_not_decide() -> None:
    idle = outlets()
    idle["observed_north"][:] = 0.0
    idle["simulated_north"][:] = 0.1
    table = score_table(idle, ["nse"]).set_index("target")["nse"]
    assert np.isnan(table["north"])
    assert table["pooled"] == pytest.approx(1 - (20 + 4 * 0.01) / 392)


def test_nothing_is_pooled_where_nothing_is_known() -> None:
    dark = outlets()
    for name in ("observed_north", "observed_south"):
        dark[name][:] = NAN
    assert score_table(dark, ["nse", "rmse", "mae"]).set_index("target").loc["pooled"][1:].isna().all()
    assert np.isnan(median_score(dark))


def test_the_total_is_observed_where_all_outlets_are_and_missing_without_one_of_them() -> None:
    whole = with_total(outlets())
    np.testing.assert_array_equal(whole["observed_total"].to_numpy()[0], [11.0, 26.0, NAN, 44.0])
    assert whole["simulated_total"].attrs == {"units": "veh/h", "long_name": "simulated total"}
    half = with_total(outlets().drop_vars("observed_south"))
    assert "simulated_total" in half
    assert "observed_total" not in half
    one = outlets()[["simulated_north", "observed_north"]]
    assert with_total(one) is one


def test_the_ensemble_has_the_targets_of_its_members_and_scores_by_target() -> None:
    other = outlets()
    other["simulated_north"] = other["simulated_north"] + 2.0
    mean = ensemble_mean([outlets(), other])
    assert {"simulated_north_low", "simulated_south_high"} <= set(mean.data_vars)
    assert targets(mean) == ["north", "south"]
    single, ensemble = model_scores("mclstm", [outlets(), other], True)
    assert single.frames[0].index.names == ["site", "target"]
    assert ensemble.members == 2
    assert single.by_target is not None
    assert ensemble.by_target is not None
    # errors of the second member 2, 2, 2, 0, of the mean 1, 1, 1, -1
    assert single.by_target.loc["north", "rmse"] == pytest.approx((1 + np.sqrt(3)) / 2)
    assert ensemble.by_target.loc["north", "rmse"] == pytest.approx(1.0)
    with pytest.raises(DataError, match="different observations"):
        require_alike(outlets(), outlets().drop_vars("simulated_south"), ("a", "b"))


def test_names_of_all_targets_together_are_refused_for_one_of_several() -> None:
    require_target_names(["total"])
    require_target_names(["north", "south"])
    with pytest.raises(DataError, match=r"'total' has the name .* Rename the column"):
        require_target_names(["north", "total"])
