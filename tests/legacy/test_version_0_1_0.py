"""A run folder that version 0.1.0 left half done: this version finishes it, with its own windows."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from mclstm import pipeline

KEPT = Path(__file__).with_name("version_0_1_0")
# Twelve updates on another processor: its kernel adds in another order.
ROUNDING = {"rtol": 1e-4, "atol": 1e-6}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(KEPT, tmp_path / "kept")
    monkeypatch.chdir(tmp_path / "kept")  # the config of the run names its data by a relative path
    return tmp_path / "kept"


def test_a_run_is_resumed_and_evaluated(folder: Path) -> None:
    pipeline.resume(folder / "run", quiet=True)
    found = load_file(folder / "run/checkpoints/last.safetensors")
    wanted = load_file(KEPT / "finished_run.safetensors")
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        torch.testing.assert_close(found[name], value, **ROUNDING)
    scores = pipeline.evaluate(folder / "run", figures=False).scores
    kept = pd.read_csv(KEPT / "finished_run_metrics.csv")
    assert list(scores.columns) == list(kept.columns)
    numbers = kept.select_dtypes("number").columns
    np.testing.assert_allclose(scores[numbers], kept[numbers], rtol=1e-4)
