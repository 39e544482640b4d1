"""A saved state goes on with the weights that made it, and with no others."""

from pathlib import Path

import pandas as pd
import pytest

from mclstm.cli.main import main
from mclstm.deploy.predict import predict
from mclstm.errors import CheckpointError
from mclstm.training import checkpoint
from support.layouts import Frames, as_csv
from support.small_run import brook, trained


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A brook in two halves, and two runs that differ in their seed alone."""
    place = tmp_path_factory.mktemp("states")
    table = pd.read_csv(brook(place / "brook.csv"))
    table[:100].to_csv(place / "first.csv", index=False)
    table[100:].to_csv(place / "rest.csv", index=False)
    for seed in (0, 1):
        trained(place / str(seed), updates=2, seed=seed).rename(place / f"run-{seed}")
    return place


def test_a_state_of_other_weights_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = folder / "state.safetensors"
    predict(folder / "run-0", str(folder / "first.csv"), None, state)
    words = ["predict", str(folder / "run-1"), "--data", str(folder / "rest.csv"), "--state-in", str(state)]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "was made by a model with other weights" in said
    assert "without --state-in" in said
    predict(folder / "run-0", str(folder / "rest.csv"), state)


def test_training_that_goes_on_makes_old_states_foreign(folder: Path) -> None:
    run, state = trained(folder / "longer", updates=2), folder / "state-2.safetensors"
    predict(run, str(folder / "first.csv"), None, state)
    weights = run / "checkpoints" / "best.safetensors"
    tensors, about = checkpoint.load(weights)
    checkpoint.save(weights, {name: value * 1.001 for name, value in tensors.items()}, about)
    with pytest.raises(CheckpointError, match="other weights"):
        predict(run, str(folder / "rest.csv"), state)


def test_a_state_of_an_older_version_names_no_weights_and_is_read(folder: Path) -> None:
    state, old = folder / "state-3.safetensors", folder / "old.safetensors"
    predict(folder / "run-0", str(folder / "first.csv"), None, state)
    tensors, about = checkpoint.load(state)
    checkpoint.save(old, tensors, {k: about[k] for k in about if k not in ("weights", "steps")})
    new, same = (predict(folder / "run-0", str(folder / "rest.csv"), path) for path in (state, old))
    assert new["simulated"].equals(same["simulated"])
    checkpoint.save(old, tensors, about | {"steps": ["many"]})
    with pytest.raises(CheckpointError, match="not a state"):
        predict(folder / "run-0", str(folder / "rest.csv"), old)


def test_a_state_of_all_members_is_not_one_of_a_single_member(
    pack: Path, tables: Frames, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    halves = [
        as_csv(tmp_path / name, {site: table[part] for site, table in tables.items()})
        for name, part in (("a", slice(0, 100)), ("b", slice(100, None)))
    ]
    words = ["predict", str(pack), "--member", "3", "--out", str(tmp_path / "p.nc")]
    state = str(tmp_path / "state")
    assert main([*words, "--data", str(halves[0]), "--state-out", state]) == 0
    assert main([*words, "--data", str(halves[1]), "--state-in", state]) == 0
    assert main(["predict", str(pack), "--data", str(halves[1]), "--state-in", state]) == 2
    assert "other weights" in capsys.readouterr().err
