"""What a training cost is kept session by session."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mclstm import pipeline
from mclstm.config import check_config
from mclstm.errors import Interrupted
from mclstm.training.cost import commit, sessions, spent, total
from support.small_run import brook, brook_config


def test_every_session_counts_and_a_finished_run_adds_none(tmp_path: Path) -> None:
    config = check_config(brook_config(brook(tmp_path / "brook.csv"), updates=4))
    run, shown = tmp_path / "run", pipeline.partial(pipeline.showing, quiet=True)
    with pytest.raises(Interrupted):
        pipeline.train_or_resume(run, config, shown, lambda: signal.SIGTERM)
    assert len(sessions(run)) == 1
    pipeline.train_or_resume(run, config, shown, lambda: None)
    every = sessions(run)
    assert len(every) == 2
    for session in every:
        assert session["commit"] == commit()
        assert 0 <= session["cpu_seconds"] <= 2 * session["wall_seconds"] + 1
        assert 50 < session["peak_mb"] < 20_000
    kept = (run / "cost.json").read_bytes()
    pipeline.train_or_resume(run, config, shown, lambda: None)
    assert (run / "cost.json").read_bytes() == kept
    found = total(run)
    assert found["sessions"] == 2
    assert found["wall_seconds"] == pytest.approx(sum(session["wall_seconds"] for session in every))
    assert found["peak_mb"] == max(session["peak_mb"] for session in every)
    assert total(tmp_path / "before")["cpu_seconds"] is None


def test_a_damaged_note_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "cost.json").write_text("{")
    assert sessions(tmp_path) == []
    (tmp_path / "cost.json").write_text(json.dumps([{"cpu_seconds": 2.0}, 3]))
    assert total(tmp_path)["cpu_seconds"] == 2.0


def test_a_damaged_note_is_not_written_over(tmp_path: Path) -> None:
    note = tmp_path / "cost.json"
    note.write_text("{")
    with spent(tmp_path):
        (tmp_path / "weights").write_text("new")
    assert note.read_text() == "{"


def test_the_seconds_of_child_processes_count(tmp_path: Path) -> None:
    busy = "import time\nwhile time.process_time() < 0.5: pass"
    with spent(tmp_path):
        subprocess.run([sys.executable, "-c", busy], check=True)
        (tmp_path / "weights").write_text("new")
    assert 0.45 < total(tmp_path)["cpu_seconds"] < 10


def test_a_job_that_writes_nothing_but_its_result_has_a_cost(tmp_path: Path) -> None:
    for name, other in (("alone", None), ("finished run", "weights")):
        folder = tmp_path / name
        folder.mkdir()
        if other:
            (folder / other).write_text("as before")
        with spent(folder):
            (folder / "result.json").write_text("{}")
        assert len(sessions(folder)) == (0 if other else 1)
