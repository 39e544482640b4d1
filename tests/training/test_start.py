"""A training that begins at the weights of a run or of a packed model, with its scaling."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from mclstm import pipeline
from mclstm.config import check_config
from mclstm.config.load import anchored
from mclstm.deploy.pack import pack
from mclstm.errors import CheckpointError, ConfigError, Interrupted
from support.small_run import brook, brook_config, trained

GATE = "weights.layer.gates.W_o"


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = trained(tmp_path_factory.mktemp("first"), updates=6, seed=3)
    pipeline.evaluate(run, figures=False)
    return run


def tuned(folder: Path, start: Path, stop: Any = lambda: None, **changes: Any) -> Path:
    """A run on two months of the brook that begins where another one ended."""
    folder.mkdir(exist_ok=True)
    raw = brook_config(brook(folder / "brook.csv"), start=str(start), **{"seed": 3, "updates": 2, **changes})
    raw["periods"] = raw["periods"] | {"train": ["2001-03-01", "2001-04-30"]}
    display = pipeline.partial(pipeline.showing, quiet=True)
    pipeline.train_or_resume(folder / "run", check_config(raw), display, stop)
    return folder / "run"


def weights(run: Path, name: str = "last") -> torch.Tensor:
    return load_file(run / "checkpoints" / f"{name}.safetensors")[GATE]


def test_it_begins_with_the_weights_and_keeps_the_scaling(first: Path, tmp_path: Path) -> None:
    still = tuned(tmp_path / "still", first, learning_rate=1e-10)
    torch.testing.assert_close(weights(still), weights(first, "best"), atol=1e-8, rtol=0)
    assert (still / "scaling.json").read_text() == (first / "scaling.json").read_text()
    assert "starting from" in (still / "log.txt").read_text()
    moved = tuned(tmp_path / "moved", first)
    assert not torch.equal(weights(moved), weights(still))


def test_a_packed_model_gives_the_member_with_the_seed(first: Path, tmp_path: Path) -> None:
    packed = pack([first], tmp_path / "pack").folder
    from_pack, from_run = tuned(tmp_path / "a", packed), tuned(tmp_path / "b", first)
    assert torch.equal(weights(from_pack), weights(from_run))
    with pytest.raises(ConfigError, match=r"no member with the seed 4\. Set training\.seed to one of 3"):
        tuned(tmp_path / "c", packed, seed=4)
    pipeline.evaluate(from_pack, figures=False)
    about = json.loads((pack([from_pack], tmp_path / "again").folder / "model.json").read_text())
    assert "start" not in about["config"]["training"]


def test_a_run_that_was_stopped_goes_on_and_does_not_begin_again(first: Path, tmp_path: Path) -> None:
    whole = tuned(tmp_path / "whole", first)
    with pytest.raises(Interrupted):
        tuned(tmp_path / "stopped", first, stop=lambda: signal.SIGTERM)
    assert torch.equal(weights(tuned(tmp_path / "stopped", first)), weights(whole))
    # Killed before the first checkpoint: the config is there, the weights are not.
    (tmp_path / "stopped" / "run" / "checkpoints" / "last.safetensors").unlink()
    (tmp_path / "stopped" / "run" / "metrics.jsonl").unlink()
    assert torch.equal(weights(tuned(tmp_path / "stopped", first)), weights(whole))


def test_what_cannot_be_a_start_is_refused(first: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="neither a run nor a packed model"):
        tuned(tmp_path / "a", tmp_path)
    with pytest.raises(ConfigError, match="has start, which is one model, and members"):
        tuned(tmp_path / "b", first, members=2)
    larger = brook_config(
        brook(tmp_path / "brook.csv"), {"name": "mclstm", "hidden_size": 5}, start=str(first)
    )
    with pytest.raises(CheckpointError, match="holds the state of another model"):
        pipeline.train(check_config(larger), tmp_path / "runs", quiet=True)


def test_a_relative_start_begins_at_the_folder_of_the_config(tmp_path: Path) -> None:
    config = check_config(brook_config(tmp_path / "brook.csv", start="packs/mine"))
    assert anchored(config, tmp_path).training.start == str(tmp_path / "packs" / "mine")
