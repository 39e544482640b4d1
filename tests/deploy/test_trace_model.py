"""`mclstm trace` on runs and packs: files, tables and figures that add up."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from mclstm import pipeline
from mclstm.cli.main import main
from mclstm.deploy.new_data import Source
from mclstm.deploy.pack import pack
from mclstm.deploy.trace_model import summary, trace_model
from mclstm.errors import ConfigError, DataError
from support.small_city import city_run
from support.small_run import trained


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("brook"), updates=2)


def test_the_command_writes_tables_and_figures(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    days = pd.date_range("2001-01-01", periods=700)
    snow = pd.DataFrame({"date": days, "site": "brook", "swe": 1 + np.cos(np.arange(700) / 58)})
    snow.to_csv(tmp_path / "snow.csv", index=False)
    words = ["trace", str(run), "--longest", "20", "--peak", "2001-08-01", "--json"]
    assert main([*words, "--snow", str(tmp_path / "snow.csv")]) == 0
    written = json.loads(capsys.readouterr().out)
    folder = Path(written["files"])
    assert folder == run / "trace"
    (row,) = written["rows"]
    fates = [row[name] for name in ("flow", "losses", "still stored")]
    assert sum(fates) == pytest.approx(1.0)
    behind = pd.read_csv(next(folder.glob("behind-*.csv")))
    assert behind["share"].sum() == pytest.approx(1.0)
    assert behind["date"].dropna().max() == "2001-08-01"
    cells = pd.read_csv(folder / "cells.csv")
    assert cells["turnover (days)"].is_monotonic_increasing
    told = cells[~cells["sentence"].str.contains("nearly always empty")]
    assert len(told)
    names = [f"Cell {cell} (losses)" if cell == 0 else f"Cell {cell}" for cell in told["cell"]]
    assert all(map(str.startswith, told["sentence"], [f"{name} holds " for name in names]))
    assert set(cells["member"]) == {0}
    # Beside each cell stand yardsticks that need none: the same number in every row.
    assert np.isfinite(cells["r with swe"]).any()
    assert cells["r of the total with swe"].nunique() == 1
    assert "r of the date with swe" in cells
    assert {path.suffix for path in (folder / "figures").iterdir()} == {".svg", ".png"}
    with xr.open_dataset(folder / "trace.nc", engine="h5netcdf") as file:
        assert file["outflow_by_age"].sizes["age_class"] == 4  # up to 7 days, up to 20, older, the start


def test_a_pack_needs_data_and_gives_the_same(run: Path, tmp_path: Path) -> None:
    pipeline.evaluate(run, figures=False)
    pack([run], tmp_path / "pack")
    with pytest.raises(ConfigError, match="--data"):
        trace_model(tmp_path / "pack")
    data = Source(str(run.parents[2] / "brook.csv"))
    one, other = trace_model(run), trace_model(tmp_path / "pack", data)
    pd.testing.assert_frame_equal(summary(one.mass, "flow"), summary(other.mass, "flow"))
    # Without a date the largest outflow is explained, and all that is behind it.
    ((site, behind),) = one.origins.items()
    flow = one.mass["outflow_by_age"].sel(site=site, outlet="flow").sum("age_class").to_series()
    assert behind["date"].max() == flow.idxmax()
    assert behind["amount"].sum() == pytest.approx(flow.max())


def test_a_city_goes_from_entry_to_exit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    city = city_run(tmp_path, updates=1)
    assert main(["trace", str(city.path)]) == 0
    assert "dwell" in capsys.readouterr().out
    table = pd.read_csv(city.path / "trace" / "entry_to_exit.csv")
    assert set(table["input"]) == {"in_west", "in_north"}
    assert np.isfinite(table["amount"]).all()


def test_mistakes_get_one_sentence(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", str(run), "--peak", "soon"]) == 2
    assert "--peak 'soon' is no date" in capsys.readouterr().err
    with pytest.raises(DataError, match="no site"):
        trace_model(run, sites=["elsewhere"])


def test_an_lstm_cannot_be_traced(tmp_path: Path) -> None:
    lstm = trained(tmp_path, {"name": "lstm", "hidden_size": 2}, updates=1)
    with pytest.raises(ConfigError, match="does not conserve"):
        trace_model(lstm)
