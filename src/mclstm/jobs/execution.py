"""A long experiment is a list of jobs; each checkpoints, resumes, and is kept when it is finished.

A job is a name, its work, parameters that JSON can hold, and a goal: how far to take it. Its name is its
folder below the root of the experiment:

    job.json        name of the work and its parameters: what the folder belongs to
    progress.json   how far it is, for whoever looks
    result.json     goal and result; a job that has reached its goal is never run again
    cost.json       what it cost in every process that worked on it, see training/cost.py

What else lies there is the function's own, above all its checkpoint. The function is called as
`function(folder, watch, goal, **parameters)` and returns its result, a dictionary that JSON can hold. It
goes on from its checkpoint if there is one and asks `watch.stopped()` between updates; if that is a signal's
number, it checkpoints and raises `Interrupted`. A goal can be raised later: the job goes on from its end.
"""

import json
import os
import secrets
import signal
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from mclstm.errors import CheckpointError, Interrupted
from mclstm.jobs.locks import locked
from mclstm.jobs.monitor import Stop, Watch, watching
from mclstm.training.atomic import make_folder, write_text_atomic
from mclstm.training.cost import spent
from mclstm.training.interrupt import listening
from mclstm.training.journal import without_nan

__all__ = ["Job", "Result", "Work", "finished_by", "kept_results", "run_jobs"]

Result = dict[str, Any]
TICK = 0.2  # seconds between two looks at the jobs elsewhere


class Work(NamedTuple):
    """What a job does: a function under a name of its own, so that a folder survives a move of the code."""

    name: str  # written into job.json, such as "addition"
    function: Callable[..., Result]  # of a module, so that any executor can send it
    formerly: tuple[str, ...] = ()  # names that earlier versions wrote into job.json


class Job(NamedTuple):
    """A piece of an experiment that one process does; its name is unique and stays the same."""

    name: str  # a path, such as "mclstm/addition/seeds-0-99"
    work: Work
    parameters: dict[str, Any]
    goal: int  # updates or epochs: handed to the function, and no part of what the job is
    place: Mapping[str, str | None] = {}  # where its data lies: handed to the function too, and may change


def run_jobs(
    jobs: Sequence[Job],
    root: Path,
    *,
    workers: int = 1,
    executor: Executor | None = None,
    quiet: bool = False,
    after: Callable[[], None] = lambda: None,
) -> dict[str, Result]:
    """Do all jobs that have not reached their goal and give every result by name.

    workers: processes; 1 works in this one. executor: any other, on a file system shared with this process.
    after: called in this process whenever jobs have ended.
    A signal, or a failure of one job, lets all others checkpoint before it is raised.

    >>> import tempfile
    >>> def add(folder, watch, goal, numbers): return {"sum": sum(numbers[:goal])}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run_jobs([Job("a", Work("add", add), {"numbers": [1, 2, 3]}, goal=2)], Path(folder), quiet=True)
    {'a': {'sum': 3}}
    """
    names = [job.name for job in jobs]
    assert len(set(names)) == len(names), "two jobs have one name"
    waiting = [job for job in jobs if finished(job, root) is None]
    with watching(root, [job.name for job in waiting], quiet):
        if executor is not None:
            signum = elsewhere(waiting, root, executor, None, after)
        elif workers > 1 and len(waiting) > 1:
            pool = ProcessPoolExecutor(
                min(workers, len(waiting)), get_context("spawn"), initializer=prepare, initargs=(workers,)
            )
            with pool:
                signum = elsewhere(waiting, root, pool, os.getpid(), after)
        else:
            signum = here(waiting, root, after)
    if signum is not None:
        done = sum(finished(job, root) is not None for job in jobs)
        raise Interrupted(
            signum, f"Stopped; {done} of {len(jobs)} jobs are finished. The same command goes on."
        )
    return kept_results(jobs, root)


def kept_results(jobs: Sequence[Job], root: Path) -> dict[str, Result]:
    """The results of the jobs that have reached their goal, by name."""
    return {job.name: result for job in jobs if (result := finished(job, root)) is not None}


def finished_by(
    jobs: Sequence[Job], results: Mapping[str, Result], *parameters: str
) -> dict[tuple[str, ...], list[Job]]:
    """The finished jobs by their values of some parameters: blocks of seeds that belong together."""
    groups: dict[tuple[str, ...], list[Job]] = {}
    for job in jobs:
        if job.name in results:
            groups.setdefault(tuple(job.parameters[name] for name in parameters), []).append(job)
    return groups


def finished(job: Job, root: Path) -> Result | None:
    """The kept result of a job that has reached its goal; refuses the folder of another job."""
    folder = root / job.name
    described = read(folder / "job.json")
    if described is not None and with_present_name(described, job.work) != description(job):
        raise CheckpointError(
            f"{folder} holds a job with other settings ({difference(described, description(job))}). "
            "Choose another folder with --out, or remove this one."
        )
    kept = read(folder / "result.json")
    if kept is not None and not {"goal", "result"} <= set(kept):
        raise CheckpointError(f"{folder / 'result.json'} is no result of a job. Restore it, or remove it.")
    if kept is None or kept["goal"] < job.goal:
        return None
    if kept["goal"] > job.goal:
        raise CheckpointError(
            f"{folder} has been taken to {kept['goal']}, further than the {job.goal} asked for. "
            "Ask for as many, or choose another folder with --out."
        )
    result: Result = kept["result"]
    return result


def perform(job: Job, root: Path, stop: Stop | None = None) -> int | None:
    """Do one job in its folder and keep its result; the number of the signal that stopped it, if one did."""
    folder = root / job.name
    make_folder(folder)
    with locked(folder):
        if read(folder / "job.json") is None:
            write_text_atomic(folder / "job.json", json.dumps(description(job), indent=1) + "\n")
        try:
            with listening() as signalled:
                watch = Watch(folder, signalled, stop)
                if (signum := watch.stopped()) is not None:
                    raise Interrupted(signum, "")  # an executor may hand out one more job meanwhile
                with spent(folder):
                    result = job.work.function(folder, watch, job.goal, **job.parameters, **job.place)
                kept = {"goal": job.goal, "result": without_nan(result)}
                write_text_atomic(folder / "result.json", json.dumps(kept, allow_nan=False) + "\n")
        except Interrupted as stopped:
            if stop is not None:
                stop.file.touch()
            return stopped.signum
    return None


def here(jobs: Sequence[Job], root: Path, after: Callable[[], None]) -> int | None:
    """One job after the other, in this process."""
    for job in jobs:
        if (signum := perform(job, root)) is not None:
            return signum
        after()
    return None


def elsewhere(
    jobs: Sequence[Job], root: Path, executor: Executor, parent: int | None, after: Callable[[], None]
) -> int | None:
    """All jobs through an executor; when one ends too early, the others are told to checkpoint and stop."""
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
        # Also after a failure: nothing goes on behind the user's back.
        stop.file.touch()
        wait([future for future in pending if not future.cancel()])
        stop.file.unlink(missing_ok=True)
    return None


def prepare(workers: int) -> None:
    """A worker of the pool: Ctrl-C on the terminal is its parent's business; cores are shared."""
    import torch

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // workers))


def description(job: Job) -> dict[str, Any]:
    """What a folder belongs to, as it comes back from a file."""
    content: dict[str, Any] = json.loads(json.dumps({"work": job.work.name, "parameters": job.parameters}))
    return content


def with_present_name(described: dict[str, Any], work: Work) -> dict[str, Any]:
    """A description as this version writes it: earlier versions named the same work otherwise.

    >>> with_present_name({"work": "mclstm.old.learn"}, Work("addition", dict, ("mclstm.old.learn",)))
    {'work': 'addition'}
    """
    return described | {"work": work.name} if described.get("work") in work.formerly else described


def difference(kept: dict[str, Any], asked: dict[str, Any]) -> str:
    """Which parameters of a kept job are not those asked for, else that its function is another.

    >>> difference({"parameters": {"learning_rate": 0.1}}, {"parameters": {"learning_rate": 0.05}})
    'learning_rate is 0.1 there, 0.05 is asked for'
    """
    old, new = (one.get("parameters", {}) for one in (kept, asked))
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    told = [f"{name} is {old.get(name)} there, {new.get(name)} is asked for" for name in names]
    return "; ".join(told) or f"it is made by {kept.get('work')}"


def read(path: Path) -> dict[str, Any] | None:
    """A JSON object of a job, None if the file is not there."""
    if not path.exists():
        return None
    try:
        content: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise CheckpointError(
            f"{path} cannot be read: {error}. Remove the folder to do the job again."
        ) from error
    return content
