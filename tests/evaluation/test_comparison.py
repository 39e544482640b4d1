"""Models side by side: scores are those of `metrics`, ensembles average simulations, tests are scipy's."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mclstm.errors import DataError
from mclstm.evaluation.comparison import (
    COMPARED,
    PERFECT,
    ModelScores,
    pairwise_tests,
    summary,
    wilcoxon_test,
)
from mclstm.evaluation.ensemble import ensemble_mean, model_scores, require_alike
from mclstm.evaluation.metrics import METRICS
from support.flows import flows


def test_scores_are_those_of_the_metrics_and_of_hand_computation() -> None:
    members = [flows(seed=seed) for seed in (1, 2, 3)]
    single, together = model_scores("mclstm", members, conserving=True)
    assert (single.name, together.name, together.members) == ("mclstm", "mclstm-ensemble", 3)
    assert [len(model.frames) for model in (single, together)] == [3, 1]
    mean = np.mean([member["simulated"].to_numpy() for member in members], axis=0)
    for row, site in enumerate(("01", "02", "03")):
        o = members[0]["observed"].to_numpy()[row]
        for model, s in (
            (single.frames[1], members[1]["simulated"].to_numpy()[row]),
            (together.frames[0], mean[row]),
        ):
            for metric in COMPARED:
                assert model.loc[site, metric] == pytest.approx(METRICS[metric](s, o), rel=1e-12)
            assert model.loc[site, "nse"] == pytest.approx(
                1 - ((s - o) ** 2).sum() / ((o - o.mean()) ** 2).sum()
            )
            assert model.loc[site, "beta-nse"] == pytest.approx((s.mean() - o.mean()) / o.std())
            top = np.sort(s)[-8:].sum(), np.sort(o)[-8:].sum()  # 2 % of 400 days
            assert model.loc[site, "fhv"] == pytest.approx(100 * (top[0] / top[1] - 1))


def test_one_member_is_no_ensemble() -> None:
    assert [model.name for model in model_scores("lstm", [flows()], conserving=False)] == ["lstm"]


def test_members_must_be_of_the_same_sites_days_and_observations() -> None:
    first = flows()
    with pytest.raises(DataError, match="different sites"):
        require_alike(first, flows(("01", "02", "04")), ("a", "b"))
    with pytest.raises(DataError, match="different times"):
        require_alike(first, flows(start="1990-10-01"), ("a", "b"))
    with pytest.raises(DataError, match="different observations"):
        require_alike(first, first.assign(observed=first["observed"] + 1), ("a", "b"))
    np.testing.assert_array_equal(ensemble_mean([first])["simulated"], first["simulated"])


def test_a_summary_is_quartiles_over_sites_or_mean_and_deviation_over_seeds() -> None:
    frame = pd.DataFrame({"nse": [0.1, 0.5, 0.9, np.nan]}, index=["d", "b", "c", "a"])
    found = summary(ModelScores("sac-sma", (frame,)), "nse")
    assert found is not None
    assert found[:4] == pytest.approx((1, 0.5, 0.3, 0.7))
    np.testing.assert_array_equal(found.values, [np.nan, 0.5, 0.9, 0.1])  # in the order of the sites
    assert summary(ModelScores("sac-sma", (frame,)), "flv") is None
    seeds = summary(ModelScores("mclstm", (frame, frame + 0.2, frame - 0.1)), "nse")
    assert seeds is not None
    medians = [0.5, 0.7, 0.4]
    assert seeds.values == pytest.approx(medians)
    assert seeds.value == pytest.approx(np.mean(medians))
    assert seeds.high - seeds.value == pytest.approx(np.std(medians, ddof=1))


def test_tests_compare_distances_from_the_perfect_value() -> None:
    rng = np.random.default_rng(0)
    sites = [f"{number:02}" for number in range(40)]
    low = pd.DataFrame({"fhv": rng.normal(-20, 3, 40), "nse": rng.uniform(0.6, 0.8, 40)}, index=sites)
    high = pd.DataFrame({"fhv": rng.normal(5, 3, 40), "nse": rng.uniform(0.4, 0.7, 40)}, index=sites[::-1])
    table = pairwise_tests(
        [ModelScores("a", (low,)), ModelScores("b", (high,)), ModelScores("c", (low, low))]
    ).set_index("metric")
    assert list(table.index) == ["nse", "fhv"]  # of two models; one with seeds is left out
    aligned = high.reindex(sites)
    for metric, better in (("fhv", "b"), ("nse", "a")):
        distance = [(frame[metric] - PERFECT[metric]).abs() for frame in (low, aligned)]
        assert table.loc[metric, "p"] == pytest.approx(stats.wilcoxon(*distance).pvalue)
        assert table.loc[metric, "p values"] == pytest.approx(
            stats.wilcoxon(low[metric], aligned[metric]).pvalue
        )
        way = ("p better", "p worse") if better == "a" else ("p worse", "p better")
        assert table.loc[metric, way[0]] == table.loc[metric, "p"] < 0.001
        assert table.loc[metric, way[1]] > 0.99
        assert table.loc[metric, "sites"] == 40


def test_tests_pair_only_sites_that_both_have() -> None:
    one = pd.DataFrame({"nse": np.linspace(0.1, 0.9, 9)}, index=list("abcdefghi"))
    two = (one + np.linspace(0.01, 0.05, 9)[:, np.newaxis]).iloc[3:].assign(other=1.0)
    table = pairwise_tests([ModelScores("one", (one,)), ModelScores("two", (two,))])
    assert table.loc[0, "sites"] == 6
    assert table.loc[0, "p worse"] == pytest.approx(2 / 2**6)
    assert table.loc[0, "p better"] == 1


def test_wilcoxon_by_hand() -> None:
    # All five differences point one way: one of 2^5 sign patterns is as extreme.
    first, second = np.arange(1.0, 6.0), 2 * np.arange(1.0, 6.0)
    assert wilcoxon_test(first, second, "less").p == 1 / 32
    assert wilcoxon_test(first, second).p == 2 / 32
    assert wilcoxon_test(first, second, "greater").p == 1


def test_wilcoxon_drops_failed_runs() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.normal(0, 1, 30), rng.normal(0.5, 1, 30)
    expected = stats.wilcoxon(first[1:], second[1:])
    first[0] = np.nan
    assert wilcoxon_test(first, second) == pytest.approx((expected.statistic, expected.pvalue))


def test_wilcoxon_of_equal_values_finds_nothing() -> None:
    assert wilcoxon_test([1.0, 2.0], [1.0, 2.0]).p == 1
