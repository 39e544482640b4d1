"""Members trained at once: each equals the model alone, in a call and over a whole run."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from mclstm import pipeline
from mclstm.config import check_config
from mclstm.deploy.pack import pack
from mclstm.deploy.predict import predict
from mclstm.errors import ConfigError, Interrupted
from mclstm.models.members import Members, seeded
from mclstm.run import Run
from mclstm.training.progress import showing
from mclstm.training.state import load_weights
from support.small_city import city, city_config, city_run

KINDS: dict[str, dict[str, Any]] = {
    "mclstm": {"name": "mclstm", "hidden_size": 4, "head": "mcfc", "initial_state": "learned"},
    "free head": {"name": "mclstm", "hidden_size": 4, "head": "linear", "aux_memory": 3, "cell_penalty": 0.1},
    "lstm": {"name": "lstm", "hidden_size": 4},
}
EPS = float(torch.finfo(torch.float32).eps)


def weights(run: Run) -> list[dict[str, torch.Tensor]]:
    """The last weights of each model of a run, by name."""
    load_weights(run.folder.checkpoints / "last.safetensors", run.model, run.model_hash)
    models = run.model.alone() if isinstance(run.model, Members) else [run.model]
    return [dict(model.named_parameters()) for model in models]


@pytest.mark.parametrize("kind", KINDS)
def test_a_member_equals_the_model_trained_alone_with_its_seed(kind: str, tmp_path: Path) -> None:
    settings = {"updates": 6, "clip": 0.05, "batch_size": 4, "average": 0.5}
    together = weights(city_run(tmp_path, model=KINDS[kind], seed=3, members=2, **settings))
    for seed, ours in zip((3, 4), together, strict=True):
        (alone,) = weights(city_run(tmp_path / str(seed), model=KINDS[kind], seed=seed, **settings))
        for name, value in alone.items():
            # Rounding of the norm alone; six steps of Adam of 0.02 carry it on.
            torch.testing.assert_close(ours[name], value, rtol=100 * EPS, atol=100 * EPS, msg=name)
    assert not all(torch.equal(together[0][name], together[1][name]) for name in together[0])


def test_a_resumed_run_ends_with_the_bits_of_one_that_was_not_stopped(tmp_path: Path) -> None:
    whole = weights(city_run(tmp_path / "whole", members=2, updates=4))
    path = tmp_path / "city.csv"
    city().to_csv(path)
    config, signals = check_config(city_config(path, members=2, updates=4)), iter([None, 2])
    display = partial(showing, quiet=True)
    with pytest.raises(Interrupted):
        pipeline.train_or_resume(tmp_path / "run", config, display, lambda: next(signals))
    parts = weights(pipeline.resume(tmp_path / "run", quiet=True))
    for one, other in zip(whole, parts, strict=True):
        assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return city_run(tmp_path_factory.mktemp("members"), members=3, seed=7)


def test_the_mean_is_predicted_and_every_member_is_there(run: Run) -> None:
    result = pipeline.evaluate(run, figures=True)
    predictions = result.predictions
    assert predictions["member"].to_numpy().tolist() == [7, 8, 9]
    members = predictions["by_member_out_east"].to_numpy()
    np.testing.assert_allclose(predictions["simulated_out_east"], members.mean(0), rtol=1e-12)
    assert np.nanmax(np.ptp(members, axis=0)) > 0
    eps = float(np.finfo(np.float32).eps)
    assert result.balance["relative error"].max() < 4 * eps * 24
    assert (predictions["storage"].to_numpy()[np.isfinite(predictions["storage"].to_numpy())] >= 0).all()


def test_a_pack_of_the_members_predicts_as_the_run(tmp_path: Path) -> None:
    city().to_csv(tmp_path / "city.csv")
    raw = city_config(tmp_path / "city.csv", members=3, seed=7, updates=1)
    run = city_run(tmp_path, raw)
    pipeline.evaluate(run, figures=False)
    assert pack([run.path], tmp_path / "pack").seeds == [7, 8, 9]
    city().filter(like="in_").to_csv(tmp_path / "new.csv")
    ours, theirs = (predict(path, str(tmp_path / "new.csv")) for path in (run.path, tmp_path / "pack"))
    assert ours.equals(theirs)
    assert "each day from 04:00 to 23:00" in (tmp_path / "pack" / "README.md").read_text()


def test_members_of_one_module_share_nothing(run: Run) -> None:
    def make() -> nn.Module:
        return nn.Linear(2, 1)

    both = seeded(make, [1, 2])
    assert isinstance(both, Members)
    torch.manual_seed(2)
    assert torch.equal(both.alone()[1].weight, make().weight)
    assert isinstance(seeded(make, [1]), nn.Linear)
    assert all(value.shape[0] == 3 for value in run.model.parameters())


def test_what_members_would_share_is_refused(tmp_path: Path) -> None:
    raw = city_config(tmp_path / "none.csv", {"name": "lstm", "dropout": 0.2}, members=2)
    with pytest.raises(ConfigError, match="trains members with dropout"):
        check_config(raw)
