"""`mclstm pack`: what it writes, that its numbers are those of the runs, and what it refuses."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from mclstm.cli.main import main
from mclstm.deploy.pack import pack as packed
from mclstm.deploy.predict import predict
from mclstm.errors import StorageError
from mclstm.evaluation.metrics import nse
from mclstm.training import checkpoint
from mclstm.training.folder import RunFolder
from support.layouts import STATIC, UNITS, Frames, as_csv, member, member_config

FILES = {"README.md", "model.json", "member-3.safetensors", "member-8.safetensors"}


def about(pack: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((pack / "model.json").read_text())
    return content


def refused(capsys: pytest.CaptureFixture[str], words: list[str], *expected: str) -> None:
    assert main(words) == 2
    said = capsys.readouterr().err
    assert len(said.strip().splitlines()) <= 3
    for word in expected:
        assert word in said, said


def test_a_pack_is_weights_a_description_and_a_card(pack: Path, runs: list[Path], data: Path) -> None:
    assert {file.name for file in pack.iterdir()} == FILES
    for run, seed in zip(runs, (3, 8), strict=True):
        theirs, _ = checkpoint.load(RunFolder(run).weights())
        ours, _ = checkpoint.load(pack / f"member-{seed}.safetensors")
        assert set(ours) == {name for name in theirs if name.startswith("weights.")}
        assert all(ours[name].equal(theirs[name]) for name in ours)
    text = (pack / "model.json").read_text() + (pack / "README.md").read_text()
    assert str(data.parent) not in text
    assert str(runs[0].parent) not in text
    assert [member["seed"] for member in about(pack)["members"]] == [3, 8]


def test_the_card_names_every_input_with_its_unit(pack: Path) -> None:
    card = (pack / "README.md").read_text()
    rows = [[cell.strip() for cell in line.split("|")[1:3]] for line in card.splitlines() if "|" in line]
    assert all([name, unit] in rows for name, unit in (UNITS | STATIC).items())
    assert "mclstm predict FOLDER" in card
    assert "in steps of a day, as" in card
    assert "{" not in card.replace("columns: {prcp: my_column}", "").replace("units: {my_column: mm/day}", "")


def test_scores_and_certificate_are_those_of_the_runs(pack: Path, runs: list[Path]) -> None:
    about_pack = about(pack)
    tables = [pd.read_csv(run / "evaluation/test/metrics.csv") for run in runs]
    single = np.mean([np.quantile(table["nse"], [0.25, 0.5, 0.75]) for table in tables], axis=0)
    np.testing.assert_allclose(
        [about_pack["test"]["single"]["nse"][k] for k in ("low", "median", "high")], single
    )
    flows = [xr.open_dataset(run / "evaluation/test/predictions.nc").load() for run in runs]
    mean = (flows[0]["simulated"] + flows[1]["simulated"]).to_numpy() / 2
    by_site = [nse(s, o) for s, o in zip(mean, flows[0]["observed"].to_numpy(), strict=True)]
    assert about_pack["test"]["ensemble"]["nse"]["median"] == pytest.approx(np.median(by_site))
    worst = [pd.read_csv(run / "evaluation/test/mass_balance.csv")["relative error"].max() for run in runs]
    assert about_pack["conservation"] == {
        "conserving": True,
        "residual": {"3": pytest.approx(worst[0]), "8": pytest.approx(worst[1])},
    }
    assert max(worst) < 1e-5
    card = (pack / "README.md").read_text()
    assert f"{worst[0]:.1e}" in card
    assert f"{single[1]:.3f}" in card


def test_a_pack_of_one_predicts_as_its_run(runs: list[Path], data: Path, tmp_path: Path) -> None:
    packed(runs[:1], tmp_path / "one")
    xr.testing.assert_identical(predict(tmp_path / "one", str(data)), predict(runs[0], str(data)))


def test_a_model_that_does_not_conserve_says_so(data: Path, tmp_path: Path) -> None:
    config = member_config(data, 0)
    config["model"] = {"name": "lstm", "hidden_size": 2}
    packed([member(tmp_path / "runs", config)], tmp_path / "lstm")
    assert about(tmp_path / "lstm")["conservation"] == {"conserving": False, "residual": {}}
    assert "does not conserve mass" in (tmp_path / "lstm" / "README.md").read_text()


@pytest.mark.parametrize("change", ["model.hidden_size", "training.updates", "data.static"])
def test_runs_of_another_model_are_refused(
    change: str, runs: list[Path], data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = member_config(data, 9)
    section, key = change.split(".")
    config[section][key] = {"hidden_size": 4, "updates": 5, "static": ["p_mean"]}[key]
    other = member(tmp_path / "runs", config)
    words = ["pack", str(runs[0]), str(other), "--out", str(tmp_path / "out")]
    refused(capsys, words, "not members of one model", f"differ in {change}", "differ in their seed")
    assert not (tmp_path / "out").exists()


def test_copies_other_data_and_unfinished_runs_are_refused(
    runs: list[Path], tables: Frames, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", str(tmp_path / "out")]
    copy = shutil.copytree(runs[0], tmp_path / "copy")
    refused(capsys, ["pack", str(runs[0]), str(copy), *out], "the same seed 3")
    wetter = {site: table.assign(prcp=table["prcp"] * 2) for site, table in tables.items()}
    other = member(tmp_path / "runs", member_config(as_csv(tmp_path / "wetter", wetter), 9))
    refused(capsys, ["pack", str(runs[0]), str(other), *out], "trained on different data")
    shutil.rmtree(other / "evaluation")
    refused(capsys, ["pack", str(other), *out], "mclstm evaluate")
    tensors, label = checkpoint.load(other / "checkpoints/last.safetensors")
    label["progress"]["finished"] = False
    checkpoint.save(other / "checkpoints/last.safetensors", tensors, label)
    refused(capsys, ["pack", str(other), *out], "is not finished", "mclstm resume")
    refused(capsys, ["pack", str(tmp_path / "wetter"), *out], "neither a run nor a folder of runs")
    assert not (tmp_path / "out").exists()


def test_a_scaling_may_differ_in_rounding_and_in_nothing_else(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The sums of an earlier version, or of another machine, end in other digits."""
    other = Path(shutil.copytree(runs[1], tmp_path / "other"))
    for factor, out in ((1 + 1e-14, "alike"), (1 + 1e-6, "unlike")):
        scaling = json.loads((runs[1] / "scaling.json").read_text())
        changed = {name: [mean * factor, std * factor] for name, (mean, std) in scaling.items()}
        (other / "scaling.json").write_text(json.dumps(changed))
        words = ["pack", str(runs[0]), str(other), "--out", str(tmp_path / out)]
        if out == "alike":
            assert main(words) == 0
        else:
            refused(capsys, words, "scale their inputs differently. Pack them apart.")


def test_too_large_a_pack_is_refused_and_leaves_nothing(runs: list[Path], tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"2 members would take 0\.0 MB, more than the 0\.001 MB"):
        packed(runs, tmp_path / "out", largest=1000)
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_not_replaced(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("")
    (tmp_path / ".other.1234.tmp").mkdir()
    refused(capsys, ["pack", *map(str, runs), "--out", str(tmp_path / "out")], "is there already")
    (tmp_path / "out" / "mine").unlink()
    assert main(["pack", *map(str, runs), "--out", str(tmp_path / "out"), "--json"]) == 0
    assert {file.name for file in tmp_path.iterdir()} == {"out", ".other.1234.tmp"}
    shown = json.loads(capsys.readouterr().out)
    assert shown["seeds"] == [3, 8]
    assert shown["bytes"] == sum(file.stat().st_size for file in (tmp_path / "out").iterdir())
