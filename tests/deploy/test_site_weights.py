"""Packed members weighed at known sites: fitted by `mclstm pack`, used by `mclstm predict`."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from mclstm import pipeline
from mclstm.cli.main import main
from mclstm.deploy.predict import predict
from mclstm.deploy.site_weights import read_site_weights, save_site_weights
from mclstm.errors import CheckpointError
from mclstm.evaluation.ensemble import read_members
from mclstm.evaluation.ensemble_weights import site_weights_of_members
from mclstm.explain.water_balance import balance_table


def test_known_sites_are_weighed_and_others_are_not(runs: list[Path], data: Path, tmp_path: Path) -> None:
    own = [Path(shutil.copytree(run, tmp_path / str(at))) for at, run in enumerate(runs)]
    for run in own:
        pipeline.evaluate(run, "train", figures=False)
    folder = tmp_path / "pack"
    assert main(["pack", *map(str, own), "--out", str(folder), "--weights", "train"]) == 0
    fitted = site_weights_of_members(read_members(own, "train"))
    alone = [predict(run, str(data)) for run in own]
    result = predict(folder, str(data))
    by_hand = sum(one["simulated"].to_numpy() * fitted[:, [at]] for at, one in enumerate(alone))
    np.testing.assert_allclose(result["simulated"], by_hand, rtol=1e-4)  # six digits of a weight
    assert result.attrs["simulated"] == "weighted mean of 2 members"
    assert balance_table(result)["relative error"].max() < 1e-5
    assert "At the 2 sites of `weights.json`" in (folder / "README.md").read_text()

    content = json.loads((folder / "weights.json").read_text())
    content["sites"] = {"elsewhere": [1.0, 0.0]}
    (folder / "weights.json").write_text(json.dumps(content))
    even = predict(folder, str(data))
    mean = np.mean([one["simulated"].to_numpy() for one in alone], axis=0)
    np.testing.assert_allclose(even["simulated"], mean, rtol=1e-12)


def test_weights_follow_the_names_of_members(tmp_path: Path) -> None:
    assert read_site_weights(tmp_path, ["a", "b"], ["x"]) is None
    save_site_weights(tmp_path, ["b", "a"], {"x": [0.25, 0.75]})
    result = read_site_weights(tmp_path, ["a", "b"], ["x", "y"])
    assert result is not None
    assert result.tolist() == [[0.75, 0.25], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("weights", "members"),
    [
        ([0.5, 0.6], "ab"),
        ([1.5, -0.5], "ab"),
        ([1.0], "ab"),
        (["1", 0], "ab"),
        (None, "ab"),
        ([0.5, 0.5], "ac"),
    ],
)
def test_damaged_weights_are_refused(weights: object, members: str, tmp_path: Path) -> None:
    content = {"members": list(members), "sites": {"x": weights}}
    (tmp_path / "weights.json").write_text(json.dumps(content))
    with pytest.raises(CheckpointError, match="Restore the"):
        read_site_weights(tmp_path, ["a", "b"], ["x"])
