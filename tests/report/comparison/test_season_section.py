"""The annual cycle of what is lost in `mclstm report`: synthetic brooks with and without a PET."""

import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from mclstm import pipeline
from mclstm.cli.main import main
from mclstm.config import check_config
from mclstm.config.same_model import find_runs
from mclstm.data.readers.land import read_land
from mclstm.evaluation.prediction_dataset import read_flows, read_outlet
from mclstm.report.comparison import Section
from mclstm.report.comparison.season_section import loss_of, model_seasons, read_loss
from support.small_run import brook, brook_config, brooks

PLAIN = {"name": "mclstm", "hidden_size": 3}
OUTLET = PLAIN | {"head": "linear", "evapotranspiration": True}


def config(data: Path, name: str, model: dict[str, Any], seed: int) -> dict[str, Any]:
    raw = brook_config(data, model, updates=4, seed=seed)
    raw["data"] |= {"site": "site", "units": {"rain": "mm/day", "flow": "mm/day"}}
    # A year and two months: the two months must not count.
    raw["periods"]["test"] = ["2001-09-01", "2002-10-31"]
    return raw | {"name": name}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two members with a trash cell, one with the outlet, and two of three sites on land that is known."""
    root = tmp_path_factory.mktemp("cycle")
    brooks(brook(root / "brook.csv", 700), ["A", "B", "C"]).to_csv(root / "brooks.csv", index=False)
    for name, model, seed in (("plain", PLAIN, 0), ("plain", PLAIN, 1), ("outlet", OUTLET, 0)):
        raw = config(root / "brooks.csv", name, model, seed)
        run = pipeline.train(check_config(raw), root / "runs", quiet=True)
        pipeline.evaluate(run.path, figures=False)
    days = pd.date_range("2001-01-01", "2002-12-31")
    pet = 3 - 2 * np.cos(2 * np.pi * days.day_of_year / 365)
    (root / "land").mkdir()
    pd.DataFrame({"date": days, "pet": pet, "et": pet / 2}).to_csv(root / "land/A.csv", index=False)
    pd.DataFrame({"date": days, "et": pet / 2}).to_csv(root / "land/B.csv", index=False)
    words = [str(root / "runs" / "plain"), str(root / "runs" / "outlet"), "--snow", str(root / "land")]
    with (root / "printed.json").open("w") as file, redirect_stdout(file):
        assert main(["report", *words, "--out", str(root / "report"), "--json"]) == 0
    return root


def runs(root: Path, name: str) -> list[Path]:
    return sorted(path for path in (root / "runs" / name).iterdir() if path.is_dir())


def test_predictions_hold_the_outlet_and_the_ledger_still_closes(made: Path) -> None:
    (run,) = runs(made, "outlet")
    with xr.open_dataset(run / "evaluation/test/predictions.nc", engine="h5netcdf") as file:
        kept = file.load()
    assert kept["evapotranspiration"].dims == ("site", "time")
    assert kept["evapotranspiration"].attrs["units"] == "mm/day"
    assert kept["outlet"].to_numpy().tolist() == ["total"]
    total = kept["outflow"].sum("outlet") + kept["storage"].sum("cell")
    stored = kept["storage"].sum("cell").shift(time=1).fillna(kept["storage_before"])
    np.testing.assert_allclose(total, stored + kept["inflow"], rtol=1e-4, atol=1e-4)
    books = pd.read_csv(run / "evaluation/test/mass_balance.csv")
    assert (books["relative error"] < 1e-5).all()
    assert list(pd.read_csv(run / "evaluation/test/metrics.csv")["site"]) == ["A", "B", "C"]
    series = read_outlet(run / "evaluation/test/predictions.nc", "evapotranspiration", "B")
    assert series is not None
    np.testing.assert_array_equal(series, kept["evapotranspiration"].sel(site="B"))
    assert read_outlet(run / "evaluation/test/predictions.nc", "losses", "B") is None


def test_rows_page_and_figures_of_the_site_with_a_pet(made: Path) -> None:
    content = json.loads((made / "printed.json").read_text())
    rows = {
        (row["model"], row["setting"], row["metric"]): row
        for row in content["rows"]
        if row["metric"].startswith("et-")
    }
    settings = {
        ("plain", "basin A, losses against PET"), ("plain", "basin A, losses against ET"),
        ("outlet", "basin A, evapotranspiration against PET"),
        ("outlet", "basin A, evapotranspiration against ET"),
        ("precipitation", "basin A, precipitation against PET"), ("modelled-et", "basin A, ET against PET"),
    }  # fmt: skip
    assert set(rows) == {(*key, metric) for key in settings for metric in ("et-cycle-r", "et-ratio")}
    assert rows["modelled-et", "basin A, ET against PET", "et-ratio"]["value"] == pytest.approx(0.5)
    assert rows["modelled-et", "basin A, ET against PET", "et-cycle-r"]["value"] == pytest.approx(1.0)
    # By hand, from the predictions of each member: the whole year alone.
    pet = pd.read_csv(made / "land/A.csv", index_col="date", parse_dates=True)["pet"]
    year = pd.date_range("2001-09-01", "2002-08-31")
    expected = []
    for run in runs(made, "plain"):
        lost = read_outlet(run / "evaluation/test/predictions.nc", "losses", "A")
        assert lost is not None
        means = [series[year].groupby(year.month).mean() for series in (lost, pet)]
        expected.append(np.corrcoef(*means)[0, 1])
    r = rows["plain", "basin A, losses against PET", "et-cycle-r"]
    assert sorted(r["values"]) == pytest.approx(sorted(expected), abs=1e-5)
    assert (r["n"], r["value"]) == (2, pytest.approx(np.mean(expected), abs=1e-5))
    assert (r["low"], r["high"]) == pytest.approx((min(expected), max(expected)), abs=1e-5)
    assert len(r["peaks"]) == 2
    assert r["reference_peak"] == 7
    page = (made / "report/report.md").read_text()
    assert "| outlet | basin A, evapotranspiration against PET |" in page
    assert page.count("basin A, precipitation against PET") == 1
    for name in ("plain", "outlet"):
        assert (made / f"report/figures/evapotranspiration-{name}-A.png").stat().st_size > 5000
        assert f"figures/evapotranspiration-{name}-A.png" in page
    months = pd.read_csv(made / "report/evapotranspiration-months.csv")
    assert len(months) == 12 * ((2 + 3) + (1 + 3))
    assert "| modelled-et | basin A, ET against PET | 1.00 | 0.50 | Jul | Jul | 1 |" in page


def test_a_site_without_a_pet_gets_a_note(made: Path) -> None:
    page = (made / "report/report.md").read_text()
    for model in ("plain", "outlet"):
        assert f"* No evapotranspiration cycle of {model} at 'B': no potential evapotranspiration" in page
    assert "* No snow: " in page
    assert "'C'" not in page  # nobody asked


def notes_of(parts: list[Section]) -> list[str]:
    return [note for part in parts for note in part.notes]


def test_what_cannot_be_compared_is_said(made: Path, tmp_path: Path) -> None:
    members = find_runs(runs(made, "outlet"))
    file = members[0].path / "evaluation/test/predictions.nc"
    flows, land = read_flows(file), read_land(made / "land")
    short = {"A": land["A"][:"2002-02-01"]}  # type: ignore[misc]
    nothing = model_seasons("x", members, flows, short, "test")
    assert "at A: the period holds no whole year" in notes_of(nothing)[0]
    assert not any(part.rows or part.figures for part in nothing)
    litres = flows.assign(inflow=flows["inflow"].assign_attrs(units="L/s"))
    notes = notes_of(model_seasons("x", members, litres, land, "test"))
    assert notes == ["No evapotranspiration cycle of x: its precipitation is not in mm/day."]
    old = tmp_path / "evaluation/test/predictions.nc"
    old.parent.mkdir(parents=True)
    with xr.open_dataset(file, engine="h5netcdf") as kept:
        kept.load().drop_vars("evapotranspiration").to_netcdf(old, engine="h5netcdf")
    notes = notes_of(model_seasons("x", [members[0]._replace(path=tmp_path)], flows, land, "test"))
    remedy = f"Make them again with: mclstm evaluate {tmp_path}"
    assert f"lack its outlet evapotranspiration. {remedy}" in notes[-1]


@pytest.mark.parametrize(
    ("model", "outlet"),
    [
        (PLAIN, "losses"),
        (PLAIN | {"head": "mcfc"}, "losses"),
        (OUTLET, "evapotranspiration"),
        (PLAIN | {"trash_cell": False}, None),
        (PLAIN | {"head": "scaled"}, None),
        ({"name": "lstm", "hidden_size": 3}, None),
    ],
)
def test_which_outlet_is_the_loss(model: dict[str, Any], outlet: str | None) -> None:
    assert loss_of(check_config(config(Path("brook.csv"), "x", model, 0))) == outlet


def test_predictions_of_before_call_the_losses_trash(made: Path, tmp_path: Path) -> None:
    file = runs(made, "plain")[0] / "evaluation/test/predictions.nc"
    lost = read_loss(file, "losses", "A")
    assert lost is not None
    with xr.open_dataset(file, engine="h5netcdf") as opened:
        old = opened.load()
    old.assign_coords(outlet=["flow", "trash"]).to_netcdf(tmp_path / "old.nc", engine="h5netcdf")
    np.testing.assert_array_equal(read_loss(tmp_path / "old.nc", "losses", "A"), lost)
    assert read_loss(tmp_path / "old.nc", "evapotranspiration", "A") is None
