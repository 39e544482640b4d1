"""The files of a page: what they hold adds up, stays small, and no name in them becomes HTML or a path."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from mclstm.evaluation.ensemble import ensemble_mean, with_members, without_cells
from mclstm.evaluation.score_tables import score_table
from mclstm.explain.water_balance import balance_table, water_balance
from mclstm.report.comparison import Section
from mclstm.report.page import PageModel
from mclstm.report.page.numbers import script_text
from mclstm.report.page.overview import overview
from mclstm.report.page.page_files import LIBRARY, digest, write_page
from mclstm.report.page.site_data import coarse_step, site_data, time_axis
from report.predictions import RECORDS, made, without_stores

HOSTILE = ("<script>window.hacked=1", "</script><img src=x>", "A")


def model(predictions: xr.Dataset, name: str = "mclstm", **fields: Any) -> PageModel:
    scores = score_table(predictions, ["nse", "kge"]) if "observed" in predictions else pd.DataFrame()
    balance = water_balance(balance_table(predictions), predictions)
    return PageModel(name, [predictions], scores, balance, "name: brook\n", records=RECORDS, **fields)


def content(text: str) -> Any:
    """The argument of the only call in a script."""
    return json.loads(re.fullmatch(r"mclstm\.\w+\((?:\d+,)?(.*)\);\n", text, flags=re.DOTALL)[1])


def test_a_page_has_a_script_for_every_site_and_its_library_beside_it(tmp_path: Path) -> None:
    page = write_page(tmp_path / "report.html", "brook", [model(made(HOSTILE))])
    files = {path.name for path in (tmp_path / "report_files").iterdir()}
    assert {*LIBRARY, "run.js", "page.css", "site-0.js", "site-1.js", "site-2.js"} <= files
    loaded = re.findall(r'(?:src|href)="(report_files/[^"]+)"', page.read_text())
    assert len(loaded) == 13
    assert all((tmp_path / name).is_file() for name in loaded)
    write_page(tmp_path / "report.html", "brook", [model(made(("A",)))])
    assert not (tmp_path / "report_files/site-1.js").exists()


@pytest.mark.parametrize("single_file", [False, True])
def test_names_never_become_html(tmp_path: Path, single_file: bool) -> None:
    title = "<script>alert(1)</script>"
    sections = [Section("</script>", "| a |\n|---|\n| &lt;b> |")]
    page = write_page(tmp_path / "p.html", title, [model(made(HOSTILE))], sections, single_file=single_file)
    for path in [page, *tmp_path.glob("p_files/*.js")]:
        text = path.read_text()
        assert "<script>window" not in text
        assert "<script>alert" not in text
        assert "</script><img" not in text
    assert "&lt;script&gt;alert(1)" in page.read_text()


def test_a_single_file_needs_no_other_and_its_policy_names_its_scripts(tmp_path: Path) -> None:
    page = write_page(tmp_path / "p.html", "brook", [model(made(("A", "B")))], single_file=True)
    text = page.read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["p.html"]
    assert not re.search(r"<(script|link|img)[^>]*(src|href)=", text)
    scripts = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert len(scripts) == 10
    assert all(f"'sha256-{digest(script)}'" in policy for script in scripts)
    assert "unsafe" not in policy
    block = re.search(r'<script type="application/json" id="site-1">(.*?)</script>', text)[1]
    assert json.loads(block)["targets"][0]["name"] == "flow"


def test_the_numbers_of_a_site_are_those_of_the_predictions() -> None:
    predictions = made(("A", "B"), steps=50)
    data = site_data([model(predictions), model(without_stores(predictions), "lstm")], 1)
    here, stores = predictions.isel(site=1), data["stores"]["mclstm"]
    (target,) = data["targets"]
    for values, name in ((data["inflow"], "inflow"), (target["observed"], "observed")):
        np.testing.assert_allclose(values, here[name], rtol=5e-4)
    np.testing.assert_allclose(target["simulated"]["lstm"], here["simulated"], rtol=5e-4)
    assert list(data["stores"]) == ["mclstm"]
    gone = sum(sum(outlet["flow"]) for outlet in stores["outlets"]) + stores["stored"][-1]
    # Every number has six digits.
    assert stores["entered"] is None
    assert stores["before"] + sum(data["inflow"]) == pytest.approx(gone, rel=1e-5)
    layers = np.sum([layer["values"] for layer in stores["layers"]], axis=0)
    np.testing.assert_allclose(layers, here["storage"].sum("cell"), rtol=1e-3)
    assert [layer["lost"] for layer in stores["layers"]] == [False, False, True]


def test_members_are_averaged_and_their_extremes_shown() -> None:
    one = made(("A",))
    two = one.assign(simulated=one["simulated"] * 2)
    data = site_data([model(one)._replace(ledgers=[one, two])], 0)
    (target,) = data["targets"]
    np.testing.assert_allclose(target["simulated"]["mclstm"], 1.5 * one["simulated"][0], rtol=5e-4)
    np.testing.assert_allclose(target["members"]["mclstm"][1], two["simulated"][0], rtol=5e-4)
    # Cells of two members have nothing in common.
    assert [layer["name"] for layer in data["stores"]["mclstm"]["layers"]] == ["all cells"]
    together = with_members(ensemble_mean(map(without_cells, (one, two))), [one, two], [0, 1])
    of_one_run = site_data([model(one)._replace(ledgers=[together])], 0)
    assert of_one_run["targets"] == data["targets"]
    assert of_one_run["stores"] == data["stores"]


def test_unknown_values_are_null_and_long_records_are_thinned() -> None:
    predictions = made(("A",), steps=3200)
    predictions["simulated"][0, 5] = np.nan
    data = site_data([model(predictions)], 0)
    assert data["targets"][0]["simulated"]["mclstm"][5] is None
    assert coarse_step(3200) == 3
    assert len(data["stores"]["mclstm"]["layers"][0]["values"]) == 1067
    assert len(script_text(data)) < 200_000
    assert time_axis(predictions) == {"first": 944006400, "step": 86400, "count": 3200, "every": 3}
    monthly = made(("A",), steps=4, freq="MS")
    assert len(time_axis(monthly)["at"]) == 4


def test_the_overview_says_how_good_and_where_the_mass_went() -> None:
    predictions = made(("A", "B"), steps=60)
    places = pd.DataFrame({"lat": [50.0], "lon": [9.5]}, index=["B"])
    section = Section("Tests", "Some words.\n\n* one\n* two", tables={"tests": pd.DataFrame({"p": [0.5]})})
    about = overview("brook", [model(predictions)], [section, Section()], ["no map"], places)
    assert about["sites"][0]["place"] == [None, None]
    assert about["sites"][1]["place"] == [50, 9.5]
    nse = score_table(predictions, ["nse"])["nse"]
    assert about["sites"][1]["scores"]["mclstm"]["nse"] == pytest.approx(nse[1], rel=1e-3)
    assert f"The median NSE is {nse.median():.2f} for MC-LSTM" in about["summary"]
    books = balance_table(predictions)
    share = books["outflow flow"].sum() / books["inflow"].sum()
    assert f"{share:.0%} left as flow" in about["summary"]
    (about_model,) = about["models"]
    assert about_model["certificate"]["holds"]
    assert [curve["label"] for curve in about_model["curves"]][:2] == ["training loss", "validation NSE"]
    assert about["sections"][0]["blocks"] == [{"text": "Some words."}, {"list": ["one", "two"]}]
    assert len(about["sections"]) == 1


def test_without_observations_or_stores_the_page_says_so() -> None:
    bare = without_stores(made(("A",))).drop_vars("observed")
    about = overview("brook", [model(bare, "lstm")], [], [], pd.DataFrame())
    assert "no observations" in about["summary"]
    assert about["models"][0]["certificate"] is None
    assert site_data([model(bare, "lstm")], 0)["targets"][0]["observed"] is None
