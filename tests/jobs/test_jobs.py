"""Lists of jobs: kept when finished, resumed when not, stopped together, the same for every executor."""

import json
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mclstm.errors import CheckpointError, DataError, Interrupted, StorageError
from mclstm.jobs.execution import run_jobs
from mclstm.jobs.job import Job, Work, finished_results, locked
from mclstm.jobs.monitor import JobMonitor, Stop, print_lines, progress_of
from mclstm.training.cost import commit, total
from support.counting_jobs import COUNT, calls, count


def jobs(number: int, goal: int = 5, **parameters: float) -> list[Job]:
    return [Job(f"model/seeds-{at}", COUNT, dict(parameters), goal) for at in range(number)]


def test_finished_jobs_are_kept_and_never_run_again(tmp_path: Path) -> None:
    first = run_jobs(jobs(2), tmp_path, quiet=True)
    assert first["model/seeds-1"] == {"sum": 15, "bad": None}
    assert run_jobs(jobs(3), tmp_path, quiet=True).keys() == first.keys() | {"model/seeds-2"}
    assert [calls(tmp_path, job.name) for job in jobs(3)] == [1, 1, 1]


@pytest.mark.parametrize("workers", [1, 2])
def test_somebody_can_look_after_every_job(tmp_path: Path, workers: int) -> None:
    """Results are kept before that: whoever writes tables meanwhile finds them."""
    seen: list[int] = []
    run_jobs(
        jobs(3),
        tmp_path,
        workers=workers,
        quiet=True,
        after=lambda: seen.append(len(finished_results(jobs(3), tmp_path))),
    )
    assert seen == sorted(seen)
    assert seen[-1] == 3
    assert len(seen) == 3 or workers == 2  # two may end at once


def test_a_job_says_what_made_it(tmp_path: Path) -> None:
    """Also one that was stopped in between; and jobs from before that was kept stay valid."""
    with pytest.raises(Interrupted):
        run_jobs(jobs(1, kill_at=2), tmp_path, quiet=True)
    run_jobs(jobs(1, kill_at=2), tmp_path, quiet=True)
    folder = tmp_path / "model/seeds-0"
    found = total(folder)
    assert found["sessions"] == 2
    assert found["commit"] == commit()
    assert found["wall_seconds"] > 0
    assert set(json.loads((folder / "result.json").read_text())) == {"goal", "result"}
    (folder / "cost.json").unlink()
    assert run_jobs(jobs(1, kill_at=2), tmp_path, quiet=True)["model/seeds-0"]["sum"] == 15
    assert total(folder)["sessions"] == 0


def test_a_goal_can_be_raised_but_not_lowered(tmp_path: Path) -> None:
    run_jobs(jobs(1, goal=3), tmp_path, quiet=True)
    assert run_jobs(jobs(1, goal=6), tmp_path, quiet=True)["model/seeds-0"]["sum"] == 21
    with pytest.raises(CheckpointError, match="taken to 6, further than the 4"):
        run_jobs(jobs(1, goal=4), tmp_path, quiet=True)


def test_the_folder_of_another_job_is_refused(tmp_path: Path) -> None:
    run_jobs(jobs(1), tmp_path, quiet=True)
    with pytest.raises(CheckpointError, match=r"other settings \(pause is None there, 0.001 is asked for\)"):
        run_jobs(jobs(1, pause=0.001), tmp_path, quiet=True)
    (tmp_path / "model/seeds-0/job.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"job\.json cannot be read"):
        run_jobs(jobs(1), tmp_path, quiet=True)


def test_work_that_was_renamed_keeps_its_folder_and_other_work_does_not(tmp_path: Path) -> None:
    run_jobs(jobs(1), tmp_path, quiet=True)
    renamed = Work("counting", count, formerly=(COUNT.name,))
    job = jobs(1)[0]._replace(work=renamed)
    assert run_jobs([job], tmp_path, quiet=True)["model/seeds-0"]["sum"] == 15
    assert calls(tmp_path, job.name) == 1
    with pytest.raises(CheckpointError, match="it is made by count"):
        run_jobs([job._replace(work=renamed._replace(formerly=()))], tmp_path, quiet=True)


def test_a_file_that_is_no_result_is_named(tmp_path: Path) -> None:
    run_jobs(jobs(1), tmp_path, quiet=True)
    (tmp_path / "model/seeds-0/result.json").write_text('{"goal": 3}')
    with pytest.raises(CheckpointError, match=r"result\.json is no result of a job. Restore it"):
        run_jobs(jobs(1), tmp_path, quiet=True)


def test_a_signal_stops_here_and_the_same_call_goes_on(tmp_path: Path) -> None:
    with pytest.raises(Interrupted, match="0 of 2 jobs are finished") as stop:
        run_jobs(jobs(2, kill_at=2), tmp_path, quiet=True)
    assert stop.value.signum == signal.SIGTERM
    assert json.loads((tmp_path / "model/seeds-0/state.json").read_text()) == [3, 6]
    (tmp_path / "model/seeds-1").mkdir()
    (tmp_path / "model/seeds-1/killed").touch()
    assert {r["sum"] for r in run_jobs(jobs(2, kill_at=2), tmp_path, quiet=True).values()} == {15}


def test_processes_do_the_same_and_a_signal_reaches_all_of_them(tmp_path: Path) -> None:
    """One worker is signalled while the other works: both checkpoint, the third job does not begin."""
    slow = [
        Job(f"slow-{at}", COUNT, {"pause": 0.05, "kill_at": 3 if at == 0 else -1}, 400) for at in range(3)
    ]
    with pytest.raises(Interrupted) as stop:
        run_jobs(slow, tmp_path, workers=2, quiet=True)
    assert stop.value.signum == signal.SIGTERM
    assert calls(tmp_path, "slow-2") == 0
    states = {job.name: tmp_path / job.name / "state.json" for job in slow}
    reached = {name: json.loads(path.read_text())[0] for name, path in states.items() if path.exists()}
    assert reached["slow-0"] == 4
    assert all(done < 400 for done in reached.values())
    assert not list(tmp_path.glob(".working-*"))
    quick = [job._replace(goal=reached[job.name] + 1) for job in slow if job.name in reached]
    found = run_jobs(quick, tmp_path, quiet=True)
    assert {name: r["sum"] for name, r in found.items()} == {
        name: (done + 1) * (done + 2) // 2 for name, done in reached.items()
    }


def test_a_signal_to_the_parent_stops_jobs_elsewhere(tmp_path: Path) -> None:
    def strike() -> None:
        while progress_of(tmp_path / "model/seeds-0") is None:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=strike)
    thread.start()
    with ThreadPoolExecutor(1) as pool, pytest.raises(Interrupted) as stop:
        run_jobs(jobs(2, goal=400, pause=0.02), tmp_path, executor=pool, quiet=True)
    thread.join()
    assert stop.value.signum == signal.SIGINT
    assert calls(tmp_path, "model/seeds-1") == 0


def test_a_failure_is_raised_after_the_others_have_checkpointed(tmp_path: Path) -> None:
    work = [Job("bad", COUNT, {"fail_at": 2}, 5), *jobs(1, goal=400, pause=0.02)]
    with ThreadPoolExecutor(2) as pool, pytest.raises(DataError, match="meant to"):
        run_jobs(work, tmp_path, executor=pool, quiet=True)
    assert 0 < json.loads((tmp_path / "model/seeds-0/state.json").read_text())[0] < 400
    with pytest.raises(DataError, match="meant to"):
        run_jobs(work[:1], tmp_path, quiet=True)


def test_a_folder_is_one_processes(tmp_path: Path) -> None:
    (tmp_path / "model/seeds-0").mkdir(parents=True)
    with (
        locked(tmp_path / "model/seeds-0"),
        pytest.raises(StorageError, match="Another process works in"),
    ):
        run_jobs(jobs(1), tmp_path, quiet=True)


def test_an_orphan_stops(tmp_path: Path) -> None:
    (tmp_path / "working").touch()
    monitor = JobMonitor(tmp_path, lambda: None, Stop(tmp_path / "working", parent=os.getpid()))
    assert monitor.stopped() == signal.SIGTERM
    child = JobMonitor(tmp_path, lambda: None, Stop(tmp_path / "working", parent=os.getppid()))
    assert child.stopped() is None


def test_lines_say_how_far_and_how_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = iter([10, 20, 20])

    class Over:
        def wait(self, seconds: float) -> bool:
            done = next(shown, None)
            if done is not None:
                JobMonitor(tmp_path, lambda: None).show(done, 100, "1 of 3 seeds solved")
            return done is None

    monkeypatch.setattr("mclstm.jobs.monitor.WRITE_EVERY", 0.0)
    print_lines(tmp_path, ["."], Over())  # type: ignore[arg-type]
    first, second = capsys.readouterr().err.strip().splitlines()
    assert first == ".: 10/100, 1 of 3 seeds solved"
    assert second.startswith(".: 20/100, 1 of 3 seeds solved, ")
    assert second.endswith(" left")


def test_parts_of_a_job_show_one_progress(tmp_path: Path) -> None:
    monitor = JobMonitor(tmp_path, lambda: None)
    monitor.part(1, 4).show(10, 10)
    assert progress_of(tmp_path) == {"done": 20, "total": 40, "note": ""}
