"""The test years stay unseen until a recipe is committed; then it scores them, and each look counts."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from mclstm.cli.main import main
from mclstm.deploy.new_data import Source
from mclstm.deploy.predict import predict
from mclstm.evaluation.metrics import nse
from mclstm.training import checkpoint
from mclstm_paper.hydrology import final_scores, models, packing, recipe
from mclstm_paper.hydrology.card_notes import notes_of
from mclstm_paper.results import interval_row, save_results
from mclstm_paper.statistics import Interval

BASINS = ("01022500", "11141280")
MEMBERS = ("hybrid-0", "hybrid-1", "mclstm-0", "mclstm-1")
GIT = ["git", "-c", "user.name=n", "-c", "user.email=e@e.e", "-c", "commit.gpgsign=false"]


@pytest.fixture(scope="module")
def words(camels: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The experiment as a user runs it, small, on two basins; models and --out are left to the caller."""
    basins = tmp_path_factory.mktemp("basins") / "two.txt"
    basins.write_text("\n".join(BASINS) + "\n")
    sizes = ["--members", "2", "--updates", "2", "--cells", "3", "--quiet"]
    return ["experiment", "hydrology", "--data", str(camels), "--basins", str(basins), *sizes]


@pytest.fixture(scope="module")
def jobs(words: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two hybrids and two MC-LSTMs that have not seen the test years."""
    return trained(words, "hybrid,mclstm", tmp_path_factory.mktemp("validation"))


def trained(words: list[str], models: str, out: Path) -> Path:
    words = [*words, "--models", models, "--no-test", "--out", str(out)]
    assert main(words) == 0
    return out / "hydrology" / "quick-stated" / "jobs"


def freeze(jobs: Path, file: Path) -> dict:
    recipe.main([str(jobs), "--together", "both=hybrid,mclstm", "--results", str(file)])
    return json.loads(file.read_text())


def freeze_hybrids(jobs: Path, file: Path) -> dict:
    recipe.main([*(str(jobs / member) for member in MEMBERS[:2]), "--results", str(file)])
    return json.loads(file.read_text())


def flows(run: Path, split: str) -> xr.Dataset:
    with xr.open_dataset(run / "evaluation" / split / "predictions.nc", engine="h5netcdf") as file:
        return file[["simulated", "observed"]].load()


def close_outlets(run: Path) -> None:
    """Let nothing flow out of a trained model, so that it has steps without flow to count."""
    weights = run / "checkpoints" / "best.safetensors"
    tensors, about = checkpoint.load(weights)
    tensors["weights.layer.gates.b_o"] -= 1000.0
    checkpoint.save(weights, tensors, about)


def test_only_the_validation_years_are_scored(jobs: Path) -> None:
    for member in MEMBERS:
        log = (jobs / member / "log.txt").read_text()
        assert "evaluated validation:" in log
        assert "evaluated test" not in log
        assert not (jobs / member / "evaluation" / "test").exists()
    rows = json.loads((jobs.parent / "stated-variants.json").read_text())["rows"]
    assert {row["setting"] for row in rows} == {"2 basins, validation"}
    assert {row["model"] for row in rows} == {"hybrid", "hybrid-ensemble"}


def test_the_same_folder_is_not_scored_by_a_plain_command(
    jobs: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    out = jobs.parents[2]
    assert main([*words, "--models", "hybrid", "--out", str(out)]) == 2
    assert "split is validation there" in capsys.readouterr().err


def test_without_the_test_years_no_weight_and_no_choice_differs(
    words: list[str], camels: Path, camels_without_test: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flow of the test years missing: the same weights to the bit, chosen among several, the same recipe."""
    monkeypatch.setitem(models.SCALES, "quick", models.SCALES["quick"]._replace(validate_every=1))
    longer = [word if words[at - 1] != "--updates" else "9" for at, word in enumerate(words)]
    frozen, looks = [], []
    for number, data in enumerate((camels, camels_without_test)):
        here = [str(data) if word == str(camels) else word for word in longer]
        jobs = trained(here, "hybrid", tmp_path / str(number))
        looks.append(validations(jobs / "hybrid-0"))
        frozen.append(freeze_hybrids(jobs, tmp_path / f"{number}.json"))
    assert looks[0] == looks[1]
    seen, without = frozen
    assert without["recipe"] == seen["recipe"]
    scores = [
        [(row["model"], row["setting"], row["values"]) for row in one["rows"]] for one in (without, seen)
    ]
    assert scores[0] == scores[1]


def validations(run: Path) -> list[str]:
    """Update and score of each look at the validation years, of which the best weights are kept; several."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    scored = [f"{one['update']} {one['validation_nse']}" for one in lines if one.get("validation_nse")]
    assert len(scored) > 1
    return scored


def test_a_recipe_holds_members_weights_and_what_weights_are_worth(jobs: Path, tmp_path: Path) -> None:
    content = freeze(jobs, tmp_path / "recipe.json")
    assert set(content["recipe"]) == {"hybrid", "mclstm", "both"}
    assert [len(one["members"]) for one in content["recipe"].values()] == [2, 2, 4]
    for one in content["recipe"].values():
        assert set(one["weights"]) == set(BASINS)
        sums = [sum(weights) for weights in one["weights"].values()]
        np.testing.assert_allclose(sums, 1.0, atol=4e-6)  # six digits of up to four weights
    models = {row["model"] for row in content["rows"]}
    assert {"both-ensemble", "both-weighted-ensemble", "hybrid"} <= models
    assert "both" not in models  # several models have no single one
    halves = {row["setting"] for row in content["rows"] if row["model"] == "both-weighted-ensemble"}
    assert halves == {f"2 basins, validation{part}" for part in ("", ", half 1", ", half 2")}
    (row,) = [
        row for row in content["rows"]
        if (row["model"], row["setting"], row["metric"]) == ("hybrid-ensemble", "2 basins, validation", "nse")
    ]  # fmt: skip
    assert row["sites"] == sorted(BASINS)


def test_the_test_years_are_scored_by_a_committed_recipe_and_looks_are_counted(
    jobs: Path, camels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(jobs, tmp_path / "jobs")
    close_outlets(tmp_path / "jobs" / MEMBERS[0])
    file, results = tmp_path / "results" / "recipe.json", tmp_path / "results" / "stated.json"
    file.parent.mkdir()
    frozen = freeze(tmp_path / "jobs", file)["recipe"]
    words = [str(tmp_path / "jobs"), "--recipe", str(file), "--results", str(results)]
    subprocess.run([*GIT, "init", "-q", str(file.parent)], check=True)
    refused(words, "is not committed", capsys)
    commit(file)
    final_scores.main(words)
    assert "The test years were scored 1 time." in capsys.readouterr().out
    content = json.loads(results.read_text())
    compared = {one["claim"] for one in content["claims"]}
    assert {"mclstm-ensemble is better than both-ensemble in nse",
            "hybrid-ensemble is better than mclstm-ensemble in fhv"} <= compared  # fmt: skip
    rows = {(row["model"], row["metric"]): row for row in content["rows"]}
    assert {row["scoring"] for row in rows.values()} == {1}
    runs = [tmp_path / "jobs" / member for member in MEMBERS]
    parts = [flows(run, "test") for run in runs]
    dry = [float((part["simulated"] <= 0).mean()) for part in parts[:2]]
    assert dry[0] > dry[1]  # but for what rounding gives back
    np.testing.assert_allclose(rows["hybrid", "zero-flow"]["values"], dry, atol=5e-7)  # six digits
    assert ("both", "zero-flow") not in rows
    weights = np.array([frozen["both"]["weights"][str(site)] for site in parts[0]["site"].to_numpy()])
    weighted = sum(part["simulated"].to_numpy() * weights[:, [at]] for at, part in enumerate(parts))
    for model, simulated in (
        ("both-weighted-ensemble", weighted),
        ("both-ensemble", np.mean([part["simulated"].to_numpy() for part in parts], axis=0)),
    ):
        pairs = zip(simulated, parts[0]["observed"].to_numpy(), strict=True)
        np.testing.assert_allclose(rows[model, "nse"]["values"], [nse(s, o) for s, o in pairs], rtol=1e-5)
    packed = [*words[:3], "--ensemble", "both", "--data", str(camels), "--out", str(tmp_path / "pack")]
    packing.main(packed)
    whole = predict(tmp_path / "pack", columns_of(camels, tmp_path)).sel(
        time=slice("1990-10-01", "1999-09-30")
    )
    from_runs = xr.DataArray(weighted, parts[0]["simulated"].coords).sel(
        time=whole["time"], site=whole["site"]
    )
    np.testing.assert_allclose(whole["simulated"], from_runs, rtol=0.02, atol=0.01)  # stores begin in 1980
    assert "## Regions" in (tmp_path / "pack" / "hybrid" / "README.md").read_text()
    packing.main([*packed[:-1], str(tmp_path / "plain"), "--plain"])
    plain, weighed = ({file.relative_to(pack) for file in pack.rglob("*.*")}
                      for pack in (tmp_path / "plain", tmp_path / "pack"))  # fmt: skip
    assert weighed - plain == {Path("weights.json")}

    final_scores.main(words)
    looks = json.loads((file.parent / "scorings.json").read_text())
    assert [look["number"] for look in looks] == [1, 2]
    assert all((run / "log.txt").read_text().count("evaluated test:") == 1 for run in runs)

    file.write_text(file.read_text() + "\n")
    refused(words, "differs from the last commit", capsys)
    commit(file)
    shutil.rmtree(tmp_path / "jobs" / "mclstm-1")
    refused(words, "names mclstm with the seed 1, and no run has its weights", capsys)
    assert len(json.loads((file.parent / "scorings.json").read_text())) == 2  # a refusal is no look


def columns_of(camels: Path, folder: Path) -> Source:
    """The two basins of the archive."""
    (folder / "columns.yaml").write_text(f"sites: {json.dumps(BASINS)}\n")
    return Source(str(camels), columns=folder / "columns.yaml")


def commit(file: Path) -> None:
    subprocess.run([*GIT, "-C", str(file.parent), "add", file.name], check=True)
    subprocess.run([*GIT, "-C", str(file.parent), "commit", "-qm", "freeze"], check=True)


def refused(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        final_scores.main(words)
    assert end.value.code == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_runs_without_validation_scores_are_refused(
    jobs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(jobs, tmp_path / "jobs")
    shutil.rmtree(tmp_path / "jobs" / "hybrid-1" / "evaluation")
    with pytest.raises(SystemExit):
        recipe.main([str(tmp_path / "jobs"), "--results", str(tmp_path / "recipe.json")])
    assert "1 of 4 runs have not been evaluated on validation" in " ".join(capsys.readouterr().err.split())


def test_a_trial_cannot_slip_into_a_recipe(
    jobs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(jobs, tmp_path / "jobs")
    config = tmp_path / "jobs" / "hybrid-1" / "config.yaml"
    config.write_text(config.read_text().replace("name: hydrology-hybrid", "name: hydrology-hybrid-years"))
    with pytest.raises(SystemExit):
        recipe.main([str(tmp_path / "jobs"), "--results", str(tmp_path / "recipe.json")])
    assert "hybrid-years is no model of the record" in " ".join(capsys.readouterr().err.split())


def test_the_card_tells_scores_at_basins_never_seen(tmp_path: Path) -> None:
    """Those of the test years, by kind of folds; what only the validation years gave is left out."""
    settings = {
        f"9 basins never seen, {kind} folds": score for kind, score in (("random", 0.61), ("region", 0.52))
    }
    rows = [
        interval_row(setting, "hybrid", "nse", Interval(score, score, score, 1), [score])
        for setting, score in (settings | {"9 basins never seen, random folds, validation": 0.43}).items()
    ]
    save_results(tmp_path / "unseen.json", "hydrology-unseen", "paper", rows, 0.0)
    note = notes_of("conserving", {"hybrid"}, False, tmp_path, None)["Basins never seen"]
    assert all(f"| {kind} folds |" in note for kind in ("random", "region"))
    assert "none like this one was tried" not in note
    assert "0.610" in note
    assert "0.520" in note
    assert "0.430" not in note
    row = interval_row("9 basins", "hybrid-weighted-ensemble", "nse", Interval(0.7, 0.6, 0.8, 1), [0.7])
    save_results(tmp_path / "stated.json", "hydrology", "paper", [row], 0.0)
    notes = [notes_of("hybrid", {"lstm"}, weighted, tmp_path, None) for weighted in (False, True)]
    assert "0.700" in notes[1].pop("Weights of members")
    assert notes == [{}, {}]
    alike = notes_of("hybrid-temperature", {"hybrid-temperature"}, True, tmp_path, None)["Basins never seen"]
    assert "none like this one was tried" in alike
    assert "0.610" in alike
    assert notes_of("hybrid", {"hybrid"}, False, tmp_path / "nothing", None) == {}
