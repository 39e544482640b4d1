"""Every verb that ends with results ends with the path of its page."""

import json
from pathlib import Path

import pandas as pd
import pytest
import xarray as xr

from mclstm import pipeline
from mclstm.cli.main import main
from mclstm.deploy import page_ages
from mclstm.deploy.result_page import page_of_run
from mclstm.run import load_run
from support.small_city import city_run
from support.small_run import brook, brook_file, trained


def last_line(text: str) -> Path:
    word, _, path = text.strip().splitlines()[-1].partition(" ")
    assert word == "page"
    return Path(path)


def about(page: Path) -> dict[str, object]:
    text = (page.parent / f"{page.stem}_files/run.js").read_text()
    return json.loads(text.removeprefix("mclstm.run(").removesuffix(");\n"))


def site(page: Path) -> dict[str, object]:
    text = (page.parent / f"{page.stem}_files/site-0.js").read_text()
    return json.loads(text.removeprefix("mclstm.site(0,").removesuffix(");\n"))


def test_train_and_predict_end_with_their_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = brook_file(tmp_path, updates=2)
    assert main(["train", str(config), "--out", str(tmp_path / "runs"), "--quiet"]) == 0
    page = last_line(capsys.readouterr().out)
    run = page.parent
    assert (run / "config.yaml").is_file()
    assert "1 site" not in about(page)["summary"]
    assert about(page)["models"][0]["manifest"]["variables"]["rain"]["role"] == "mass"
    with xr.open_dataset(run / "evaluation/test/predictions.nc") as file:
        simulated = site(page)["targets"][0]["simulated"]["mclstm"]
        assert simulated == pytest.approx(file["simulated"][0].to_numpy().tolist(), rel=1e-3)
    table = pd.read_csv(tmp_path / "brook.csv").drop(columns="flow")
    table.to_csv(tmp_path / "new.csv", index=False)
    state = ["--state-out", str(tmp_path / "state.safetensors")]
    assert main(["predict", str(run), "--data", str(tmp_path / "new.csv"), *state]) == 0
    page = last_line(capsys.readouterr().out)
    assert page == run / "predictions/new.html"
    assert "no observations" in about(page)["summary"]
    assert site(page)["ages"]["mclstm"]["peaks"]
    days = [cell["days"] for cell in site(page)["cells"]["mclstm"]]
    assert days == sorted(days)
    later = table.assign(
        date=(pd.to_datetime(table["date"]) + pd.Timedelta(days=240)).dt.strftime("%Y-%m-%d")
    )
    later.to_csv(tmp_path / "later.csv", index=False)
    words = ["predict", str(run), "--data", str(tmp_path / "later.csv"), "--json", "--state-in", state[1]]
    assert main(words) == 0
    page = Path(json.loads(capsys.readouterr().out)["page"])
    assert "saved state" in about(page)["models"][0]["why_no_ages"]


def test_a_city_has_all_its_outlets_and_says_why_it_has_no_ages(tmp_path: Path) -> None:
    run = city_run(tmp_path)
    page = page_of_run(run, pipeline.evaluate(run, figures=False))
    assert "begins anew" in about(page)["models"][0]["why_no_ages"]
    content = site(page)
    assert [target["name"] for target in content["targets"]] == ["out_east", "out_south", "total"]
    stores = content["stores"]["mclstm"]
    gone = sum(sum(filter(None, outlet["flow"])) for outlet in stores["outlets"])
    gone += sum(stores["emptied"]) + [value for value in stores["stored"] if value is not None][-1]
    assert stores["before"] + sum(filter(None, content["inflow"])) == pytest.approx(gone, rel=1e-4)


def test_a_report_on_data_that_is_gone_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = trained(tmp_path, updates=2)
    pipeline.evaluate(run, figures=False)
    (tmp_path / "brook.csv").unlink()
    words = ["report", str(run), "--out", str(tmp_path / "report")]
    assert main(words) == 0
    page = last_line(capsys.readouterr().out)
    assert about(page)["models"][0]["why_no_ages"].startswith("No mass was traced: ")
    assert site(page)["ages"] == {}
    (tmp_path / "elsewhere").mkdir()
    moved = brook(tmp_path / "elsewhere/brook.csv")
    assert main([*words, "--data", str(moved)]) == 0
    assert site(page)["ages"]
    assert main([*words, "--data", str(moved), "--traced", "0"]) == 0
    assert site(page)["ages"] == {}


def test_a_few_steps_have_no_ages_and_cells_stand_beside_snow(tmp_path: Path) -> None:
    run = trained(tmp_path, updates=2)
    result = pipeline.evaluate(run, figures=False)
    loaded = load_run(run)
    whole = page_ages.Traceable(loaded.config, {0: loaded.model}, loaded.data, loaded.series, 4)
    traced = page_ages.ages_of(whole, result.predictions.isel(time=slice(0, 9)), 20, {})
    assert traced.ages == traced.cells == {}
    assert "too few" in traced.why
    site = str(result.predictions["site"].to_numpy()[0])
    snow = {site: result.predictions["storage"].sel(site=site).sum("cell").to_series(), "elsewhere": None}
    (cells,) = page_ages.ages_of(whole, result.predictions, 20, {"swe": snow}).cells.values()
    assert cells["r of the total with swe"].min() > 0.99
    assert cells["r with swe"].max() <= 1
