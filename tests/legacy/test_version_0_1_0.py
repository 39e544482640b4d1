"""A run folder and a job folder that version 0.1.0 left half done: this one finishes them alike."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from mclstm import pipeline
from mclstm.experiments.addition_training import LEARN
from mclstm.experiments.jobs import Job, run_jobs

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


def test_a_job_is_resumed_and_finished(folder: Path) -> None:
    parameters = json.loads((KEPT / "job/job.json").read_text())["parameters"]
    found = run_jobs([Job("job", LEARN, parameters, goal=12)], folder, quiet=True)["job"]
    wanted = json.loads((KEPT / "finished_job.json").read_text())["result"]
    assert found["failed"] == wanted["failed"]
    np.testing.assert_allclose(found["validation"], wanted["validation"], rtol=1e-4)
    assert found["test"].keys() == wanted["test"].keys()
    for regime, errors in wanted["test"].items():
        np.testing.assert_allclose(found["test"][regime], errors, rtol=1e-4)
