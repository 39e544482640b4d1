"""The weights in weights/camels-us: what their card says, on real basins and offline."""

import json
from pathlib import Path

import pytest
import xarray as xr

from mclstm.deploy.card import card
from mclstm.deploy.new_data import Source
from mclstm.deploy.predict import predict
from mclstm.evaluation.metrics import nse
from mclstm_paper.hydrology.card_notes import notes_of

WEIGHTS = Path(__file__).parents[3] / "weights" / "camels-us"
PACKS = sorted(WEIGHTS.parent.glob("*/*/model.json"))
TEST = slice("1989-10-01", "1999-09-30")
# NSE of the test years as measured when the weights were packed; from stores that had filled since 1980.
MEASURED = {"01022500": 0.8505, "11141280": 0.5923, "12189500": 0.7523}


@pytest.fixture(scope="module")
def predicted(camels: Path, tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    columns = tmp_path_factory.mktemp("columns") / "columns.yaml"
    columns.write_text(f"sites: {json.dumps(list(MEASURED))}\n")
    return predict(WEIGHTS, Source(str(camels), columns=columns))


@pytest.mark.parametrize("basin", MEASURED)
def test_they_predict_as_when_they_were_packed(predicted: xr.Dataset, basin: str) -> None:
    years = predicted.sel(site=basin, time=TEST)
    found = nse(years["simulated"].to_numpy(), years["observed"].to_numpy())
    assert found == pytest.approx(MEASURED[basin], abs=1e-3)


def test_mass_closes_in_every_basin(predicted: xr.Dataset) -> None:
    missing = abs(predicted["residual"]).max("time")  # what is missing since the first day, 29 years
    assert (missing < 1e-7 * predicted["inflow"].sum("time")).all()
    gone = predicted["inflow"].sum("time") - predicted["outflow"].sum(["time", "outlet"])
    assert abs(gone - predicted["storage"].isel(time=-1)).max() < 0.1  # mm; all stores begin empty


@pytest.mark.parametrize(
    "about", sorted(WEIGHTS.parent.glob("*/*/model.json")), ids=lambda file: file.parent.name
)
def test_cards_say_what_model_json_says(about: Path) -> None:
    written = about.with_name("README.md")
    if about.parents[1].name == "members":
        assert not written.exists()
        return
    assert written.read_text() == card(json.loads(about.read_text()))


def test_cards_say_how_good_they_are_at_basins_never_seen() -> None:
    results = WEIGHTS.parents[1] / "results" / "hydrology"
    about = json.loads((WEIGHTS / "hybrid" / "model.json").read_text())
    notes = notes_of("hybrid", {"hybrid"}, True, results, None)
    assert notes == {title: text for title, text in about["notes"].items() if title != "Regions"}
    assert "| 18 California          |     20 |                  0.824 |" in about["notes"]["Regions"]


def test_they_are_small_and_plain() -> None:
    files = [file for file in WEIGHTS.rglob("*") if file.is_file()]
    every = (file for file in WEIGHTS.parent.rglob("*") if file.is_file())  # with all other models
    assert sum(file.stat().st_size for file in every) < 25e6
    assert {file.suffix for file in files} == {".safetensors", ".json", ".md"}
    models = [json.loads(file.read_text()) for file in files if file.name == "model.json"]
    members = [member for model in models for member in model["members"]]
    assert len(members) == sum(file.suffix == ".safetensors" for file in files) == 10
