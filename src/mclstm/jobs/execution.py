"""Running a list of jobs: each checkpoints, resumes, and never runs again once it is finished."""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from mclstm.errors import Interrupted, WorkerError
from mclstm.jobs.executors import process_pool, without_cluster
from mclstm.jobs.job import Job, Result, description, finished_result, finished_results, locked, read_json
from mclstm.jobs.monitor import JobMonitor, Stop, showing_jobs
from mclstm.jobs.rounds import run_in_rounds
from mclstm.training.atomic import make_folder, write_text_atomic
from mclstm.training.cost import spent
from mclstm.training.interrupt import listening
from mclstm.training.journal import without_nan

__all__ = ["run_jobs"]

PATIENCE = 60.0  # seconds in which a worker that was given up for dead has to stop


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
    After a signal, or a failure of one job, all others save a checkpoint before the error is raised. Jobs
    whose worker is killed run again, from their checkpoints.

    >>> import tempfile
    >>> from mclstm.jobs.job import Work
    >>> def add(folder, monitor, goal, numbers): return {"sum": sum(numbers[:goal])}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run_jobs([Job("a", Work("add", add), {"numbers": [1, 2, 3]}, goal=2)], Path(folder), quiet=True)
    {'a': {'sum': 3}}
    """
    assert len({job.name for job in jobs}) == len(jobs), "two jobs have one name"
    root = root.absolute()  # a worker elsewhere has another working folder
    waiting = [job for job in jobs if finished_result(job, root) is None]
    with showing_jobs(root, [job.name for job in waiting], quiet):
        if executor is not None:
            signum = run_in_rounds(waiting, root, perform, lambda: nullcontext(executor), after)
        elif workers > 1 and len(waiting) > 1:
            pool = partial(process_pool, min(workers, len(waiting)))
            signum = run_in_rounds(waiting, root, perform, pool, after, children=True)
        else:
            signum = run_here(waiting, root, after)
    results = finished_results(jobs, root)
    if signum is not None:
        done = f"{len(results)} of {len(jobs)} jobs are finished"
        raise Interrupted(signum, f"Stopped; {done}. Run the same command to continue.")
    if len(results) < len(jobs):
        raise WorkerError(
            f"{len(jobs) - len(results)} jobs have ended without a result in {root}: the workers write "
            "elsewhere. Choose a folder with --out that all of them share."
        )
    return results


def perform(job: Job, root: Path, stop: Stop | None = None) -> int | None:
    """Run one job in its folder and write its result; returns the number of the signal that stopped it."""
    folder = root / job.name
    make_folder(folder)
    with locked(folder, 0.0 if stop is None else PATIENCE), without_cluster():
        if finished_result(job, root) is not None:
            return None  # by a worker that was given up for dead
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
                stop.file.unlink(missing_ok=True)
            return stopped.signum
    return None


def run_here(jobs: Sequence[Job], root: Path, after: Callable[[], None]) -> int | None:
    """Run one job after the other in this process."""
    for job in jobs:
        if (signum := perform(job, root)) is not None:
            return signum
        after()
    return None
