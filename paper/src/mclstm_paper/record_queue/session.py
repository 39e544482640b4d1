"""All long runs of the record as one command: it continues, stops at a deadline, and says what is left.

    python -m mclstm_paper.record_queue.session --data camels_us --basins basins_447.txt --snow SNOW \\
        --mnist MNIST --workers 2 --minutes 120

Rows go to results/, weights of members to weights/members. Commit both after a session; nothing else has to
survive the machine. `--list` only says what is left.
"""

import argparse
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from mclstm.errors import CheckpointError, ConfigError, DataError, Interrupted, StorageError, TrainingError
from mclstm.jobs.execution import run_jobs
from mclstm.jobs.job import Result, Work, finished_results
from mclstm.jobs.monitor import JobMonitor
from mclstm.report.markdown import markdown
from mclstm.training.interrupt import listening
from mclstm_paper import runner
from mclstm_paper.hydrology.basins import read_basins
from mclstm_paper.hydrology.keeping import keep
from mclstm_paper.record_queue.long_runs import LONG_RUNS, LongRun, Places, options_of
from mclstm_paper.record_queue.standing import Folders, Standing, planned_run, standing

__all__ = ["main", "session"]

LOWEST = 19  # priority: other work goes first
MOST_LOST = 3  # workers, before the session gives up; jobs continue from their checkpoints
FAILED = "error.txt"  # in the folder of a job, the sentence it ended with
Signalled = Callable[[], int | None]
OURS = (CheckpointError, ConfigError, DataError, StorageError, TrainingError)


def session(
    runs: Sequence[LongRun], places: Places, folders: Folders, workers: int, minutes: float
) -> tuple[list[Standing], int | None]:
    """Work on the runs in their order until all are done or the time is over.

    Returns what is left then, and the number of the signal that stopped the work, if one did.
    """
    signum, over = None, threading.Event()
    try:
        with listening() as signalled, time_limit(minutes, over):
            work(runs, places, folders, workers, signalled)
    except Interrupted as stopped:
        signum = stopped.signum
    return [standing(run, places, folders) for run in runs], None if over.is_set() else signum


@contextmanager
def time_limit(minutes: float, over: threading.Event) -> Iterator[None]:
    """SIGTERM after so many minutes, so that jobs save a checkpoint; `over` tells it from other signals."""

    def end() -> None:
        over.set()
        os.kill(os.getpid(), signal.SIGTERM)

    timer = threading.Timer(60 * minutes, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def work(
    runs: Sequence[LongRun], places: Places, folders: Folders, workers: int, signalled: Signalled
) -> None:
    """Work on the runs until none can go on; one that fails does not stop the others."""
    failed: set[str] = set()
    lost = 0
    while batch := next_batch(runs, places, folders, failed):
        try:
            work_on(batch, places, folders, workers, signalled)
        except BrokenExecutor:
            lost += 1
            print("A worker was ended from outside, perhaps for want of memory.", flush=True)
            if lost == MOST_LOST:
                raise
        except OURS as error:
            failed |= those_that_failed(batch) or {one.run.name for one in batch}
            print(f"Left out for now: {', '.join(sorted(failed))}. {error}", flush=True)


def next_batch(runs: Sequence[LongRun], places: Places, folders: Folders, failed: set[str]) -> list[Standing]:
    """The runs to work on, up to the first that waits for one of them."""
    batch: list[Standing] = []
    for run in runs:
        one = standing(run, places, folders)
        if one.waits and batch:
            break
        if one.left and run.name not in failed:
            batch.append(one)
    return batch


def work_on(
    batch: Sequence[Standing], places: Places, folders: Folders, workers: int, signalled: Signalled
) -> None:
    """Run the jobs that are left, in order; whenever some end, write what they gave."""
    done = {one.run.name: finished(one) for one in batch}

    def after() -> None:
        for one in batch:
            if finished(one) > done[one.run.name]:
                done[one.run.name] = finished(one)
                save(one, places, folders)
        if (signum := signalled()) is not None:  # it came between two jobs
            raise Interrupted(signum, "")

    # One list for all: a job's folder below the common root is its name there.
    jobs = [
        job._replace(name=str((one.folder / job.name).relative_to(folders.out)), work=noted(job.work))
        for one in batch
        for job in one.left
    ]
    run_jobs(jobs, folders.out, workers=workers, after=after)


def finished(one: Standing) -> int:
    return len(finished_results(one.left, one.folder))


def save(one: Standing, places: Places, folders: Folders) -> None:
    """Keep the members of a run, or write its rows; a whole run also gets its figures."""
    if one.run.weights:
        keep([one.folder / name for name in finished_results(one.left, one.folder)], folders.weights)
        return
    options = options_of(one.run, places)
    assert options is not None, "a run without its data has no jobs"
    if finished(one) == len(one.left):
        results = folders.results / one.run.results
        runner.run(one.run.experiment, options, folders.out, results_dir=results, quiet=True)
    else:
        runner.save_so_far(planned_run(one.run, options, folders))


def noted(work: Work) -> Work:
    """The same work, which leaves a note in the job's folder if it fails."""
    return work._replace(function=partial(noting, work.function))


def noting(
    function: Callable[..., Result], folder: Path, monitor: JobMonitor, goal: int, **more: Any
) -> Result:
    (folder / FAILED).unlink(missing_ok=True)
    try:
        return function(folder, monitor, goal, **more)
    except OURS as error:
        (folder / FAILED).write_text(f"{error}\n")
        raise


def those_that_failed(batch: Sequence[Standing]) -> set[str]:
    """The runs with a job that ended with an error: the others need not wait for its remedy."""
    return {
        one.run.name for one in batch if any((one.folder / job.name / FAILED).is_file() for job in one.left)
    }


def table(every: Sequence[Standing]) -> str:
    """What is left of each run, and the core-hours of all."""
    lines = [
        {
            "run": one.run.name,
            "jobs left": f"{len(one.left)} of {len(one.jobs)}" if one.jobs else "?",
            "core-hours": f"{one.hours:.1f}",
            "waits": one.waits,
        }
        for one in every
        if one.left or one.waits
    ]
    total = sum(one.hours for one in every)
    return f"{markdown(pd.DataFrame(lines))}\n\n{total:.1f} core-hours are left." if lines else "All is done."


def main(words: Sequence[str] | None = None) -> None:
    """Work on what is left, at the lowest priority, and print what is left then."""
    options = parser().parse_args(words)
    try:
        basins = None if options.basins is None else read_basins(options.basins)
    except OURS as error:
        parser().error(str(error))
    places = Places(options.data, basins, options.snow, options.mnist)
    folders = Folders(options.out, options.results, options.weights)
    names = {run.name for run in LONG_RUNS}
    chosen = set(names if options.only is None else options.only.split(","))
    if chosen - names:
        parser().error(f"there is no run {min(chosen - names)!r}. Choose from {', '.join(sorted(names))}.")
    runs = [run for run in LONG_RUNS if run.name in chosen]
    if options.list:
        print(table([standing(run, places, folders) for run in runs]))
        return
    os.nice(LOWEST)
    left, signum = session(runs, places, folders, options.workers, options.minutes)
    print(f"\n{table(left)}\n\nCommit {folders.results} and {folders.weights}.")
    if signum is not None:
        raise SystemExit(128 + signum)


def parser() -> argparse.ArgumentParser:
    every = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    every.add_argument("--data", type=Path, help="folder of CAMELS-US")
    every.add_argument("--basins", type=Path, help="the 447 basins, one per line")
    every.add_argument("--snow", type=Path, help="output of Snow-17")
    every.add_argument("--mnist", type=Path, help="folder of MNIST")
    every.add_argument("--out", type=Path, default=Path("runs/experiments"), help="folder of the jobs")
    every.add_argument("--results", type=Path, default=Path("results"), help="folder of the result files")
    every.add_argument("--weights", type=Path, default=Path("weights/members"), help="kept members")
    every.add_argument("--workers", type=int, default=2, help="processes")
    every.add_argument("--minutes", type=float, default=120, help="time until it ends")
    every.add_argument("--only", help="a,b,...: only these runs")
    every.add_argument("--list", action="store_true", help="say what is left, and run nothing")
    return every


if __name__ == "__main__":
    main()
