"""A learned start of version 0.1.0, which was the exponential of a parameter: run and pack still work."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from mclstm import pipeline
from mclstm.deploy.predict import predict
from mclstm.training import checkpoint

KEPT = Path(__file__).with_name("learned_start")
START = "layer.gates.{}c0"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(KEPT, tmp_path / "kept")
    monkeypatch.chdir(tmp_path / "kept")  # the config of the run names its data by a relative path
    return tmp_path / "kept"


def test_a_pack_predicts_the_same(folder: Path) -> None:
    kept = pd.read_csv(folder / "predictions.csv")
    found = predict(folder / "pack", "brook.csv")["simulated"].to_numpy().flatten()
    np.testing.assert_allclose(found[-len(kept) :], kept["simulated"], rtol=1e-4)


def test_a_half_done_run_is_finished(folder: Path) -> None:
    last = folder / "run/checkpoints/last.safetensors"
    before = checkpoint.load(last)[0]
    run = pipeline.resume(folder / "run", quiet=True)
    scores = pipeline.evaluate(run, figures=False).scores
    assert np.isfinite(scores["nse"]).all()
    after = checkpoint.load(last)[0]["weights." + START.format("")]
    # The moments are right: the start goes on where it was going, about 0.02, the learning rate, per update.
    change = after - before["weights." + START.format("")]
    assert (change.abs() < 1.5 * 12 * 0.02).all()
    assert (change.sign() == -before["optimiser." + START.format("") + ".exp_avg"].sign()).all()


def test_moments_are_those_of_the_amounts(folder: Path) -> None:
    file = folder / "run/checkpoints/last.safetensors"
    old, new = load_file(file), checkpoint.load(file)[0]
    amounts = old["weights." + START.format("log_")].exp()
    wanted = {
        "weights.{}": amounts,
        "average.{}": old["average." + START.format("log_")].exp(),
        "optimiser.{}.exp_avg": old["optimiser." + START.format("log_") + ".exp_avg"] / amounts,
        "optimiser.{}.exp_avg_sq": old["optimiser." + START.format("log_") + ".exp_avg_sq"] / amounts**2,
        "optimiser.{}.step": old["optimiser." + START.format("log_") + ".step"],
    }
    for name, value in wanted.items():
        torch.testing.assert_close(new[name.format(START.format(""))], value)
    assert not [name for name in new if "log_c0" in name]
