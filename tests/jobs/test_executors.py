"""Jobs through workers that are killed: exactly one result per job, the same from processes and from Dask."""

import importlib.util
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from shutil import which
from types import SimpleNamespace
from typing import Any

import pytest

from mclstm.cli.main import main
from mclstm.errors import ConfigError, Interrupted, WorkerError
from mclstm.jobs.execution import run_jobs
from mclstm.jobs.executors import cluster, dask_executor, local_cluster
from mclstm.jobs.job import Job, locked
from mclstm.jobs.monitor import progress_of
from support.counting_jobs import COUNT, calls, kill_workers
from support.small_run import brook_file

JOBS, KILLS = 20, 8


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Two workers, each with a nanny that replaces it when it dies."""
    with local_cluster(2) as scheduler:
        yield scheduler


@pytest.fixture
def dask(address: str) -> Iterator[Executor]:
    with dask_executor(address) as executor:
        yield executor


def twenty() -> list[Job]:
    return [Job(f"model/seeds-{at}", COUNT, {"pause": 0.02}, 20 + at) for at in range(JOBS)]


def run_and_kill(root: Path, kills: int, **place: Any) -> tuple[dict[str, Any], list[str]]:
    """All results, and the jobs whose worker was killed; no result may be written twice."""
    written: dict[Path, tuple[int, int]] = {}

    def look() -> None:
        for file in root.rglob("result.json"):
            state = file.stat()
            assert written.setdefault(file, (state.st_ino, state.st_mtime_ns)) == (
                state.st_ino,
                state.st_mtime_ns,
            )

    over = threading.Event()
    with ThreadPoolExecutor(1) as thread:
        killed = thread.submit(kill_workers, root, kills, over)
        try:
            results = run_jobs(twenty(), root, quiet=True, after=look, **place)
        finally:
            over.set()
    look()
    assert len(written) == JOBS
    assert not list(root.glob(".working-*"))
    return results, killed.result()


def test_twenty_jobs_outlive_eight_workers_of_dask_and_one_of_the_pool(
    dask: Executor, tmp_path: Path
) -> None:
    by_dask, killed = run_and_kill(tmp_path / "dask", KILLS, executor=dask)
    assert len(killed) == KILLS
    assert all(calls(tmp_path / "dask/model", name) > 1 for name in killed)
    by_pool, killed = run_and_kill(tmp_path / "pool", 1, workers=2)
    assert len(killed) == 1
    assert by_dask == by_pool
    assert by_pool == {
        f"model/seeds-{at}": {"sum": (20 + at) * (21 + at) // 2, "bad": None} for at in range(JOBS)
    }


def test_a_job_that_kills_every_worker_is_given_up_in_one_sentence(
    address: str, dask: Executor, tmp_path: Path
) -> None:
    from distributed import Client

    with Client(address, set_as_default=False) as client:  # else Dask tries three more workers per round
        client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 0))
    jobs = [Job("greedy", COUNT, {"die_at": 2}, 5), Job("modest", COUNT, {}, 5)]
    with pytest.raises(WorkerError, match=r"without any progress of greedy.* 1 jobs are left. Use fewer"):
        run_jobs(jobs, tmp_path, executor=dask, quiet=True)
    assert (tmp_path / "modest/result.json").is_file()


def test_a_signal_stops_the_jobs_on_a_cluster_after_a_checkpoint(dask: Executor, tmp_path: Path) -> None:
    jobs = [Job(f"slow-{at}", COUNT, {"pause": 0.02}, 400) for at in range(3)]

    def strike() -> None:
        while progress_of(tmp_path / "slow-0") is None:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=strike)
    thread.start()
    with pytest.raises(Interrupted, match="0 of 3 jobs are finished"):
        run_jobs(jobs, tmp_path, executor=dask, quiet=True)
    thread.join()
    assert sum(calls(tmp_path, job.name) for job in jobs) <= 2  # Dask chooses which of them has to wait
    for folder in tmp_path.iterdir():
        with locked(folder):  # nobody works there any more
            assert not (folder / "result.json").exists()


def test_a_search_and_an_ensemble_run_on_a_cluster(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Through the file that starts workers on SLURM, with a cluster of this machine in its place."""
    file = Path(__file__).parents[2] / "examples" / "slurm" / "on_slurm.py"
    spec = importlib.util.spec_from_file_location("on_slurm", file)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    config, out = str(brook_file(tmp_path)), ["--out", str(tmp_path), "--json"]
    if which("sbatch") is None:
        assert example.run(2, ["tune", config]) == 2
        assert capsys.readouterr().err.startswith("There is no SLURM here (no sbatch). Use --workers")
    monkeypatch.setattr(example.shutil, "which", lambda name: name)
    here = SimpleNamespace(scheduler_address=address)
    monkeypatch.setattr(example, "slurm_workers", lambda number: nullcontext(here))

    space = ["--set", "tune.choices.model.hidden_size=[2, 3]"]
    assert example.run(2, ["tune", config, *space, "--trials", "2", *out]) == 0
    assert json.loads(capsys.readouterr().out)["states"] == {"complete": 2}
    assert example.run(2, ["train", config, "--runs", "2", *out]) == 0
    scores = json.loads(capsys.readouterr().out)["nse"]
    assert list(scores) == ["seed-0", "seed-1"]
    assert main(["train", config, "--runs", "2", "--out", str(tmp_path / "here"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["nse"] == scores
    assert main(["pack", str(tmp_path / "brook-ensemble"), "--out", str(tmp_path / "pack")]) == 0
    assert main(["train", config, "--workers", "2"]) == 2
    assert main(["train", config, "--runs", "2", "--set", "training.members=2"]) == 2


def test_an_ensemble_says_what_is_wrong_before_it_trains(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["train", str(brook_file(tmp_path)), "--runs", "2", "--quiet", "--out", str(tmp_path / "runs")]
    assert main([*words, "--set", "periods.test=null"]) == 2
    assert capsys.readouterr().err.startswith("periods.test is null: nothing would be scored.")
    assert not (tmp_path / "runs").exists()

    assert main([*words, "--set", "evaluation.metrics=[kge]"]) == 0
    assert capsys.readouterr().out.count("seed-0: no NSE\n") == 1
    assert main([*words, "--set", "evaluation.metrics=[kge]", "--set", "model.hidden_size=5"]) == 2
    (message,) = capsys.readouterr().err.splitlines()
    assert "(config.model.hidden_size is 3 there, 5 is asked for)" in message


def test_a_worker_waits_for_one_that_was_given_up_and_takes_its_result(tmp_path: Path) -> None:
    """Two calls with the same job: the second one's worker comes while the first one's still works."""
    job = Job("once", COUNT, {"pause": 0.01}, 30)
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second, ThreadPoolExecutor(2) as callers:
        both = [
            callers.submit(run_jobs, [job], tmp_path, executor=pool, quiet=True) for pool in (first, second)
        ]
    assert [future.result()["once"]["sum"] for future in both] == [465, 465]
    assert calls(tmp_path, "once") == 1


def test_workers_that_write_elsewhere_are_named(tmp_path: Path) -> None:
    class Elsewhere(ThreadPoolExecutor):
        def submit(self, fn: Any, job: Job, root: Path, *rest: Any) -> Any:  # type: ignore[override]
            return super().submit(fn, job, tmp_path / "there", None)

    with Elsewhere(1) as pool, pytest.raises(WorkerError, match="1 jobs have ended without a result in"):
        run_jobs([Job("a", COUNT, {}, 2)], tmp_path / "here", executor=pool, quiet=True)


def test_schedulers_that_cannot_serve_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mclstm.jobs.executors.PATIENCE", 0.5)
    with (
        pytest.raises(ConfigError, match=r"--dask tcp://127.0.0.1:1: no scheduler answers"),
        cluster("tcp://127.0.0.1:1"),
    ):
        pass
    with (
        pytest.raises(ConfigError, match=r"--dask nonsense: no scheduler answers .missing port number"),
        cluster("nonsense"),
    ):
        pass
    with (
        pytest.raises(ConfigError, match=r"--workers 3 counts processes of this machine. Leave out one"),
        cluster("tcp://127.0.0.1:1", workers=3),
    ):
        pass
    from distributed import LocalCluster

    with (
        LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as threads,
        pytest.raises(ConfigError, match=r"has 2 threads, and a job needs a process of its own"),
        cluster(threads.scheduler_address),
    ):
        pass
