"""The peak phase of a run: only its last updates differ from those of a run without it."""

import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from mclstm import pipeline
from mclstm.config import check_config
from mclstm.errors import ConfigError, Interrupted
from mclstm.training import journal
from mclstm.training.state import read_progress
from support.small_run import brook, brook_config

PEAK = {"quantile": 0.9, "weight": 5.0, "updates": 3}
GATE = "weights.layer.gates.W_o"


def learned(folder: Path, data: Path, stop_after: int | None = None, **training: Any) -> torch.Tensor:
    """The weights of the output gate after nine updates, or after as many as are made before a signal."""
    settings = {"updates": 9, "checkpoint_every": 100, "validate_every": 1000, **training}
    made = 0

    def stop() -> int | None:
        nonlocal made
        made += 1
        return signal.SIGTERM if made == stop_after else None

    config = check_config(brook_config(data, **settings))
    try:
        pipeline.train_or_resume(folder, config, pipeline.partial(pipeline.showing, quiet=True), stop)
    except Interrupted:
        assert made == stop_after
    return load_file(folder / "checkpoints" / "last.safetensors")[GATE]


def test_only_the_last_updates_weigh_peaks(tmp_path: Path) -> None:
    data = brook(tmp_path / "brook.csv")
    plain, peaked = learned(tmp_path / "plain", data), learned(tmp_path / "peaked", data, peak=PEAK)
    assert not torch.equal(plain, peaked)
    before = learned(tmp_path / "plain until then", data, stop_after=6)
    assert torch.equal(learned(tmp_path / "stopped", data, stop_after=6, peak=PEAK), before)
    assert torch.equal(learned(tmp_path / "stopped", data, peak=PEAK), peaked)  # resumed
    whole, beyond = (learned(tmp_path / str(n), data, peak=PEAK | {"updates": n}) for n in (9, 1000))
    assert torch.equal(whole, beyond)
    assert not torch.equal(whole, peaked)


def test_a_quantile_that_is_no_share_is_refused(tmp_path: Path) -> None:
    data = brook(tmp_path / "brook.csv")
    with pytest.raises(ConfigError, match=r"training\.peak\.quantile: needs a number less than 1"):
        check_config(brook_config(data, peak={"quantile": 97.0}))


def validations(run: Path) -> dict[int, float]:
    """The scores of a run by update."""
    lines = journal.read(run / "metrics.jsonl")
    return {line["update"]: line["validation_nse"] for line in lines if "validation_nse" in line}


def test_only_weights_of_the_peak_phase_become_the_best(tmp_path: Path) -> None:
    """An earlier score may be higher: those weights never saw what the phase is for."""
    data = brook(tmp_path / "brook.csv")
    settings = {"updates": 9, "validate_every": 1, "batch_size": 1000, "learning_rate": 1.0, "clip": None}
    learned(tmp_path / "run", data, peak=PEAK | {"updates": 1}, **settings)
    scores = {line["update"]: line["validation_nse"] for line in journal.read(tmp_path / "run/metrics.jsonl")
              if "validation_nse" in line}  # fmt: skip
    assert set(scores) == set(range(1, 10))
    assert scores[9] < max(scores.values())  # such a rate worsens what was better on the way
    progress = read_progress(tmp_path / "run" / "checkpoints" / "best.safetensors")
    assert (progress.update, progress.best_update, progress.best) == (9, 9, scores[9])
    learned(tmp_path / "plain", data, **settings)
    best = read_progress(tmp_path / "plain/checkpoints/best.safetensors").best
    assert best == max(validations(tmp_path / "plain").values())
