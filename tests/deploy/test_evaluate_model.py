"""`mclstm evaluate` and `mclstm report` with packed models: the members as runs, and their mean."""

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from mclstm.cli.main import main
from mclstm.deploy.predict import predict
from mclstm.evaluation.ensemble_scores import crps
from mclstm.evaluation.score_tables import read_table
from mclstm.training.folder import RunFolder


def flows(folder: Path, split: str = "test") -> xr.Dataset:
    with xr.open_dataset(folder / "evaluation" / split / "predictions.nc", engine="h5netcdf") as file:
        return file.load()


@pytest.fixture(scope="module")
def evaluated(pack: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("evaluated") / "brooks"
    words = ["evaluate", str(pack), "--data", str(data), "--out", str(out), "--no-figures"]
    assert main(words) == 0
    return out


def test_each_member_is_scored_as_its_run_was(evaluated: Path, runs: list[Path]) -> None:
    for seed, run in zip((3, 8), runs, strict=True):
        ours, theirs = flows(evaluated / f"member-{seed}"), flows(run)
        for name in ("simulated", "observed", "storage", "outflow"):
            np.testing.assert_array_equal(ours[name], theirs[name])
        tables = [
            read_table(place / "evaluation/test/metrics.csv") for place in (evaluated / f"member-{seed}", run)
        ]
        assert tables[0].equals(tables[1])


def test_the_mean_is_that_of_the_members(evaluated: Path, runs: list[Path]) -> None:
    mean, members = flows(evaluated), [flows(run) for run in runs]
    each = np.stack([member["simulated"].to_numpy() for member in members])
    np.testing.assert_array_equal(mean["simulated"], each.mean(0))
    np.testing.assert_array_equal(mean["by_member"], each)
    total = np.mean([member["storage"].sum("cell").to_numpy() for member in members], axis=0)
    np.testing.assert_allclose(mean["storage"].to_numpy()[..., 0], total, rtol=1e-5)
    assert read_table(evaluated / "evaluation/test/mass_balance.csv")["relative error"].max() < 1e-5
    scores = read_table(evaluated / "evaluation/test/ensemble.csv")
    observed = mean["observed"].to_numpy()
    assert scores["crps"].tolist() == pytest.approx([crps(each[:, at], observed[at]) for at in (0, 1)])
    assert not (runs[0] / "evaluation/test/ensemble.csv").exists()


def test_a_member_predicts_from_its_folder_and_cannot_be_resumed(
    evaluated: Path, runs: list[Path], data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours, theirs = predict(evaluated / "member-3", str(data)), predict(runs[0], str(data))
    np.testing.assert_array_equal(ours["simulated"], theirs["simulated"])
    weights = RunFolder(evaluated / "member-3").weights().read_bytes()
    assert main(["resume", str(evaluated / "member-3")]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert RunFolder(evaluated / "member-3").weights().read_bytes() == weights


def test_dates_a_member_and_a_run_can_be_chosen(
    pack: Path, runs: list[Path], data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dates = ["--start", "2001-07-10", "--end", "2001-07-31"]
    words = ["--data", str(data), *dates, "--no-figures", "--json"]
    assert main(["evaluate", str(pack), "--member", "3", "--out", str(tmp_path / "a"), *words]) == 0
    assert json.loads(capsys.readouterr().out)["run"] == str(tmp_path / "a")
    assert main(["evaluate", str(runs[0]), "--out", str(tmp_path / "b"), *words]) == 0
    one, other = flows(tmp_path / "a"), flows(tmp_path / "b")
    assert one.sizes["time"] == 22
    np.testing.assert_array_equal(one["simulated"], other["simulated"])
    assert one.sizes["cell"] == 3


def test_a_report_takes_packs(
    pack: Path, runs: list[Path], data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = []
    for name, words in {
        "pack": [str(pack), "--data", str(data)],
        "runs": [*map(str, runs)],
    }.items():
        assert main(["report", *words, "--out", str(tmp_path / name), "--json"]) == 0
        rows.append(json.loads(capsys.readouterr().out)["rows"])
    assert rows[0] == rows[1]
    assert (tmp_path / "pack" / "packs" / f"0-{pack.name}" / "member-8" / "config.yaml").is_file()


def test_mistakes_are_named(
    pack: Path, runs: list[Path], data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packed, there, out = str(pack), ["--data", str(data)], tmp_path / "e"
    mistakes = {
        "carries no data. Add --data": ["evaluate", packed],
        "--start goes with --data": ["evaluate", str(runs[0]), "--start", "2001-07-01"],
        "packed model, which carries no data": ["report", packed, "--out", str(tmp_path / "r")],
        "is a run, whose own evaluation would be lost": ["evaluate", packed, *there, "--out", str(runs[0])],
        "has no periods.future": ["evaluate", packed, *there, "--split", "future", "--out", str(out)],
        "--start and --end leave no step": [
            "evaluate", packed, *there, "--start", "2011-01-01", "--out", str(out),
        ],
    }  # fmt: skip
    for expected, words in mistakes.items():
        assert main(words) == 2, expected
        assert expected in capsys.readouterr().err
    blind = tmp_path / "blind"
    blind.mkdir()
    for file in data.glob("*.csv"):
        text = file.read_text().replace("discharge", "unknown")
        (blind / file.name).write_text(text)
    assert main(["evaluate", packed, "--data", str(blind), "--out", str(out)]) == 2
    assert "a score needs observations" in capsys.readouterr().err
