"""Jobs through an executor whose workers may die: in rounds, each with the jobs that the last one lost."""

import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, wait
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import NamedTuple

from mclstm.errors import Interrupted, StorageError, WorkerError
from mclstm.jobs.executors import lost
from mclstm.jobs.job import Job, finished_result, locked
from mclstm.jobs.monitor import Stop, progress_of
from mclstm.training.atomic import make_folder
from mclstm.training.interrupt import listening

__all__ = ["run_in_rounds"]

TICK = 0.2  # seconds between two looks at the jobs of an executor
PATIENCE = 60.0  # seconds in which a job has to save its checkpoint and stop
ROUNDS = 3  # with dead workers and without progress, after which jobs are given up

Perform = Callable[[Job, Path, Stop], int | None]
Open = Callable[[], AbstractContextManager[Executor]]


class Round(NamedTuple):
    """What a round shares: where its jobs lie, what runs one, how all are stopped."""

    root: Path
    perform: Perform
    stop: Stop
    after: Callable[[], None]


def run_in_rounds(
    jobs: Sequence[Job],
    root: Path,
    perform: Perform,
    open_executor: Open,
    after: Callable[[], None],
    children: bool = False,
) -> int | None:
    """Run all jobs; returns the number of the signal that stopped them, if one did.

    children: whether the workers are children of this process, which end with it
    """
    make_folder(root)
    rounds, reached = 0, standing(jobs, root)
    while True:
        stop = Stop(root / f".working-{secrets.token_hex(4)}", os.getpid() if children else None)
        stop.file.touch()
        with open_executor() as executor:
            signum, deaths = one_round(jobs, executor, Round(root, perform, stop, after))
        left = [job for job in jobs if finished_result(job, root) is None]
        if signum is not None or not deaths or not left:
            return signum
        before, reached = reached, standing(left, root)
        # Rounds without progress are counted, not deaths: where machines come and go, a long job dies often.
        further = len(left) < len(jobs) or any(reached[name] > before[name] for name in reached)
        rounds = 0 if further else rounds + 1
        if rounds == ROUNDS:
            raise given_up(left, reached)
        jobs, reached = left, {name: max(before[name], reached[name]) for name in reached}


def standing(jobs: Sequence[Job], root: Path) -> dict[str, int]:
    """How far each job is, -1 where it has not begun."""
    progress = {job.name: progress_of(root / job.name) for job in jobs}
    return {name: -1 if shown is None else int(shown["done"]) for name, shown in progress.items()}


def given_up(jobs: Sequence[Job], reached: Mapping[str, int]) -> WorkerError:
    """The error for jobs that lose every worker."""
    begun = [job.name for job in jobs if reached[job.name] >= 0]
    return WorkerError(
        f"Workers were killed {ROUNDS} times without any progress of {(begun or [jobs[0].name])[0]}, perhaps "
        f"for want of memory; {len(jobs)} jobs are left. Use fewer --workers or larger machines, and run the "
        "same command to continue."
    )


def one_round(jobs: Sequence[Job], executor: Executor, shared: Round) -> tuple[int | None, int]:
    """Run all jobs once; when one fails or a signal comes, the others save a checkpoint and stop.

    Returns the number of the signal, and how many jobs were lost with their workers.
    """
    pending: set[Future[int | None]] = set()
    deaths = 0
    try:
        with listening() as signalled:
            for job in jobs:
                with suppress(BrokenExecutor):
                    pending.add(executor.submit(shared.perform, job, shared.root, shared.stop))
            deaths = len(jobs) - len(pending)
            while pending:
                ended, pending = wait(pending, timeout=TICK)
                outcomes = [outcome(future) for future in ended]
                deaths += sum(died for _, died in outcomes)
                signum = next((number for number, _ in outcomes if number is not None), signalled())
                if signum is not None:
                    raise Interrupted(signum, "")
                if ended:
                    shared.after()
    except Interrupted as stopped:
        return stopped.signum, deaths
    finally:
        # Also after a failure: no job keeps running.
        shared.stop.file.unlink(missing_ok=True)
        wait([future for future in pending if not future.cancel()])
        if pending:
            wait_for_folders([shared.root / job.name for job in jobs])
    return None, deaths


def outcome(future: Future[int | None]) -> tuple[int | None, bool]:
    """The number of the signal that stopped a job, and whether its worker died; raises its other errors."""
    if future.cancelled():
        raise WorkerError(
            "The executor has dropped its jobs: its scheduler is gone. Start it again, and run the same "
            "command to continue."
        )
    error = future.exception()
    if error is not None and not lost(error):
        raise error
    return (future.result() if error is None else None), error is not None


def wait_for_folders(folders: Sequence[Path]) -> None:
    """Wait until no job works: Dask takes a job for cancelled while it still saves its checkpoint."""
    due = time.monotonic() + PATIENCE
    for folder in folders:
        if folder.is_dir():
            with suppress(StorageError), locked(folder, due - time.monotonic()):
                pass
