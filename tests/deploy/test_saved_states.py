"""`mclstm predict` with saved states: parts of a record give the bits of the whole record."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

from mclstm.cli.main import main
from mclstm.training.checkpoint import load
from support.small_run import brook, trained

MODELS: dict[str, dict[str, Any]] = {
    "mclstm": {"name": "mclstm", "hidden_size": 3},
    "mclstm with memory": {"name": "mclstm", "hidden_size": 3, "aux_memory": 2, "initial_state": "learned"},
    "lstm": {"name": "lstm", "hidden_size": 3},
}
Predict = Callable[..., xr.Dataset]


@pytest.fixture(scope="module", params=MODELS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("predict"), MODELS[request.param], updates=3)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    return pd.read_csv(brook(tmp_path_factory.mktemp("table") / "brook.csv")).drop(columns="flow")


@pytest.fixture
def predict(run: Path, tmp_path: Path) -> Predict:
    """Write a table, predict it with the command, read what it wrote."""

    def command(name: str, part: pd.DataFrame, *options: str) -> xr.Dataset:
        part.to_csv(tmp_path / f"{name}.csv", index=False)
        out = tmp_path / f"{name}.nc"
        words = ["predict", str(run), "--data", str(tmp_path / f"{name}.csv"), "--out", str(out)]
        assert main([*words, *options]) == 0
        with xr.open_dataset(out, engine="h5netcdf") as file:
            return file.load()

    return command


def test_parts_equal_one_whole(predict: Predict, table: pd.DataFrame, tmp_path: Path) -> None:
    """Cut three times, once after a single day; one state file is read and replaced in place."""
    state = str(tmp_path / "state.safetensors")
    whole = predict("whole", table, "--state-out", str(tmp_path / "whole.safetensors"))
    parts = [predict("a", table[:1], "--state-out", state)]
    for first, after in ((1, 100), (100, 163), (163, 240)):
        parts.append(predict("b", table[first:after], "--state-in", state, "--state-out", state))
    for name in ("simulated", "storage", "outflow", "inflow"):
        if name in whole:
            joined = np.concatenate([part[name].to_numpy() for part in parts], axis=1)
            assert joined.tobytes() == whole[name].to_numpy().tobytes(), name
    assert "observed" not in whole
    last, straight = (load(path)[0] for path in (state, tmp_path / "whole.safetensors"))
    assert all(torch.equal(last[name], straight[name]) for name in straight)


def test_observations_change_nothing(predict: Predict, table: pd.DataFrame, tmp_path: Path) -> None:
    known = pd.read_csv(brook(tmp_path / "brook.csv"))
    blind = predict("blind", table)
    np.testing.assert_array_equal(predict("known", known)["simulated"], blind["simulated"])


def test_a_state_for_other_data_is_refused(
    run: Path, predict: Predict, table: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = str(tmp_path / "state.safetensors")
    predict("first", table[:100], "--state-out", state)
    before = Path(state).read_bytes()
    for name, part in {"overlap": table[99:], "gap": table[101:]}.items():
        part.to_csv(tmp_path / f"{name}.csv", index=False)
        words = ["predict", str(run), "--data", str(tmp_path / f"{name}.csv"), "--state-in", state]
        assert main([*words, "--state-out", state]) == 2
        said = capsys.readouterr().err
        assert "the data begins at" in said
        assert "from 2001-04-11 00:00:00 on" in said
    assert Path(state).read_bytes() == before


def test_a_state_of_another_model_is_refused(
    run: Path, predict: Predict, table: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = str(tmp_path / "state.safetensors")
    predict("first", table[:100], "--state-out", state)
    other = trained(tmp_path, {"name": "mclstm", "hidden_size": 2}, updates=1)
    table[100:].to_csv(tmp_path / "rest.csv", index=False)
    assert main(["predict", str(other), "--data", str(tmp_path / "rest.csv"), "--state-in", state]) == 2
    assert "holds the state of another model" in capsys.readouterr().err


def test_the_state_is_saved_only_after_the_predictions(
    run: Path, table: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A state ahead of predictions that could not be written would lose their days."""
    table[:50].to_csv(tmp_path / "a.csv", index=False)
    state = tmp_path / "state.safetensors"
    (tmp_path / "taken").mkdir()
    words = ["predict", str(run), "--data", str(tmp_path / "a.csv"), "--state-out", str(state)]
    assert main([*words, "--out", str(tmp_path / "taken")]) == 2
    assert "Cannot write" in capsys.readouterr().err
    assert not state.exists()
