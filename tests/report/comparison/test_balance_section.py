"""Scores and mass balances of models side by side say the same as the numbers."""

import numpy as np
import pandas as pd
import pytest

from mclstm.evaluation.score_tables import score_table
from mclstm.explain.water_balance import balance_table
from mclstm.report.comparison.balance_section import mass_balance, side_by_side
from report.predictions import made, without_stores


def test_scores_of_models_side_by_side() -> None:
    predictions = made(("A", "B", "C"))
    worse = predictions.assign(simulated=0.5 * predictions["simulated"])
    both = side_by_side({"mclstm": score_table(predictions), "lstm": score_table(worse)})
    assert list(both.columns) == ["mclstm", "lstm"]
    assert both.loc["nse", "mclstm"] == score_table(predictions)["nse"].median()
    assert both.loc["beta-kge", "lstm"] == pytest.approx(0.5 * both.loc["beta-kge", "mclstm"])


def test_several_targets_have_rows_of_their_own() -> None:
    frame = pd.DataFrame({"site": ["A", "A"], "target": ["flow", "snow"], "nse": [0.5, 0.1]})
    assert side_by_side({"one": frame})["one"].to_dict() == {"flow nse": 0.5, "snow nse": 0.1}


def test_no_model_no_table() -> None:
    assert side_by_side({}).empty


def test_the_mass_balance_adds_up_for_both_kinds_of_models() -> None:
    predictions = made(("A", "B"))
    for case in (predictions, without_stores(predictions)):
        table = mass_balance(case)
        parts = table.drop(columns=["site", "inflow"]).sum(axis=1)
        np.testing.assert_allclose(parts, table["inflow"], rtol=1e-12)
    ours, theirs = mass_balance(predictions), mass_balance(without_stores(predictions))
    np.testing.assert_allclose(ours["unaccounted"], 0, atol=1e-10)
    np.testing.assert_allclose(theirs["left as flow"], ours["left as flow"])
    np.testing.assert_allclose(theirs["unaccounted"], ours["left as losses"] + ours["change of storage"])
    both = side_by_side({"mclstm": ours, "lstm": theirs}, over="mean")
    assert both.loc["inflow", "lstm"] == pytest.approx(balance_table(predictions)["inflow"].mean())
    assert np.isnan(both.loc["change of storage", "lstm"])


def test_input_scaling_is_named_and_the_balance_still_adds_up() -> None:
    predictions = made()
    predictions["entered"].attrs["scaled"] = 1
    table = mass_balance(predictions.assign(inflow=0.5 * predictions["inflow"]))
    left = table.drop(columns=["site", "inflow", "added by input scaling"]).sum(axis=1)
    np.testing.assert_allclose(table["inflow"] + table["added by input scaling"], left)


def test_targets_in_another_unit_are_not_counted() -> None:
    predictions = without_stores(made())
    predictions["simulated"].attrs["units"] = "m3/s"
    table = mass_balance(predictions)
    assert list(table.columns) == ["site", "inflow", "unaccounted"]
    assert table["unaccounted"].isna().all()
