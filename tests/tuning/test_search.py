"""`mclstm tune`: the same trials through kills and with any number of workers, never a look at test years."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from mclstm import pipeline
from mclstm.cli.main import main
from mclstm.config import check_config, load_config
from mclstm.config.load import anchored
from mclstm.errors import ConfigError
from mclstm.training import journal
from mclstm.training.folder import RunFolder
from mclstm.tuning.search import Search, tune
from support.small_run import brook, brook_config

TUNE: dict[str, Any] = {
    "trials": 8,
    "at_once": 2,
    "prune_after": 1,
    "choices": {"model.redistribution": ["dynamic", "identity"]},
    "ranges": {"model.hidden_size": [2, 6]},
    "log_ranges": {"training.learning_rate": [1e-3, 0.2]},
}
TRIALS = "brook-tuning/trials"


def search_file(folder: Path, periods: dict[str, Any] | None = None, **options: Any) -> Path:
    """Data and config of a search: two files in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    raw = brook_config(brook(folder / "brook.csv"))
    raw["data"]["path"] = "brook.csv"
    raw |= {"tune": TUNE | options} | ({} if periods is None else {"periods": periods})
    (folder / "brook.yaml").write_text(yaml.safe_dump(raw))
    return folder / "brook.yaml"


def searched(file: Path, **options: Any) -> Search:
    config = anchored(load_config(file), file.parent)
    return tune(config, file.parent / "brook-tuning", quiet=True, **options)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Search:
    """A search that nothing disturbed."""
    return searched(search_file(tmp_path_factory.mktemp("whole")))


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["tune", *words]) == 2
    (message,) = capsys.readouterr().err.splitlines()
    return message


def test_a_killed_search_goes_on_with_the_same_trials_by_any_number_of_workers(
    whole: Search, tmp_path: Path
) -> None:
    file = search_file(tmp_path)
    command = [sys.executable, "-m", "mclstm", "tune", str(file), "--out", str(tmp_path), "--quiet"]
    process = subprocess.Popen(command)
    begun = tmp_path / TRIALS / "0006" / "checkpoints" / "last.safetensors"
    while not begun.exists():  # in the last batch
        assert process.poll() is None
        time.sleep(0.001)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    finished = sorted((tmp_path / TRIALS).rglob("result.json"))
    times = [path.stat().st_mtime_ns for path in finished]
    assert len(finished) >= 6
    # What a kill in the middle of a write leaves behind as well.
    with (tmp_path / "brook-tuning/journal.log").open("a") as file_of_study:
        file_of_study.write('{"op_code": 4, "torn')
    os.symlink("journal.log", tmp_path / "brook-tuning/journal.log.lock")
    resumed = searched(file, workers=2)
    pd.testing.assert_frame_equal(resumed.trials, whole.trials)
    assert resumed.importance == whole.importance
    assert [path.stat().st_mtime_ns for path in finished] == times


def test_a_finished_search_is_read_and_more_trials_can_follow(whole: Search, tmp_path: Path) -> None:
    """The first command ends within a batch."""
    for trials in (5, 6, 6):
        file = search_file(tmp_path, trials=trials)
        pd.testing.assert_frame_equal(searched(file).trials, whole.trials[:trials])
    search_file(tmp_path, seed=1)
    with pytest.raises(ConfigError, match="holds the search of another config: the section tune differs"):
        searched(file)


def test_trials_are_pruned_and_chosen_by_validation(whole: Search) -> None:
    states = whole.trials["state"]
    assert set(states) == {"complete", "pruned"}
    assert (states[:4] == "complete").all()
    assert (whole.trials["updates"][states == "complete"] == 24).all()
    assert whole.trials["updates"][states == "pruned"].between(1, 23).all()
    scores = {
        number: max(
            line["validation_nse"]
            for line in journal.read(RunFolder(whole.folder / "trials" / f"{number:04d}").journal)
            if "validation_nse" in line
        )
        for number in whole.trials.index
    }
    assert whole.trials["score"].to_dict() == scores
    assert whole.score == max(score for number, score in scores.items() if states[number] == "complete")
    assert whole.importance.keys() == whole.values.keys()
    assert sum(whole.importance.values()) == pytest.approx(1.0)


def test_the_best_settings_train_to_the_same_score_and_have_their_test_period(
    whole: Search, tmp_path: Path
) -> None:
    config = load_config(whole.folder / "best.yaml")
    assert config.tune is None
    assert config.periods.test == ["2001-07-01", "2001-08-28"]
    run = pipeline.train(config, tmp_path, quiet=True)
    lines = [line["validation_nse"] for line in journal.read(run.folder.journal) if "validation_nse" in line]
    assert max(lines) == whole.score


def test_without_the_test_years_nothing_changes(whole: Search, tmp_path: Path) -> None:
    """All of their columns are lost: a reader that touched them would refuse the missing rain."""
    file = search_file(tmp_path, trials=3)
    data = pd.read_csv(tmp_path / "brook.csv")
    data.loc[data["date"] >= "2001-07-01", ["rain", "temperature", "flow"]] = np.nan
    data.to_csv(tmp_path / "brook.csv", index=False)
    pd.testing.assert_frame_equal(searched(file).trials, whole.trials[:3])
    trial = whole.folder / "trials" / "0000"
    assert json.loads((trial / "data_manifest.json").read_text())["last"] == "2001-06-30 00:00:00"
    assert load_config(trial / "config.yaml").periods.test is None


def test_observations_of_test_years_in_between_change_nothing(tmp_path: Path) -> None:
    """Rain and temperature of these years may fill stores before validation; observations are unseen."""
    between = {
        "train": ["2001-01-01", "2001-03-31"],
        "test": ["2001-04-01", "2001-06-30"],
        "validation": ["2001-07-01", "2001-08-28"],
    }
    tables = []
    for place in (tmp_path / "seen", tmp_path / "unseen"):
        file = search_file(place, between, trials=2)
        data = pd.read_csv(place / "brook.csv")
        inside = data["date"].between("2001-04-01", "2001-06-30")
        data.loc[inside, "flow"] = data["flow"] if place.name == "seen" else -1e6
        data.to_csv(place / "brook.csv", index=False)
        tables.append(searched(file).trials)
    pd.testing.assert_frame_equal(*tables)


def test_the_command_shows_the_best_and_what_mattered(
    whole: Search, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(whole.folder.parent / "brook.yaml"), "--out", str(whole.folder.parent)]
    assert main(["tune", *words, "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert f"validation NSE {whole.score:.3f}" in shown
    assert "training.learning_rate: " in shown
    assert "importance" in shown
    assert main(["tune", *words, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["values"] == whole.values
    assert content["score"] == whole.score
    assert all(Path(content[name]).stat().st_size > 0 for name in ("best", "table", "figure"))


def test_values_that_do_not_go_together_fail_alone(tmp_path: Path) -> None:
    options = {
        "ranges": {"training.warmup": [2, 14]},
        "choices": {"training.length": [8, 16]},
        "log_ranges": {},
    }
    trials = searched(search_file(tmp_path, **options)).trials
    assert set(trials["state"]) >= {"complete", "failed"}
    reasons = trials["reason"][trials["state"] == "failed"]
    assert reasons.str.contains("leaves no step to score").all()


def test_a_search_without_any_score_says_how_to_go_on(tmp_path: Path) -> None:
    file = search_file(tmp_path, trials=1)
    table = pd.read_csv(tmp_path / "brook.csv")
    config = load_config(file)
    first, last = map(str, config.periods.pair("validation"))
    table.loc[table.iloc[:, 0].between(first, last), config.data.target] = np.nan
    table.to_csv(tmp_path / "brook.csv", index=False)
    with pytest.raises(ConfigError, match=r"None of 1 trials .* has periods.validation observations\? Mend"):
        searched(file)


MISTAKES = {
    "an unknown key": ({"choices": {"model.cels": [2, 4]}}, "tune.choices, model.cels: there is no such key"),
    "a wrong value": ({"ranges": {"model.hidden_size": [0, 4]}}, "tune.ranges, model.hidden_size: needs"),
    "halves of cells": ({"ranges": {"model.hidden_size": [2, 4.5]}}, "hidden_size: needs a whole number"),
    "another section": ({"choices": {"data.path": ["a", "b"]}}, "needs keys of the model or the training"),
    "nothing": ({"choices": {}, "ranges": {}, "log_ranges": {}}, "tune: has nothing to search"),
    "a log of zero": ({"log_ranges": {"training.clip": [0, 1]}}, "training.clip in log_ranges from 0. Begin"),
    "one key twice": ({"choices": {"model.hidden_size": [2, 4]}}, "tune: names model.hidden_size twice"),
}


@pytest.mark.parametrize(("options", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_the_section_is_one_sentence(
    options: dict[str, Any], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = search_file(tmp_path, **options)
    assert message in refused(capsys, str(file), "--out", str(tmp_path))
    assert not (tmp_path / TRIALS).exists()


def test_what_a_search_needs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(search_file(tmp_path))
    assert "has no section `tune`. Say what to search" in refused(capsys, file, "--set", "tune=null")
    words = ("--set", "periods.validation=null")
    assert "has tune without periods.validation. Add it" in refused(capsys, file, *words)
    nested = ("--set", "tune.choices.model.stay=[0.5, 2.0]")  # as --set writes keys
    assert "tune.choices, model.stay: needs a number less than 1" in refused(capsys, file, *nested)
    raw = brook_config(tmp_path / "brook.csv")
    raw["periods"]["test"] = None
    with pytest.raises(ConfigError, match=r"periods.test is null: nothing would be scored"):
        pipeline.train(check_config(raw), tmp_path / "runs", quiet=True)


@pytest.mark.parametrize(
    ("package", "extra", "words"), [("optuna", "tune", ()), ("distributed", "dask", ("--dask", "local"))]
)
def test_a_missing_extra_is_named(
    package: str,
    extra: str,
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    message = refused(capsys, str(search_file(tmp_path)), "--out", str(tmp_path), *words)
    remedy = f'Install it with: pip install "mclstm[{extra}]"'
    assert message == f"mclstm tune: the package {package} is missing. {remedy}"
    assert not (tmp_path / "brook-tuning").exists()


def test_packages_of_extras_are_imported_where_they_are_used() -> None:
    code = (
        "import sys, mclstm.pipeline, mclstm.jobs.execution, mclstm.tuning.search, mclstm.cli.tune; "
        "print([name for name in ('optuna', 'distributed', 'dask') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
