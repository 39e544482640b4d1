"""New data must have the step and the units of the run; files and sites may be others."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from mclstm import pipeline
from mclstm.cli.main import main
from mclstm.config import check_config
from mclstm.data.manifest import require_step, step_in
from mclstm.deploy.predict import predict
from mclstm.errors import CheckpointError, DataError
from mclstm.training import checkpoint
from support.small_run import brook, brook_config, brooks

UNITS = {"rain": "mm/day", "flow": "m3/s"}
Write = Callable[[str, pd.DataFrame], str]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    return brooks(brook(tmp_path_factory.mktemp("table") / "brook.csv"), ["a", "b"])


@pytest.fixture(scope="module")
def run(table: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trained on the site `a` of two, and sent away without its data."""
    folder = tmp_path_factory.mktemp("run")
    table.to_csv(folder / "brook.csv", index=False)
    raw = brook_config(
        folder / "brook.csv", {"name": "mclstm", "hidden_size": 3, "initial_state": 2.5, "head": "linear"}
    )
    raw["data"] |= {"site": "site", "sites": ["a"], "units": UNITS}
    raw["training"]["updates"] = 2
    run_folder = pipeline.train(check_config(raw), folder / "runs", quiet=True).path
    (folder / "brook.csv").unlink()
    return Path(shutil.move(run_folder, tmp_path_factory.mktemp("elsewhere") / "run"))


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def file(name: str, part: pd.DataFrame) -> str:
        part.drop(columns="flow").to_csv(tmp_path / f"{name}.csv", index=False)
        return str(tmp_path / f"{name}.csv")

    return file


def days(table: pd.DataFrame, site: str, first: int, after: int) -> pd.DataFrame:
    return table[table["site"] == site][first:after]


def test_a_run_without_its_data_predicts_sites_it_never_saw(
    run: Path, table: pd.DataFrame, write: Write
) -> None:
    predictions = predict(run, write("new", table.replace({"site": {"a": "c"}})))
    assert list(predictions["site"].to_numpy()) == ["c", "b"]
    assert predictions["simulated"].notnull().all()


def test_the_unit_of_an_absent_target_is_that_of_the_training(
    run: Path, table: pd.DataFrame, write: Write
) -> None:
    predictions = predict(run, write("blind", table))
    assert predictions["simulated"].attrs["units"] == "m3/s"
    assert predictions["inflow"].attrs["units"] == "mm/day"


def test_every_site_goes_on_from_its_own_last_step(
    run: Path, table: pd.DataFrame, write: Write, tmp_path: Path
) -> None:
    """One site ends early, and begins where it ended while the other is already further."""
    state = tmp_path / "state.safetensors"
    whole = predict(run, write("whole", table))["simulated"]
    first = predict(
        run, write("1", pd.concat([days(table, "a", 0, 50), days(table, "b", 0, 80)])), None, state
    )
    assert checkpoint.load(state)[1]["time"] == ["2001-02-19T00:00:00", "2001-03-21T00:00:00"]
    second = predict(run, write("2", pd.concat([days(table, "a", 50, 120), days(table, "b", 80, 99)])), state)
    for site, cut, last in (("a", 50, 120), ("b", 80, 99)):
        parts = [part["simulated"].sel(site=site).dropna("time") for part in (first, second)]
        assert [len(part) for part in parts] == [cut, last - cut]
        # One site alone and two together take different paths through the kernel: equal within rounding.
        np.testing.assert_allclose(np.concatenate(parts), whole.sel(site=site)[:last], rtol=1e-5)


def test_a_site_with_a_gap_after_its_state_is_refused(
    run: Path, table: pd.DataFrame, write: Write, tmp_path: Path
) -> None:
    """The file goes on without a gap, its second site does not."""
    state = tmp_path / "state.safetensors"
    predict(run, write("1", pd.concat([days(table, "a", 0, 80), days(table, "b", 0, 50)])), None, state)
    rest = write("2", pd.concat([days(table, "a", 80, 99), days(table, "b", 80, 99)]))
    with pytest.raises(DataError, match=r"for site 'b', but its state in .* is of 2001-02-19"):
        predict(run, rest, state)


def test_one_row_has_the_step_of_the_run(
    run: Path, table: pd.DataFrame, write: Write, tmp_path: Path
) -> None:
    state = tmp_path / "state.safetensors"
    predict(run, write("1", days(table, "a", 0, 1)), None, state)
    assert checkpoint.load(state)[1]["step"] == "D"
    with pytest.raises(DataError, match="from 2001-01-02 00:00:00 on"):
        predict(run, write("2", days(table, "a", 2, 3)), state)
    predict(run, write("3", days(table, "a", 1, 2)), state)


def test_a_state_brings_the_step_an_old_run_does_not_know(
    run: Path, table: pd.DataFrame, write: Write, tmp_path: Path
) -> None:
    old, state = Path(shutil.copytree(run, tmp_path / "old")), tmp_path / "state.safetensors"
    about = json.loads((old / "data_manifest.json").read_text())
    del about["step"]
    (old / "data_manifest.json").write_text(json.dumps(about))
    predict(old, write("1", days(table, "a", 0, 9)), None, state)
    with pytest.raises(DataError, match="from 2001-01-10 00:00:00 on"):
        predict(old, write("2", days(table, "a", 12, 13)), state)


def test_a_state_of_one_date_for_all_can_still_be_read(
    run: Path, table: pd.DataFrame, write: Write, tmp_path: Path
) -> None:
    state, rest = tmp_path / "state.safetensors", write("2", days(table, "a", 9, 20))
    predict(run, write("1", days(table, "a", 0, 9)), None, state)
    stored, about = checkpoint.load(state)
    checkpoint.save(tmp_path / "old", stored, about | {"time": about["time"][0]})
    xr.testing.assert_identical(predict(run, rest, tmp_path / "old"), predict(run, rest, state))
    checkpoint.save(tmp_path / "lies", stored, about | {"time": about["time"] * 2})
    with pytest.raises(CheckpointError, match="not a state"):
        predict(run, rest, tmp_path / "lies")


def test_data_of_another_step_is_refused(run: Path, table: pd.DataFrame, write: Write) -> None:
    hourly = days(table, "a", 0, 48).assign(date=pd.date_range("2001-01-01", periods=48, freq="h"))
    with pytest.raises(DataError, match="has steps of h, but the run was trained on steps of D"):
        predict(run, write("hourly", hourly))


def test_months_are_compared_by_their_dates() -> None:
    """July to September are 31 days apart each and yet months."""
    months = pd.DatetimeIndex(["2001-07-01", "2001-08-01", "2001-09-01"])
    require_step(xr.Dataset(coords={"time": months}, attrs={"step": "31D"}), "MS", "months.csv")
    with pytest.raises(DataError, match="steps of 31D"):
        require_step(xr.Dataset(coords={"time": months}, attrs={"step": "31D"}), "D", "months.csv")
    with pytest.raises(CheckpointError, match="no step called 'soon'"):
        step_in({"step": "soon"}, "data_manifest.json")


def test_predict_says_what_differs_from_training(
    run: Path, table: pd.DataFrame, write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A column in kelvin and two columns swapped are said in one line each; the prediction is made."""
    site = days(table, "a", 0, 151)
    warm = site.assign(temperature=site["temperature"] + 273.15)
    swapped = site.assign(rain=site["temperature"], temperature=site["rain"])
    expected = {
        "as it was": (site, ""),
        "kelvin": (warm, "kelvin instead of degC"),
        "swapped": (swapped, "looks like"),
    }
    for name, (part, word) in expected.items():
        out = tmp_path / f"{name}.nc"
        assert main(["predict", str(run), "--data", write(name, part), "--out", str(out)]) == 0
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == bool(word), lines
        assert all(line.startswith("warning: ") and word in line for line in lines)
        assert out.is_file()
