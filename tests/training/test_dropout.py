"""What dropout drops is part of the run: stopped and resumed, it ends with the bits of one that was not."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from mclstm import from_config as configured
from mclstm import pipeline
from mclstm.config import check_config
from mclstm.errors import ConfigError, Interrupted
from mclstm.training import checkpoint
from mclstm.training.checkpoint import model_hash
from support.small_run import brook, brook_config

LSTM = {"name": "lstm", "hidden_size": 3}


def trained_at(folder: Path, data: Path, stop_after: int | None = None, **model: Any) -> bytes:
    config = check_config(brook_config(data, LSTM | model, updates=6, checkpoint_every=100))
    asked = 0

    def stop() -> int | None:
        nonlocal asked
        asked += 1
        return signal.SIGTERM if asked == stop_after else None

    pipeline.train_or_resume(folder, config, pipeline.partial(pipeline.showing, quiet=True), stop)
    return (folder / "checkpoints" / "last.safetensors").read_bytes()


def test_a_stopped_run_drops_what_it_would_have_dropped(tmp_path: Path) -> None:
    data = brook(tmp_path / "brook.csv")
    whole = trained_at(tmp_path / "whole", data, dropout=0.4)
    with pytest.raises(Interrupted):
        trained_at(tmp_path / "stopped", data, stop_after=3, dropout=0.4)
    torch.manual_seed(99)  # another process, in which other things have been drawn
    assert trained_at(tmp_path / "stopped", data, dropout=0.4) == whole
    assert trained_at(tmp_path / "without", data) != whole


def test_runs_from_before_it_keep_their_fingerprint(tmp_path: Path) -> None:
    trained_at(tmp_path / "run", data := brook(tmp_path / "brook.csv"))
    columns = {"mass": ["rain"], "aux": ["temperature"], "static": [], "target": ["flow"]}
    before = model_hash({"model": LSTM | {"forget_bias": 3.0}, "inputs": columns})
    config = tmp_path / "run" / "config.yaml"
    config.write_text(config.read_text().replace("  dropout: 0.0\n", ""))
    run = configured.open_run(tmp_path / "run")
    assert run.model_hash == before
    assert checkpoint.load(run.folder.weights(), model=before)[1]["progress"]["update"] == 6
    other = check_config(brook_config(data, LSTM | {"dropout": 0.4}))
    found = json.loads((tmp_path / "run" / "scaling.json").read_text())
    assert configured.build(other, found)[1] != before


@pytest.mark.parametrize("share", [-0.1, 1.0])
def test_no_share_at_all_is_refused(tmp_path: Path, share: float) -> None:
    with pytest.raises(ConfigError, match="dropout"):
        check_config(brook_config(tmp_path, LSTM | {"dropout": share}))
