"""What a score costs in training: ours and neuralhydrology's, scored alike, until a limit of CPU time."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from mclstm.cli.main import main
from mclstm.evaluation.metrics import nse
from mclstm.training import journal
from mclstm.training.folder import RunFolder
from mclstm_paper.hydrology import time_to_skill
from mclstm_paper.hydrology.basins import THIRTY
from mclstm_paper.hydrology.nh_configs import THEIRS, nh_config
from mclstm_paper.hydrology.nh_skill import scored
from mclstm_paper.hydrology.time_to_skill import block, curve_of, outcome


def point(update: int, seconds: float, nse: float) -> dict[str, float]:
    return {"update": update, "cpu_seconds": seconds, "nse": nse}


def test_a_score_counts_where_it_is_first_reached_within_the_limit() -> None:
    curve = [point(1, 10.0, 0.5), point(2, 20.0, 0.73), point(3, 30.0, 0.71)]
    assert outcome(curve, goal=60)["reached"] == curve[1]
    assert outcome(curve, goal=15)["reached"] is None
    assert outcome(curve[:1], goal=60)["reached"] is None


def test_validation_is_no_training(tmp_path: Path) -> None:
    """Two of five updates are followed by a long validation: an update counts as the usual one."""
    marks = [0.0, 1.0, 2.0, 9.0, 10.0, 20.0]
    run = RunFolder(tmp_path)
    for update, score in ((2, 0.1), (4, 0.2)):
        journal.append(run.journal, {"update": update, "validation_nse": score})
        journal.append(run.journal, {"update": update, "loss": 1.0})
    assert curve_of(run, marks) == [point(2, 2.0, 0.1), point(4, 4.0, 0.2)]


class Shift(nn.Module):
    """Yesterday's value of the first input, in the words of a model of neuralhydrology."""

    def pre_model_hook(self, batch: dict[str, Tensor], is_train: bool) -> dict[str, Tensor]:
        return batch

    def forward(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"y_hat": batch["x"].roll(1, dims=1)}


def test_theirs_are_scored_by_our_nse_over_the_days_of_the_period() -> None:
    x = torch.rand(3, 50, 1, generator=torch.Generator().manual_seed(0))
    y = x + 0.1
    y[0, 30] = float("nan")
    batches = [{"x": x[:2], "y": y[:2]}, {"x": x[2:], "y": y[2:]}]
    simulated, observed = (part[:, -40:, 0].numpy() for part in (x.roll(1, dims=1), y))
    each = [nse(s, o) for s, o in zip(simulated, observed, strict=True)]
    assert scored(Shift(), batches, days=40) == pytest.approx(np.median(each), rel=1e-5)


def test_theirs_have_our_periods_and_differ_in_windows_alone() -> None:
    for kind in ("mclstm", "lstm"):
        one, other = nh_config(f"nh-{kind}", None), nh_config(f"nh-{kind}-sequences", None)
        assert one["train_start_date"] == "01/10/1999"
        assert one["validation_end_date"] == "30/09/1989"
        assert len(one["static_attributes"]) == 27
        differ = {key for key in one if one[key] != other[key]}
        assert differ == {"seq_length", "predict_last_n", "batch_size", "experiment_name"}
    assert set(time_to_skill.LABELS) == {*time_to_skill.OURS, *THEIRS}


def test_both_are_trained_and_recorded(camels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("neuralhydrology")
    monkeypatch.setitem(time_to_skill.SECONDS, "quick", 1)
    monkeypatch.setitem(time_to_skill.EVERY, "quick", 1)
    (tmp_path / "six.txt").write_text("\n".join(THIRTY[:24:4]) + "\n")
    words = ["--data", str(camels), "--basins", str(tmp_path / "six.txt"), "--cells", "3", "--updates", "2"]
    models = ["--models", "hybrid,nh-lstm-sequences", "--quiet"]
    places = ["--out", str(tmp_path / "out"), "--results", str(tmp_path / "results")]
    assert main(["experiment", "hydrology-time", *words, *models, *places]) == 0
    rows = json.loads((tmp_path / "results" / "hydrology" / "time_to_skill.json").read_text())["rows"]
    assert [row["model"] for row in rows] == ["hybrid", "nh-lstm-sequences"]
    for row in rows:
        assert row["value"] is None  # after so little training
        assert row["seconds_per_update"] > 0
        assert row["best"] == pytest.approx(max(score for _, score in row["curve"]), abs=1e-4)
    assert "| Hybrid | not within 0 |" in block(tmp_path)
    assert "| neuralhydrology's LSTM, 180 days scored | not within 0 |" in block(tmp_path)
