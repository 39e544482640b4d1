"""The moving average of the weights: the equation, where it is used, and that a stop does not change it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from mclstm import from_config as configured
from mclstm import pipeline
from mclstm.config import Config, check_config
from mclstm.errors import CheckpointError, Interrupted
from mclstm.training import checkpoint
from mclstm.training.folder import RunFolder
from mclstm.training.progress import showing
from mclstm.training.state import load_weights
from mclstm.training.weight_average import Average

DECAY = 0.9


def config_of(folder: Path) -> Config:
    source = np.random.default_rng(0)
    days = pd.date_range("2001-01-01", periods=200)
    rain = source.gamma(0.4, 8.0, len(days))
    table = pd.DataFrame({"date": days, "rain": rain, "warmth": rain[::-1], "flow": 0.3 * rain})
    table.to_csv(folder / "data.csv", index=False)
    return check_config(
        {
            "name": "averaged",
            "data": {
                "path": str(folder / "data.csv"), "mass": ["rain"], "aux": ["warmth"], "target": ["flow"],
                "units": {"rain": "mm/day", "flow": "mm/day"},
            },
            "periods": {
                "train": ["2001-01-21", "2001-04-30"], "validation": ["2001-05-01", "2001-05-31"],
                "test": ["2001-06-01", "2001-07-15"],
            },
            "model": {"name": "mclstm", "hidden_size": 3},
            "training": {
                "length": 20, "warmup": 10, "batch_size": 4, "updates": 9, "average": DECAY, "threads": 1,
                "validate_every": 1000,
            },
        }
    )  # fmt: skip


def trained(path: Path, config: Config, stop: Callable[[], int | None] = lambda: None) -> RunFolder:
    return pipeline.train_or_resume(path, config, partial(showing, quiet=True), stop).folder


def test_the_average_is_the_equation() -> None:
    model = nn.Linear(3, 2)
    average, expected = Average(model, DECAY), model.weight.detach().double()
    for update in range(1, 200):
        with torch.no_grad():
            model.weight.normal_()
        average.follow(update)
        kept = min(DECAY, update / (update + 10))
        expected = kept * expected + (1 - kept) * model.weight.detach().double()
    torch.testing.assert_close(average.weights["weight"].double(), expected, rtol=1e-5, atol=1e-6)


def test_without_decay_it_is_the_weights() -> None:
    model = nn.Linear(3, 2)
    average = Average(model, 0.0)
    with torch.no_grad():
        model.weight.normal_()
    average.follow(1)
    assert torch.equal(average.weights["weight"], model.weight)


def test_the_model_has_its_own_weights_back_whatever_happens() -> None:
    model = nn.Linear(3, 2)
    average, start = Average(model, DECAY), model.weight.detach().clone()
    with torch.no_grad():
        model.weight.add_(1.0)
    own = model.weight.detach().clone()

    def inside() -> None:
        with average.in_place():
            assert torch.equal(model.weight, start)
            raise KeyError

    with pytest.raises(KeyError):
        inside()
    assert torch.equal(model.weight, own)


def test_a_run_that_was_stopped_ends_with_the_same_average(tmp_path: Path) -> None:
    config, asked = config_of(tmp_path), iter([None, None, 15])
    whole = trained(tmp_path / "whole", config)
    with pytest.raises(Interrupted):
        trained(tmp_path / "parts", config, lambda: next(asked))
    parts = trained(tmp_path / "parts", config)
    last = [checkpoint.load(run.checkpoints / "last.safetensors")[0] for run in (whole, parts)]
    assert last[0].keys() == last[1].keys()
    assert all(torch.equal(value, last[1][name]) for name, value in last[0].items())

    best = [(run.checkpoints / "best.safetensors").read_bytes() for run in (whole, parts)]
    assert best[0] == best[1]  # validated once, at the end


@pytest.mark.parametrize("name", ["best", "last"])
def test_what_is_evaluated_is_the_average(tmp_path: Path, name: str) -> None:
    run = trained(tmp_path / "run", config_of(tmp_path))
    last = checkpoint.load(run.checkpoints / "last.safetensors")[0]
    opened = configured.open_run(run.path)
    load_weights(run.checkpoints / f"{name}.safetensors", opened.model, opened.model_hash)
    for parameter, value in opened.model.named_parameters():
        assert torch.equal(value, last[f"average.{parameter}"])
    moved = [name for name in last if name.startswith("average.")]
    assert any(not torch.equal(last[name], last[name.replace("average.", "weights.")]) for name in moved)


def test_an_average_of_other_weights_is_refused(tmp_path: Path) -> None:
    run = trained(tmp_path / "run", config_of(tmp_path))
    file, opened = run.checkpoints / "last.safetensors", configured.open_run(run.path)
    tensors, about = checkpoint.load(file)
    dropped = next(name for name in tensors if name.startswith("average."))
    checkpoint.save(file, {name: value for name, value in tensors.items() if name != dropped}, about)
    with pytest.raises(CheckpointError, match="average of other weights"):
        load_weights(file, opened.model, opened.model_hash)
