"""The queue of long runs: it does what is left, keeps what must survive, and ends when its time is over."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from mclstm.jobs.monitor import JobMonitor
from mclstm_paper import registry
from mclstm_paper.record_queue.long_runs import LONG_RUNS, LongRun, Places
from mclstm_paper.record_queue.session import main, session, table
from mclstm_paper.record_queue.standing import Folders, standing
from toy.task import LEARN, learn

TOY = LongRun("toy", "toy", {"profile": "quick", "block": 1}, hours=2.0)
NOWHERE = Places()


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folders:
    monkeypatch.setitem(registry.EXPERIMENTS, "toy", "toy.experiment")
    return Folders(tmp_path / "out", tmp_path / "results", tmp_path / "weights" / "members")


def test_what_is_left_is_run_and_written(folders: Folders) -> None:
    before = standing(TOY, NOWHERE, folders)
    assert (len(before.left), before.hours) == (4, 2.0)
    (left,), signum = session([TOY], NOWHERE, folders, workers=1, minutes=5)
    assert (left.left, left.hours, signum) == ([], 0.0, None)
    rows = json.loads((folders.results / "toy" / "stated.json").read_text())["rows"]
    assert {row["n"] for row in rows} == {2}


def test_what_a_result_file_holds_is_not_run_on_another_machine(folders: Folders, tmp_path: Path) -> None:
    session([TOY], NOWHERE, folders, workers=1, minutes=5)
    elsewhere = folders._replace(out=tmp_path / "new machine")
    assert standing(TOY, NOWHERE, elsewhere).left == []
    more = TOY._replace(options=TOY.options | {"seeds": 3})
    one = standing(more, NOWHERE, elsewhere)
    assert len(one.left) == 6  # a file without some seeds cannot be completed from rows alone
    assert one.hours < 0.1  # measured, not guessed


def test_when_its_time_is_over_it_says_what_is_left(folders: Folders) -> None:
    (left,), signum = session([TOY], NOWHERE, folders, workers=1, minutes=0)
    assert signum is None
    assert left.left
    assert "| toy " in table([left])
    (left,), _ = session([TOY], NOWHERE, folders, workers=1, minutes=5)
    assert left.left == []
    assert table([left]) == "All is done."


def test_a_run_that_fails_does_not_stop_the_others(
    folders: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    """MNIST's folder is empty: that is said, and the toy is run."""
    folders.out.mkdir()
    digits = LongRun("digits", "mnist-sum", {"profile": "quick", "seeds": 1}, 1.0, ("mnist",))
    left, _ = session([digits, TOY], Places(mnist=folders.out), folders, workers=1, minutes=5)
    assert "Left out for now: digits." in capsys.readouterr().out
    assert left[0].left
    assert left[1].left == []


def die_once(folder: Path, monitor: JobMonitor, goal: int, model: str, **more: Any) -> dict[str, Any]:
    """A job whose process is ended from outside the first time."""
    if not (folder / "begun").exists():
        (folder / "begun").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return learn(folder, monitor, goal, model=model, **more)


def test_a_worker_that_is_killed_costs_its_job_no_more_than_that(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toy.experiment.LEARN", LEARN._replace(function=die_once))
    (left,), _ = session([TOY._replace(options={"profile": "quick"})], NOWHERE, folders, workers=2, minutes=5)
    assert left.left == []


def test_a_run_without_its_data_waits(folders: Folders) -> None:
    by_name = {run.name: run for run in LONG_RUNS}
    one = standing(by_name["guided cell"], NOWHERE, folders)
    assert one.waits == "needs camels and snow"
    assert one.hours == by_name["guided cell"].hours


def test_a_run_that_begins_with_another_waits_until_it_is_recorded(folders: Folders, tmp_path: Path) -> None:
    """On a new machine the runs it began with are gone, but its result file is there."""
    by_name = {run.name: run for run in LONG_RUNS}
    places = Places(camels=tmp_path / "camels", basins=("01022500",))
    tuning = by_name["fine-tuning"]
    assert "Run hydrology-unseen" in standing(tuning, places, folders).waits
    file = folders.results / "hydrology" / "fine-tuning.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"profile": "paper", "rows": [], "made": {}}')
    assert (standing(tuning, places, folders).waits, standing(tuning, places, folders).hours) == ("", 0.0)


def test_the_command_lists_and_refuses_names_it_does_not_know(
    folders: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--out", str(folders.out), "--results", str(folders.results), "--weights", str(folders.weights)]
    main(["--list", "--only", "subtraction by NAC", *where])
    assert "| subtraction by NAC | 1 of 1" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--only", "nothing", *where])
    assert "there is no run 'nothing'" in capsys.readouterr().err
