"""The paper's table, claims, blocks and figures from rows and scores."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mclstm.errors import DataError
from mclstm.evaluation.comparison import Scored, pairwise_tests
from mclstm.evaluation.ensemble import scored
from mclstm.explain.balance import long_term
from mclstm.explain.response import by_month, by_temperature
from mclstm.explain.snow import Period, SnowSum
from mclstm.report.comparison.balance_figure import budyko_figure
from mclstm.report.comparison.figures import basin_map, cumulative, distributions
from mclstm.report.comparison.paper import CONSERVING, PAPER, paper_value
from mclstm.report.comparison.rows import claims_of, merged, paper_rows, rows_of, update_results
from mclstm.report.comparison.score_table import comparison_table
from mclstm.report.comparison.snow_figure import response_figure, snow_figure
from mclstm.report.comparison.tests_table import tests_table as claims_matrix
from mclstm.report.style import rendered
from mclstm_paper.hydrology.page import FOLDER, HYDROLOGY, NONE
from support.flows import flows

SITES = tuple(f"{number:02}" for number in range(12))


def models() -> list[Scored]:
    ours = scored("mclstm", [flows(SITES, seed=seed) for seed in (1, 2)], conserving=True)
    worse = np.linspace(0.1, 0.3, 12)[:, np.newaxis]  # no ties, for which scipy would try every permutation
    process = ours[-1].frames[0][["nse", "beta-nse"]] - worse
    return [*ours, Scored("sac-sma", (process,), True)]


def test_rows_have_the_shape_of_result_files() -> None:
    rows = rows_of(models(), "447 basins", like_paper=True)
    row = next(row for row in rows if (row["model"], row["metric"]) == ("mclstm-ensemble", "nse"))
    assert set(row) == {"model", "setting", "metric", "n", "value", "low", "high", "paper", "values"}
    assert (row["n"], row["paper"], len(row["values"])) == (2, 0.744, 12)
    single = next(row for row in rows if (row["model"], row["metric"]) == ("mclstm", "fhv"))
    assert (single["n"], single["paper"], len(single["values"])) == (2, -13.9, 2)
    assert not [row for row in rows if row["model"] == "sac-sma" and row["metric"] in ("flv", "kge")]
    others = rows_of(models()[-1:], "447 basins", like_paper=False, keep_sites=False)
    assert all(row["values"] == [] and row["paper"] is None for row in others)


def test_cells_that_nothing_gives_are_the_papers_and_marked() -> None:
    rows = rows_of(models(), "447 basins", like_paper=True)
    full = rows + paper_rows("447 basins", rows)
    table = comparison_table(full)
    lines = {line.split("|")[1].strip(): line for line in table.splitlines() if line.startswith("|")}
    assert set(lines) >= {"MC-LSTM ensemble", "MC-LSTM single", "SAC-SMA", "VIC (regional)", "FUSE (904)"}
    assert "*-20.4 (-29.9 to -12.2)* †" in lines["SAC-SMA"]
    assert lines["VIC (regional)"].count("†") == 4
    assert "†" not in lines["MC-LSTM ensemble"]
    assert "±" in lines["MC-LSTM single"]
    assert " 0.744 " in lines["MC-LSTM ensemble"]
    assert lines["LSTM ensemble"].split("|")[2:5] == [" no ", " – ", " 0.763 "]  # not trained here: not ours
    assert lines["LSTM single"].split("|")[3:5] == [" – ", " 0.737 "]
    assert "† the paper's value" in table
    alone = comparison_table(rows_of(models(), "12 basins", like_paper=False))
    assert "paper" not in alone
    assert "†" not in alone


def test_every_number_of_the_papers_table_has_its_place() -> None:
    assert len(PAPER) == 12
    assert all(len(numbers) == 12 for numbers in PAPER.values())
    for name, numbers in PAPER.items():
        for at, metric in enumerate(("nse", "beta-nse", "flv", "fhv")):
            median, low, high = numbers[3 * at : 3 * at + 3]
            assert low < median < high, (name, metric)
            assert paper_value(name, metric) == median


def test_claims_say_who_is_better_both_ways() -> None:
    claims = claims_of(pairwise_tests(models()), "mclstm-ensemble")
    found = {claim["claim"]: claim for claim in claims}
    assert found["mclstm-ensemble is better than sac-sma in nse"]["holds"] is True
    assert found["sac-sma is better than mclstm-ensemble in nse"]["holds"] is False
    assert found["sac-sma is better than mclstm-ensemble in nse"]["p"] > 0.99
    whole = found["mclstm-ensemble is better in nse than every mass-conserving model with scores by site"]
    assert whole["holds"] is True
    assert whole["p"] == found["mclstm-ensemble is better than sac-sma in nse"]["p"]
    assert set(whole) == {"claim", "test", "p", "holds"}
    line = claims_matrix(claims, "mclstm-ensemble").splitlines()[-1]
    assert line.startswith("| SAC-SMA | better (< 0.001)")
    assert line.count("–") == 4


def test_a_result_file_keeps_other_rows_and_replaces_the_same(tmp_path: Path) -> None:
    rows = rows_of(models(), "447 basins", like_paper=True)
    file = tmp_path / "hydrology" / "stated.json"
    update_results(file, rows, [{"claim": "c", "test": "t", "p": 0.5, "holds": False}])
    other = {**rows[0], "setting": "30 basins"}
    content = json.loads(file.read_text())
    file.write_text(json.dumps(merged(content, [other], [])))
    update_results(file, [{**rows[0], "value": 0.9}], [{"claim": "c", "test": "t", "p": 0.01, "holds": True}])
    stale = {"claim": "mclstm is better than lstm in nse", "test": "t", "p": 0.01, "holds": True}
    update_results(file, [], [stale])
    update_results(file, [], [])
    assert stale not in json.loads(file.read_text())["claims"]
    update_results(file, [{**rows[0], "value": None, "n": 0}], [])  # the paper's alone: 0.9 was measured
    content = json.loads(file.read_text())
    assert content["experiment"] == "hydrology"
    assert len(content["rows"]) == len(rows) + 1
    assert sum(row["value"] == 0.9 for row in content["rows"]) == 1
    assert content["claims"] == [{"claim": "c", "test": "t", "p": 0.01, "holds": True}]
    file.write_text("[]")
    with pytest.raises(DataError, match="is not a result file"):
        update_results(file, rows, [])


def test_blocks_say_when_nothing_was_measured_and_show_what_was(tmp_path: Path) -> None:
    assert all(block(tmp_path).startswith("Not measured yet") for block in HYDROLOGY.values())
    assert HYDROLOGY["hydrology"](tmp_path) == NONE
    rows = rows_of(models(), "447 basins", like_paper=True)
    snow = {**rows[0], "setting": "basin 01031500, 4 cells", "metric": "swe-r", "value": 0.876, "paper": 0.91}
    claims = claims_of(pairwise_tests(models()), "mclstm-ensemble")
    tuned = {**snow, "model": "mclstm-tuned"}
    update_results(tmp_path / FOLDER / "stated.json", [*rows, snow, tuned], claims)
    assert "| SAC-SMA | yes |" in HYDROLOGY["hydrology"](tmp_path)
    assert "* mclstm-ensemble is better in nse than every" in HYDROLOGY["hydrology-tests"](tmp_path)
    assert "0.88" in HYDROLOGY["hydrology-snow"](tmp_path)
    assert "\n| MC-LSTM tuned | basin 01031500" in HYDROLOGY["hydrology-snow"](tmp_path)


def test_what_a_free_head_predicts_counts_as_no_mass() -> None:
    kept = {"mclstm", "mclstm-tuned-ensemble", "sac-sma"}
    free = {"lstm", "lstm-tuned", "ealstm-kratzert2019", "mclstm-evapotranspiration"}
    assert all(CONSERVING[name] for name in kept)
    assert not any(CONSERVING[name] for name in free)


def test_distributions_count_sites() -> None:
    values, share = cumulative(pd.DataFrame({"nse": [0.4, np.nan, 0.2]}), "nse")
    assert (values.tolist(), share.tolist()) == ([0.2, 0.2, 0.4], [0.0, 0.5, 1.0])
    assert [part.size for part in cumulative(pd.DataFrame({"nse": [0.4]}), "flv")] == [0, 0]


def test_figures_draw_the_numbers_they_are_given() -> None:
    found = models()
    nse = found[1].frames[0]["nse"]
    places = pd.DataFrame({"lat": np.linspace(30, 48, 12), "lon": np.linspace(-120, -70, 12)}, index=SITES)
    drawn = basin_map(nse, places, "title")
    points = drawn.axes[0].collections[0]
    order = np.argsort(-nse.to_numpy())
    np.testing.assert_allclose(points.get_offsets()[:, 1], places["lat"].to_numpy()[order])
    np.testing.assert_allclose(points.get_array(), nse.clip(0, 1).to_numpy()[order])
    curves = distributions(found, ["mclstm-ensemble"])
    assert [len(axis.lines) for axis in curves.axes] == [3, 3, 3, 3, 3, 3]  # two models and the perfect value
    assert curves.axes[0].lines[0].get_linewidth() > curves.axes[0].lines[1].get_linewidth()
    table = long_term(flows(SITES), pd.Series(2.0, index=SITES))
    ratios = budyko_figure(table, "model").axes[1].lines[-1]
    np.testing.assert_allclose(ratios.get_ydata(), table["runoff ratio simulated"])
    for figure in (drawn, curves, budyko_figure(table, "model")):
        assert rendered(figure, "png").startswith(b"\x89PNG")


def test_snow_figures_show_the_held_out_years() -> None:
    days = pd.date_range("1989-10-01", periods=400)
    storage = np.random.default_rng(0).gamma(1.0, 10.0, (400, 4))
    held = Period(days, storage, storage[:, [0, 2]].sum(1) + 1)
    figure = snow_figure("01031500", SnowSum((0, 2), 0.9, 0.8, 0.5), held, 0.7)
    swe, cells = figure.axes[0].lines
    np.testing.assert_allclose(cells.get_ydata(), storage[:, [0, 2]].sum(1))
    np.testing.assert_allclose(swe.get_ydata(), held.swe)
    assert "r = 0.80" in figure.axes[0].get_title(loc="left")
    series = {"swe": held.swe, "cells": storage.sum(1)}
    months, classes = by_month(days, series), by_temperature(10 * np.sin(np.arange(400) / 58), series)
    assert len(response_figure("x", months, classes).axes) == 2
    assert len(response_figure("x", months, None).axes) == 1
