"""Figures are written where they belong, the same bytes every time, whatever the predictions lack."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from mclstm.errors import DataError, StorageError
from mclstm.evaluation.ensemble import without_cells
from mclstm.report import run_figures as figures
from mclstm.report.cells import cell_states
from mclstm.report.flow_figures import flow_duration, scatter
from mclstm.report.hydrograph import hydrograph, outflow_layers, outlet_colours
from mclstm.report.run_figures import FIGURES, learning_curve, save_figures, telling_sites
from mclstm.report.site_series import site_series
from mclstm.report.style import COLOURS, LINE_COLOURS, OUTLETS, render
from mclstm.report.tuning_figure import tuning_figure
from report.predictions import RECORDS, made, without_stores


def stems(paths: list[Path]) -> set[str]:
    return {path.stem for path in paths}


@pytest.fixture
def one_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the names of files matter, one figure a site is enough."""
    monkeypatch.setattr(figures, "FIGURES", {"scatter": scatter})


def names(predictions: xr.Dataset) -> set[str]:
    """The figures of site A that have something to show."""
    return {name for name, _ in figures.draw_figures(predictions, ["A"])}


def test_every_figure_is_written_as_svg_and_png(tmp_path: Path) -> None:
    written = save_figures(made(), RECORDS, tmp_path)
    assert stems(written) == {f"{name}-A" for name in FIGURES} | {"learning-curve"}
    assert sorted(written) == sorted((tmp_path / "figures").iterdir())
    for path in written:
        if path.suffix == ".svg":
            ElementTree.fromstring(path.read_text())
        else:
            assert path.read_bytes().startswith(b"\x89PNG")


def test_a_rerun_in_another_process_gives_the_same_bytes(tmp_path: Path) -> None:
    code = (
        "import sys; sys.path[:0] = sys.argv[2:]; from report.predictions import RECORDS, made; "
        "from mclstm.report.run_figures import save_figures; save_figures(made(), RECORDS, sys.argv[1]); "
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    here = [path for path in sys.path if path]
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "other"), *here], check=True)
    with matplotlib.rc_context({"axes.facecolor": "red", "svg.hashsalt": "mine"}):
        for path in save_figures(made(), RECORDS, tmp_path):
            assert path.read_bytes() == (tmp_path / "other" / "figures" / path.name).read_bytes()
        assert matplotlib.rcParams["svg.hashsalt"] == "mine"


@pytest.mark.parametrize(
    "site",
    [
        "../x",
        "/etc/passwd",
        "<script>alert(1)</script>",
        "a b",
        "$\\frac{",
        "水位",
        "a\x00b\n",
        "..",
        "x" * 199,
    ],
)
@pytest.mark.usefixtures("one_figure")
def test_no_site_name_leaves_the_folder_or_breaks_a_figure(tmp_path: Path, site: str) -> None:
    written = save_figures(made((site,)), [], tmp_path / "run")
    assert len(written) == 2
    assert sorted(tmp_path.rglob("*.*")) == sorted(written)
    assert {path.parent for path in written} == {tmp_path / "run" / "figures"}
    for path in written:
        if path.suffix == ".svg":
            tags = {element.tag.split("}")[-1] for element in ElementTree.fromstring(path.read_text()).iter()}
            assert "script" not in tags


@pytest.mark.usefixtures("one_figure")
def test_sites_that_differ_in_case_have_files_of_their_own(tmp_path: Path) -> None:
    written = save_figures(made(("a", "A")), [], tmp_path)
    assert len({path.name.lower() for path in written}) == len(written) == 4


def test_of_many_sites_the_best_the_median_and_the_worst() -> None:
    predictions = made(tuple(f"s{number:02}" for number in range(100)), steps=30)
    sites = telling_sites(predictions)
    scores = [float(site_series(predictions, site).scores().split()[1]) for site in sites]
    assert len(sites) == 3
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 0.9
    assert telling_sites(predictions.drop_vars("observed")) == ["s00", "s01", "s02"]


@pytest.mark.usefixtures("one_figure")
def test_chosen_sites_only(tmp_path: Path) -> None:
    assert stems(save_figures(made(("A", "B", "C")), [], tmp_path, ["B"])) == {"scatter-B"}
    with pytest.raises(DataError, match="no site 'D'"):
        save_figures(made(), [], tmp_path, ["D"])


def test_without_observations_nothing_is_compared() -> None:
    predictions = made().drop_vars("observed")
    assert names(predictions) == {"hydrograph-A", "flow-duration-A", "cells-A"}
    with pytest.raises(DataError, match="no observations"):
        scatter(predictions, "A")


def test_without_stores_no_cells_and_no_balance() -> None:
    predictions = without_stores(made())
    assert names(predictions) == {"hydrograph-A", "scatter-A", "flow-duration-A"}
    assert len(hydrograph(predictions, "A").axes) == 3
    predictions["simulated"].attrs["units"] = "m3/s"
    assert len(hydrograph(predictions, "A").axes) == 2, "amounts in two units have no common axis"
    with pytest.raises(DataError, match="no stores"):
        cell_states(predictions, "A")


def test_several_targets_have_files_of_their_own() -> None:
    predictions = made()
    for name in ("simulated", "observed"):
        values = predictions[name]
        predictions = predictions.drop_vars(name).assign({f"{name}_a/b": values, f"{name}_flow": 2 * values})
    assert {"hydrograph-flow-A", "scatter-total-A", "cells-A", "outlets-A"} <= names(predictions)
    assert len(names(predictions)) == 11


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_very_short_periods(steps: int) -> None:
    for draw in FIGURES.values():
        assert render(draw(made(steps=steps), "A", ""), "png")


@pytest.mark.parametrize(("freq", "steps"), [("h", 50), ("15min", 30), ("MS", 30), ("h", 9000), ("YS", 70)])
def test_other_steps_than_days(freq: str, steps: int) -> None:
    for draw in FIGURES.values():
        assert render(draw(made(freq=freq, steps=steps, unit="m3/s"), "A", ""), "svg")


def test_long_series_and_many_cells_stay_small_files() -> None:
    predictions = made(freq="h", steps=9000, cells=70)
    assert len(render(hydrograph(predictions, "A"), "svg")) < 3_000_000
    shown = cell_states(predictions, "A")
    assert "64 fullest of 70" in shown.get_suptitle()


def test_gaps_late_starts_and_zeros() -> None:
    predictions = made(("A", "B"))
    for name in ("simulated", "inflow", "entered", "storage", "outflow"):
        predictions[name][0, :7] = np.nan
    predictions["observed"][0, ::3] = np.nan
    predictions["observed"][1] = np.nan
    series = site_series(predictions, "A")
    assert series.stores is not None
    assert series.stores.before == float(predictions["storage_before"][0])
    for site in ("A", "B"):
        for name, draw in FIGURES.items():
            if site == "A" or name != "scatter":
                assert render(draw(predictions, site, ""), "png")


def test_a_site_without_any_input_is_left_out(tmp_path: Path) -> None:
    predictions = made()
    for name in ("simulated", "inflow", "entered", "storage", "outflow", "storage_before"):
        predictions[name][:] = np.nan
    assert save_figures(predictions, [], tmp_path) == []


def test_nothing_flows_at_all() -> None:
    predictions = made() * 0.0
    for draw in FIGURES.values():
        assert render(draw(predictions, "A", ""), "png")


def labels(predictions: xr.Dataset) -> list[str]:
    return [axis.get_ylabel() for axis in hydrograph(predictions, "A").axes]


def test_units_stand_on_every_axis() -> None:
    assert labels(made()) == ["inflow (mm/day)", "flow (mm/day)", "storage (mm)", "cumulative (mm)"]
    hourly = labels(made(freq="h", unit="m3/s"))
    assert hourly == ["inflow (m³/s)", "flow (m³/s)", "storage (m³/s × 1 h)", "cumulative (m³/s × 1 h)"]


def test_the_balance_shows_what_is_missing_and_what_scaling_added() -> None:
    predictions = made()
    note = hydrograph(predictions, "A").axes[-1].texts[0].get_text()
    assert float(note.split()[2]) < 1e-14
    broken = predictions.assign(outflow=predictions["outflow"] * 0.5)
    assert float(hydrograph(broken, "A").axes[-1].texts[0].get_text().split()[2]) > 0.1
    scaled = predictions.assign(inflow=predictions["inflow"] * 0.5)
    legend = hydrograph(scaled, "A").axes[-1].get_legend()
    assert legend is not None
    assert "inflow as measured" in [text.get_text() for text in legend.get_texts()]


def test_the_balance_of_sequences_that_begin_anew_closes() -> None:
    first, second = made(steps=20), made(steps=20, start="2000-01-10")
    both = xr.concat([first.drop_vars("storage_before"), second.drop_vars("storage_before")], "time")
    both["sequence"] = (("site", "time"), np.repeat([[0, 1]], 20, axis=1))
    both["storage_before"] = first["storage_before"] + second["storage_before"]
    axis = hydrograph(both, "A").axes[-1]
    assert float(axis.texts[0].get_text().split()[2]) < 1e-14
    stores = site_series(both, "A").stores
    assert stores is not None
    assert stores.before == pytest.approx(3.0)  # a unit in each of three cells
    left = float(first["storage"].to_numpy()[0, -1].sum())
    assert stores.emptied[20] == pytest.approx(left - 3.0)
    assert np.count_nonzero(stores.emptied) == 1


def test_many_outlets_share_the_layers_of_the_balance() -> None:
    predictions = made(cells=9)
    flows = predictions["storage"].to_numpy() / 9.0
    stores = site_series(predictions, "A").stores
    assert stores is not None
    layers = outflow_layers(stores._replace(outflow=flows[0], outlets=[f"o{at}" for at in range(9)]))
    assert [name for name, _ in layers] == ["o0", "o1", "o2", "o3", "o4", "4 others"]
    np.testing.assert_allclose(np.sum([flow for _, flow in layers], axis=0), flows[0].sum(1))


def test_learning_curves_of_short_and_partial_journals() -> None:
    assert len(learning_curve(RECORDS).axes) == 3
    assert len(learning_curve(RECORDS[1:2]).axes) == 1
    lstm = [{**record, "mass_error": None} for record in RECORDS]
    assert len(learning_curve(lstm).axes) == 2
    for records in (RECORDS, RECORDS[:1], lstm):
        assert render(learning_curve(records), "svg")
    with pytest.raises(DataError, match="journal holds no loss"):
        learning_curve([{"update": 3, "loss": None}])


def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="Cannot make the folder"):
        save_figures(made(), [], tmp_path / "file")


def test_dates_of_another_century() -> None:
    assert render(hydrograph(made(start="1700-01-01"), "A"), "svg")


def legends(predictions: xr.Dataset) -> list[str]:
    shown = [axis.get_legend() for axis in hydrograph(predictions, "A").axes]
    return [text.get_text() for legend in shown if legend is not None for text in legend.get_texts()]


def test_the_total_of_several_members_is_no_cell() -> None:
    assert "all cells" in legends(without_cells(made()))
    shown = legends(made(cells=9))
    assert [label.split(",")[0] for label in shown if "cell" in label or "others" in label][
        -1
    ] == "cell 0 (losses)"
    assert not {"all cells"} & set(shown)


def test_losses_are_called_as_the_predictions_say_and_shown_only_where_there_are_some() -> None:
    predictions = made()
    assert {"cell 0 (losses)", "left as losses"} <= set(legends(predictions))
    predictions["outflow"].attrs["losses"] = "evaporation"
    evaporating = predictions.assign_coords(outlet=["flow", "evaporation"])
    assert {"cell 0 (evaporation)", "left as evaporation"} <= set(legends(evaporating))
    assert "cell 0 (evaporation)" in [text.get_text() for text in cell_states(evaporating, "A").axes[0].texts]
    none = predictions.isel(outlet=[0])
    none["outflow"].attrs.pop("losses")
    none["storage"].attrs["trash_cell"] = -1
    assert not [label for label in legends(none) if "losses" in label or "(" in label]


def test_flow_duration_is_logarithmic_and_says_how_often_nothing_flows() -> None:
    predictions = made(steps=400)
    predictions["observed"][0, :100] = 0.0
    axis = flow_duration(predictions, "A").axes[0]
    assert axis.get_yscale() == "log"
    assert axis.texts[0].get_text() == "observed: 25 % of steps at 0"
    low, high = axis.get_ylim()
    assert 0 < low < high
    below = predictions.assign(simulated=predictions["simulated"] - 5.0)
    assert flow_duration(below, "A").axes[0].get_yscale() == "linear"


def test_the_learning_curve_shows_the_best_validation_in_every_panel_or_that_there_is_none() -> None:
    axes = learning_curve(RECORDS).axes
    for axis in axes:
        assert 24 in [line.get_xdata()[0] for line in axis.lines if len(set(line.get_xdata())) == 1]
    assert axes[-1].get_xlabel() == "update (line: the best validation)"
    without = [record for record in RECORDS if "validation_nse" not in record]
    assert "no validation" in learning_curve(without).axes[-1].get_xlabel()


def test_at_most_eight_colours_that_differ_in_lightness_or_hue() -> None:
    assert len(LINE_COLOURS) == len(set(LINE_COLOURS)) == 8
    drawn = {COLOURS["storage"], COLOURS["observed"], *OUTLETS}
    assert len(drawn) == 8
    assert set(outlet_colours(["a", "b", "losses", "c", "d", "e"], "losses")) == {*OUTLETS[:5], "#999999"}


def test_a_setting_of_null_has_its_place_beside_numbers() -> None:
    trials = pd.DataFrame(
        {"state": "complete", "score": [0.4, 0.5, 0.6], "training.clip": [1.0, 2.0, None], "updates": 4}
    )
    panel = tuning_figure(trials, {}, set()).axes[-1]
    assert [label.get_text() for label in panel.get_xticklabels()] == ["1.0", "2.0", "null"]
