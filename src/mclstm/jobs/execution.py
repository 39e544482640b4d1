"""Running a list of jobs: each checkpoints, resumes, and never runs again once it is finished."""

import json
import os
import secrets
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path

from mclstm.errors import Interrupted
from mclstm.jobs.job import Job, Result, description, finished_result, finished_results, locked, read_json
from mclstm.jobs.monitor import JobMonitor, Stop, showing_jobs
from mclstm.training.atomic import make_folder, write_text_atomic
from mclstm.training.cost import spent
from mclstm.training.interrupt import listening
from mclstm.training.journal import without_nan

__all__ = ["run_jobs"]

TICK = 0.2  # seconds between two looks at the jobs of an executor


def run_jobs(
    jobs: Sequence[Job],
    root: Path,
    *,
    workers: int = 1,
    executor: Executor | None = None,
    quiet: bool = False,
    after: Callable[[], None] = lambda: None,
) -> dict[str, Result]:
    """Run all jobs that have not reached their goal and return every result by name.

    workers: number of processes; 1 runs the jobs in this one. executor: used in their place; it needs a file
    system shared with this process. after: called in this process whenever jobs have ended.
    After a signal, or a failure of one job, all others save a checkpoint before the error is raised.

    >>> import tempfile
    >>> from mclstm.jobs.job import Work
    >>> def add(folder, monitor, goal, numbers): return {"sum": sum(numbers[:goal])}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run_jobs([Job("a", Work("add", add), {"numbers": [1, 2, 3]}, goal=2)], Path(folder), quiet=True)
    {'a': {'sum': 3}}
    """
    assert len({job.name for job in jobs}) == len(jobs), "two jobs have one name"
    waiting = [job for job in jobs if finished_result(job, root) is None]
    with showing_jobs(root, [job.name for job in waiting], quiet):
        if executor is not None:
            signum = run_in_executor(waiting, root, executor, None, after)
        elif workers > 1 and len(waiting) > 1:
            processes = min(workers, len(waiting))
            with ProcessPoolExecutor(processes, get_context("spawn"), prepare, (workers,)) as pool:
                signum = run_in_executor(waiting, root, pool, os.getpid(), after)
        else:
            signum = run_here(waiting, root, after)
    results = finished_results(jobs, root)
    if signum is not None:
        done = f"{len(results)} of {len(jobs)} jobs are finished"
        raise Interrupted(signum, f"Stopped; {done}. Run the same command to continue.")
    return results


def perform(job: Job, root: Path, stop: Stop | None = None) -> int | None:
    """Run one job in its folder and write its result; returns the number of the signal that stopped it."""
    folder = root / job.name
    make_folder(folder)
    with locked(folder):
        if read_json(folder / "job.json") is None:
            write_text_atomic(folder / "job.json", json.dumps(description(job), indent=1) + "\n")
        try:
            with listening() as signalled:
                monitor = JobMonitor(folder, signalled, stop)
                if (signum := monitor.stopped()) is not None:
                    raise Interrupted(signum, "")  # an executor may start one more job meanwhile
                with spent(folder):
                    result = job.work.function(folder, monitor, job.goal, **job.parameters, **job.place)
                content = {"goal": job.goal, "result": without_nan(result)}
                write_text_atomic(folder / "result.json", json.dumps(content, allow_nan=False) + "\n")
        except Interrupted as stopped:
            if stop is not None:
                stop.file.touch()
            return stopped.signum
    return None


def run_here(jobs: Sequence[Job], root: Path, after: Callable[[], None]) -> int | None:
    """Run one job after the other in this process."""
    for job in jobs:
        if (signum := perform(job, root)) is not None:
            return signum
        after()
    return None


def run_in_executor(
    jobs: Sequence[Job], root: Path, executor: Executor, parent: int | None, after: Callable[[], None]
) -> int | None:
    """Run all jobs through an executor; when one ends too early, the others save a checkpoint and stop."""
    make_folder(root)
    stop = Stop(root / f".stop-{secrets.token_hex(4)}", parent)
    pending: set[Future[int | None]] = set()
    try:
        with listening() as signalled:
            pending = {executor.submit(perform, job, root, stop) for job in jobs}
            while pending:
                ended, pending = wait(pending, timeout=TICK)
                signum = next((n for future in ended if (n := future.result()) is not None), signalled())
                if signum is not None:
                    raise Interrupted(signum, "")
                if ended:
                    after()
    except Interrupted as stopped:
        return stopped.signum
    finally:
        # Also after a failure: no job keeps running.
        stop.file.touch()
        wait([future for future in pending if not future.cancel()])
        stop.file.unlink(missing_ok=True)
    return None


def prepare(workers: int) -> None:
    """Set up a worker of the pool: it leaves Ctrl-C to its parent and shares the cores."""
    import torch

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // workers))
