"""Tables say the same as the numbers, and foreign text cannot break them."""

import numpy as np
import pandas as pd
import pytest

from mclstm.evaluation.score_tables import balance_table, score_table
from mclstm.report.tables import markdown, mass_balance, side_by_side
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
    np.testing.assert_allclose(theirs["unaccounted"], ours["left as trash"] + ours["change of storage"])
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


def test_markdown_shows_small_large_and_missing_numbers() -> None:
    frame = pd.DataFrame({"a": [1.0, 1e-9, np.nan, -0.00004, 0.0, 1e12, np.inf], "n": range(7)})
    lines = markdown(frame, digits=3).splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:]] == [
        "1.000", "1.0e-09", "–", "-4.0e-05", "0.000", "1.0e+12", "inf",
    ]  # fmt: skip
    assert len({len(line) for line in lines}) == 1
    assert lines[3].split("|")[2].strip() == "1"


def test_markdown_of_a_table_side_by_side_names_its_rows() -> None:
    frame = pd.DataFrame({"site": ["A"], "nse": [0.8]})
    assert markdown(side_by_side({"lstm": frame}), 2).splitlines()[2] == "| nse | 0.80 |"


def test_foreign_text_stays_in_its_cell() -> None:
    frame = pd.DataFrame({"site|x": ["a|b\n| c |", "<script>", "\\|"]})
    lines = markdown(frame).splitlines()
    assert len(lines) == 5
    assert all(line.replace("\\\\", "").replace("\\|", "").count("|") == 2 for line in lines)
    assert "<" not in "".join(lines)


def test_an_empty_table_is_a_header() -> None:
    assert markdown(pd.DataFrame({"site": []})).splitlines()[0] == "| site |"
