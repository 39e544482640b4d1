"""SIGINT and SIGTERM: a checkpoint within one update, exit code 130 or 143, and nothing lost."""

import os
import signal
from pathlib import Path

import pytest

from durability.conftest import Whole, ends_identical, stopped_in
from durability.processes import start
from mclstm.training.interrupt import listening
from mclstm_paper.durability.run_process import run_below, saved_update, wait_for
from support.small_run import brook, brook_config, brook_file

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.mark.parametrize("number", CODES, ids=lambda number: number.name)
def test_the_command_stops_and_goes_on(number: signal.Signals, tmp_path: Path, whole: Whole) -> None:
    # No checkpoint but the first is due before the end: what is kept is kept because of the signal.
    config, root, messages = brook_file(tmp_path, checkpoint_every=1000), tmp_path / "runs", tmp_path / "said"
    process = start(["train", str(config), "--out", str(root), "--quiet"], messages)
    assert wait_for(process, lambda: any(root.glob("*/*/metrics.jsonl")))
    assert process.pid is not None
    os.kill(process.pid, number)
    process.join()
    said = messages.read_text()
    assert process.exitcode == CODES[number], said
    run = run_below(root)
    assert run is not None
    update = saved_update(run)
    assert update > 0
    assert f"Stopped after update {update} of 24: continue with `mclstm resume {run}`." in said
    assert ends_identical(whole.raw, root, whole.results)


@pytest.mark.parametrize("update", [1, 7, 24])
def test_the_update_under_way_is_the_last(update: int, tmp_path: Path) -> None:
    """Also in the last update of all, whose signal must not vanish because the run is over."""
    raw = brook_config(brook(tmp_path / "brook.csv"), checkpoint_every=1000)
    run, said = stopped_in(update, raw, tmp_path / "runs")
    assert f"Stopped after update {update} of 24" in said
    assert saved_update(run) == update


def signalled(times: int) -> None:
    with listening() as stopped:
        assert stopped() is None
        signal.raise_signal(signal.SIGINT)
        assert stopped() == signal.SIGINT
        for _ in range(times - 1):
            signal.raise_signal(signal.SIGINT)
            pytest.fail("the second signal was only noted")


def test_a_signal_after_the_last_question_is_not_lost() -> None:
    with pytest.raises(KeyboardInterrupt):
        signalled(times=1)


def test_a_second_signal_ends_the_program_at_once() -> None:
    with pytest.raises(KeyboardInterrupt):
        signalled(times=2)


def test_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with listening():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before
