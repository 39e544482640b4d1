"""`mclstm predict --out NAME.zarr`: the numbers of the netCDF file, and never half of them."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from mclstm.cli.main import main
from mclstm.cli.predict_text import summary
from mclstm.config import check_config, load_config
from mclstm.config.same_model import Run
from mclstm.deploy.new_data import Dates, Source
from mclstm.deploy.predict import predict, predict_unsaved
from mclstm.errors import DataError
from mclstm.evaluation.ensemble import read_members
from mclstm.evaluation.prediction_store import open_store
from mclstm.pipeline import evaluate, train
from mclstm.report.comparison.model_groups import evaluated
from mclstm.training.checkpoint import load
from support.many_brooks import config, written

ROUNDED = 32 * np.finfo(np.float32).eps


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.environ["MCLSTM_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def brooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("brooks"), "zarr")


@pytest.fixture(scope="module")
def runs(brooks: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two members of one model; without means of earlier steps, which no saved state holds."""
    paths = []
    for seed in (0, 1):
        raw = config(brooks, in_memory=False, updates=3, seed=seed)
        del raw["data"]["antecedent"]
        run = train(check_config(raw), tmp_path_factory.mktemp("runs"), quiet=True)
        evaluate(run, figures=False)
        paths.append(run.path)
    return paths


def test_the_folder_holds_what_predicting_together_gives(
    runs: list[Path], brooks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = predict_unsaved(runs[0], Source(str(brooks)), saves=True, dates=Dates("2001-01-10"))
    whole.save_states(tmp_path / "whole.state")
    words = ["predict", str(runs[0]), "--data", str(brooks), "--out", str(tmp_path / "p.zarr"), "--json"]
    assert main([*words, "--start", "2001-01-10", "--state-out", str(tmp_path / "parts.state")]) == 0
    said = json.loads(capsys.readouterr().out)
    streamed, together = open_store(tmp_path / "p.zarr").load(), whole.predictions
    # Turnover is told from shares, float32 products of some ten features, of sites that share a batch: one
    # site begins later, so that parts are not the batches of the whole.
    np.testing.assert_allclose(streamed["turnover"], together["turnover"], rtol=ROUNDED)
    stores = {name: together[name].astype(np.float32) for name in ("storage", "outflow")}
    xr.testing.assert_identical(streamed.drop_vars("turnover"), together.assign(stores).drop_vars("turnover"))
    assert said == summary(together, 1) | {key: said[key] for key in ("predictions", "state")}
    first, second = (load(tmp_path / f"{name}.state") for name in ("whole", "parts"))
    assert all(first[0][key].equal(second[0][key]) for key in first[0])
    assert first[1] == second[1]


def test_an_ensemble_is_streamed_and_goes_on_from_a_state(
    runs: list[Path], brooks: Path, tmp_path: Path
) -> None:
    pack, state, halves = str(tmp_path / "pack"), str(tmp_path / "state"), []
    assert main(["pack", *map(str, runs), "--out", pack]) == 0
    table = open_store(brooks).isel(site=slice(128))
    for name, days in (("first", slice(None, 120)), ("second", slice(120, None))):
        data, out = (str(tmp_path / f"{name}{end}") for end in ("-data.zarr", ".zarr"))
        table.isel(time=days).to_zarr(data, zarr_format=2, consolidated=False)
        words = ["predict", pack, "--data", data, "--out", out, "--state-out", state]
        assert main([*words, *(["--state-in", state] if halves else [])]) == 0
        halves.append(open_store(Path(out))["simulated"].to_numpy())
    expected = predict(Path(pack), str(brooks))["simulated"].to_numpy()[:128]
    # The site that begins later is alone in a batch, or not; its products are rounded as its batch is long.
    np.testing.assert_allclose(np.concatenate(halves, axis=1), expected, rtol=ROUNDED)


def test_a_killed_prediction_leaves_nothing_that_looks_whole(
    runs: list[Path], brooks: Path, tmp_path: Path
) -> None:
    out = tmp_path / "p.zarr"
    words = ["predict", str(runs[0]), "--data", str(brooks), "--out", str(out)]
    process = subprocess.Popen([sys.executable, "-m", "mclstm", *words], stdout=subprocess.DEVNULL)
    while process.poll() is None and not list(tmp_path.glob(".p.zarr.*.tmp/simulated/0.0")):
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not out.exists()
    assert list(tmp_path.glob(".p.zarr.*.tmp"))
    assert not list(Path(os.environ["MCLSTM_CACHE"]).iterdir())
    assert main(words) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["p.zarr"]
    assert np.isfinite(open_store(out)["simulated"].to_numpy()[:128]).any(1).all()


@pytest.mark.parametrize("options", [["--csv"], []])
def test_what_cannot_be_streamed_is_refused(
    options: list[str], runs: list[Path], brooks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "p.zarr"
    out.mkdir()
    (out / "notes.txt").write_text("")
    words = ["predict", str(runs[0]), "--data", str(brooks), "--out", str(out)]
    assert main([*words, *options]) == 2
    message = capsys.readouterr().err
    assert ("--csv goes with a netCDF file" if options else "p.zarr is there already. Remove it") in message
    assert len(message.splitlines()) == 1
    assert [path.name for path in out.iterdir()] == ["notes.txt"]


def test_reports_read_what_was_evaluated_in_parts(runs: list[Path]) -> None:
    there, notes = evaluated([Run(run, load_config(run / "config.yaml")) for run in runs], "test")
    assert (len(there), notes) == (2, [])
    flows = read_members(runs)[0]
    stored = open_store(runs[0] / "evaluation" / "test" / "predictions.zarr")
    assert flows.sizes["site"] == 130
    np.testing.assert_array_equal(flows["simulated"], stored["simulated"])


def test_without_zarr_it_is_named_before_anything_is_read(
    runs: list[Path],
    brooks: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(ModuleNotFoundError, match="zarr"):
        train(check_config(config(tmp_path / "absent.nc", in_memory=False)), tmp_path, quiet=True)
    assert main(["report", str(runs[0]), "--out", str(tmp_path / "report")]) == 2
    absent = ["predict", str(runs[0]), "--data", str(brooks), "--out", str(tmp_path / "p.zarr")]
    assert main(absent) == 2
    said = capsys.readouterr().err.splitlines()
    assert [line.partition(": ")[2] for line in said] == [
        'the package zarr is missing. Install it with: pip install "mclstm[zarr]"'
    ] * 2
    assert not (tmp_path / "p.zarr").exists()


def test_damaged_predictions_are_one_sentence(runs: list[Path], tmp_path: Path) -> None:
    store = tmp_path / "predictions.zarr"
    shutil.copytree(runs[0] / "evaluation" / "test" / "predictions.zarr", store)
    (store / "simulated" / ".zarray").write_text("{")
    with pytest.raises(DataError, match=r"cannot be read \(.*Copy or export it again"):
        open_store(store)


def test_a_table_that_is_read_as_a_whole_is_streamed_too(
    runs: list[Path], brooks: Path, tmp_path: Path
) -> None:
    table = open_store(brooks).isel(site=slice(2)).to_dataframe().reset_index().dropna(subset="rain")
    table.to_csv(tmp_path / "two.csv", index=False)
    words = ["predict", str(runs[0]), "--data", str(tmp_path / "two.csv"), "--out", str(tmp_path / "p.zarr")]
    assert main(words) == 0
    assert open_store(tmp_path / "p.zarr").sizes["site"] == 2
