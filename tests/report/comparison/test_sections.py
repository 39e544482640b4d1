"""Tables and figures of a comparison from scores."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from mclstm.evaluation.comparison import ModelScores, pairwise_tests
from mclstm.evaluation.ensemble import model_scores
from mclstm.explain.annual_cycle import by_month
from mclstm.explain.snow_cells import Period, SnowSum, by_temperature
from mclstm.explain.water_balance import long_term
from mclstm.report.comparison import DRAWN, at_most
from mclstm.report.comparison.balance_section import budyko_figure
from mclstm.report.comparison.basin_figures import basin_map, cumulative, distributions, line_styles
from mclstm.report.comparison.score_section import score_section, significance_section
from mclstm.report.comparison.snow_section import response_figure, snow_figure
from mclstm.report.style import LINE_COLOURS, render
from support.flows import flows

SITES = tuple(f"{number:02}" for number in range(12))


def models() -> list[ModelScores]:
    ours = model_scores("mclstm", [flows(SITES, seed=seed) for seed in (1, 2)], conserving=True)
    worse = np.linspace(0.1, 0.3, 12)[:, np.newaxis]  # no ties, for which scipy would try every permutation
    process = ours[-1].frames[0][["nse", "beta-nse"]] - worse
    return [*ours, ModelScores("sac-sma", (process,), True)]


def test_rows_and_the_table_of_scores() -> None:
    section = score_section(models(), "12 basins")
    row = next(row for row in section.rows if (row["model"], row["metric"]) == ("mclstm-ensemble", "nse"))
    assert set(row) == {"model", "setting", "metric", "n", "value", "low", "high", "values"}
    assert (row["n"], row["setting"], len(row["values"])) == (2, "12 basins", 12)
    single = next(row for row in section.rows if (row["model"], row["metric"]) == ("mclstm", "fhv"))
    assert (single["n"], len(single["values"])) == (2, 2)
    lines = {line.split("|")[1].strip(): line.split("|")[2:] for line in section.text.splitlines()}
    assert list(lines)[2:] == ["MC-LSTM single", "MC-LSTM ensemble", "SAC-SMA"]
    assert "±" in lines["MC-LSTM single"][1]
    assert f" {row['value']:.3f} ({row['low']:.3f} to {row['high']:.3f}) " == lines["MC-LSTM ensemble"][1]
    assert [cell.strip() for cell in lines["SAC-SMA"]].count("–") == 4
    assert list(section.tables["scores"]["model"].unique()) == ["mclstm", "mclstm-ensemble", "sac-sma"]


def test_tests_say_who_is_better() -> None:
    tests = pairwise_tests(models())
    line = significance_section(tests, ["mclstm-ensemble"]).text.splitlines()[-1]
    assert line.startswith("| SAC-SMA | better (< 0.001)")
    assert line.count("–") == 4
    (other,) = significance_section(tests, ["sac-sma"]).text.splitlines()[-1:]
    assert other.startswith("| MC-LSTM ensemble | worse (< 0.001)")


def test_distributions_count_sites() -> None:
    values, share = cumulative(pd.DataFrame({"nse": [0.4, np.nan, 0.2]}), "nse")
    assert (values.tolist(), share.tolist()) == ([0.2, 0.2, 0.4], [0.0, 0.5, 1.0])
    assert [part.size for part in cumulative(pd.DataFrame({"nse": [0.4]}), "flv")] == [0, 0]


def test_figures_draw_the_numbers_they_are_given() -> None:
    found = models()
    nse = found[1].frames[0]["nse"]
    places = pd.DataFrame({"lat": np.linspace(30, 48, 12), "lon": np.linspace(-120, -70, 12)}, index=SITES)
    drawn = basin_map(nse, places, "title")
    outlines, points = drawn.axes[0].collections[:2]
    assert len(outlines.get_segments()) > 48
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
        assert render(figure, "png").startswith(b"\x89PNG")


@pytest.mark.parametrize("length", [4, 20, 32, 40, 90])
def test_the_legend_of_the_distributions_is_not_cut(length: int) -> None:
    some = models()[1]
    many = [replace(some, name=f"{number:02d}" + "n" * (length - 2)) for number in range(14)]
    figure = distributions(many, [])
    figure.canvas.draw()
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1


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


def test_many_models_have_eight_colours_and_then_dashes() -> None:
    scores = models()[1].frames[0]
    many = [ModelScores(f"m{at}", (scores,), True) for at in range(10)]
    looks = line_styles(many, ["m9"])
    assert looks[9]["linewidth"] > looks[0]["linewidth"]  # type: ignore[operator]
    assert looks[9]["color"] == LINE_COLOURS[0]
    assert len({(str(look["color"]), look["dashes"]) for look in looks}) == 10
    assert len({look["color"] for look in looks}) == 8


def test_of_many_sites_only_some_have_figures() -> None:
    drawings = [{f"snow-{at}": Figure()} for at in range(DRAWN + 1)]
    shown, notes = at_most([{}, *drawings])
    assert list(shown) == [f"snow-{at}" for at in range(DRAWN)]
    assert "the first 12 of 13 pairs of model and site" in notes[0]
    assert at_most(drawings[:2]) == ({**drawings[0], **drawings[1]}, [])
