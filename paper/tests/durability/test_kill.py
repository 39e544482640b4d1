"""Killed at random instants and resumed each time, a run ends with the bits of one that was not."""

import subprocess
import sys
from pathlib import Path

from durability.conftest import Whole
from mclstm_paper.durability.kill_runs import digests, experiment, undisturbed
from mclstm_paper.durability.run_process import kill_during, run_below, start_run, unfinished_files
from support.small_run import brook, brook_config

RESUME = (
    "import sys; from pathlib import Path; from mclstm import pipeline; "
    "run = pipeline.resume(Path(sys.argv[1]), quiet=True); pipeline.evaluate(run.path, figures=False)"
)


def test_a_dozen_kills_in_training_saving_and_evaluating(tmp_path: Path) -> None:
    kills = experiment(12, ["mclstm sequence"], seed=1, root=tmp_path, updates=24)
    assert len(kills) == 12
    assert {kill.outcome for kill in kills} == {"identical"}, kills
    assert {"training", "saving", "evaluating"} <= {kill.phase for kill in kills}, kills
    assert sum(bool(kill.drafts) for kill in kills) >= 2  # died in the middle of a file


def test_a_process_that_shares_no_memory_goes_on(tmp_path: Path, whole: Whole) -> None:
    """All others are forked from one server; this one starts from nothing, like the user's next command."""
    root = killed_in_the_middle_of_a_file(tmp_path, whole)
    run = run_below(root)
    assert run is not None
    subprocess.run([sys.executable, "-c", RESUME, str(run)], check=True, timeout=300)
    assert digests(root) == whole.results
    assert not unfinished_files(root)


def killed_in_the_middle_of_a_file(folder: Path, whole: Whole) -> Path:
    """The one kill in a hundred that comes a moment too late is tried again on a new run."""
    for attempt in range(10):
        root = folder / str(attempt)
        if kill_during(start_run(whole.raw, root), root, "saving", 0.05) and unfinished_files(root):
            return root
    raise AssertionError("ten kills aimed at saving left no unfinished file")


def test_two_whole_runs_are_the_same_bytes(tmp_path: Path, whole: Whole) -> None:
    raw = brook_config(brook(tmp_path / "brook.csv"), checkpoint_every=7)
    assert undisturbed(raw, tmp_path / "runs")[0] == whole.results
