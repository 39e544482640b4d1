"""A job: a name, its work, parameters that JSON can hold, and a goal. Its name is its folder below a root:

    job.json        name of the work and its parameters: what the folder belongs to
    progress.json   how far the job is, for people to look at
    result.json     goal and result; a job that has reached its goal never runs again
    cost.json       what the job cost in every process that worked on it, see training/cost.py

All other files belong to the function, above all its checkpoint. `function(folder, monitor, goal,
**parameters)` returns its result, a dictionary that JSON can hold. It continues from its checkpoint if there
is one. Between updates it asks `monitor.stopped()`: if a signal came, it saves a checkpoint and raises
`Interrupted`. A later call may raise the goal: the job then continues from its end.
"""

import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TextIO, cast

from mclstm.errors import CheckpointError, StorageError

__all__ = ["Job", "Result", "Work", "alone", "finished_by", "finished_result", "finished_results", "locked"]

Result = dict[str, Any]
PAUSE = 0.05  # seconds between two attempts to hold a folder


class Work(NamedTuple):
    """What a job does: a function and a name that stays the same when the code moves."""

    name: str  # written into job.json, such as "addition"
    function: Callable[..., Result]  # of a module, so that any executor can send it
    formerly: tuple[str, ...] = ()  # names that earlier versions wrote into job.json


class Job(NamedTuple):
    """A piece of an experiment that one process does; its name is unique and stays the same."""

    name: str  # a path, such as "mclstm/addition/seeds-0-99"
    work: Work
    parameters: dict[str, Any]
    goal: int  # updates or epochs: handed to the function, no part of what the job is
    place: Mapping[str, str | None] = {}  # where its data lies: handed to the function too, may change


def finished_results(jobs: Sequence[Job], root: Path) -> dict[str, Result]:
    """The results of the jobs that have reached their goal, by name."""
    return {job.name: result for job in jobs if (result := finished_result(job, root)) is not None}


def finished_by(
    jobs: Sequence[Job], results: Mapping[str, Result], *parameters: str
) -> dict[tuple[str, ...], list[Job]]:
    """The finished jobs, grouped by their values of some parameters."""
    groups: dict[tuple[str, ...], list[Job]] = {}
    for job in jobs:
        if job.name in results:
            groups.setdefault(tuple(job.parameters[name] for name in parameters), []).append(job)
    return groups


def finished_result(job: Job, root: Path) -> Result | None:
    """The result of a job, None if it has not reached its goal; refuses the folder of another job."""
    folder = root / job.name
    stored = read_json(folder / "job.json")
    if stored is not None and with_present_name(stored, job.work) != description(job):
        raise CheckpointError(
            f"{folder} holds a job with other settings ({difference(stored, description(job))}). "
            "Choose another folder with --out, or remove this one."
        )
    content = read_json(folder / "result.json")
    if content is not None and not {"goal", "result"} <= set(content):
        raise CheckpointError(f"{folder / 'result.json'} is no result of a job. Restore it, or remove it.")
    if content is None or content["goal"] < job.goal:
        return None
    if content["goal"] > job.goal:
        raise CheckpointError(
            f"{folder} has been taken to {content['goal']}, further than the {job.goal} asked for. "
            "Ask for as many, or choose another folder with --out."
        )
    return cast(Result, content["result"])


def description(job: Job) -> dict[str, Any]:
    """The content of job.json, as it comes back from the file."""
    return dict(json.loads(json.dumps({"work": job.work.name, "parameters": job.parameters})))


def with_present_name(stored: dict[str, Any], work: Work) -> dict[str, Any]:
    """A description with the present name of its work: earlier versions wrote other names.

    >>> with_present_name({"work": "mclstm.old.learn"}, Work("addition", dict, ("mclstm.old.learn",)))
    {'work': 'addition'}
    """
    return stored | {"work": work.name} if stored.get("work") in work.formerly else stored


def difference(stored: dict[str, Any], wanted: dict[str, Any]) -> str:
    """Which parameters of a stored job differ from the wanted ones, else that its work differs.

    >>> old, new = ({"parameters": {"config": {"model": "lstm", "seed": seed}}} for seed in (0, 1))
    >>> difference(old, new)
    'config.seed is 0 there, 1 is asked for'
    """
    texts = differences(stored.get("parameters", {}), wanted.get("parameters", {}))
    return "; ".join(texts) or f"it is made by {stored.get('work')}"


def differences(old: Mapping[str, Any], new: Mapping[str, Any], section: str = "") -> Iterator[str]:
    """A text for each value that differs between nested dictionaries, with its dotted key."""
    for key in {**old, **new}:
        one, other = old.get(key), new.get(key)
        if isinstance(one, dict) and isinstance(other, dict):
            yield from differences(one, other, f"{section}{key}.")
        elif one != other:
            yield f"{section}{key} is {one} there, {other} is asked for"


def read_json(path: Path) -> dict[str, Any] | None:
    """A JSON object of a job, None if the file does not exist."""
    if not path.exists():
        return None
    try:
        return cast(dict[str, Any], json.loads(path.read_text()))
    except (OSError, ValueError) as error:
        remedy = "Remove the folder to do the job again."
        raise CheckpointError(f"{path} cannot be read: {error}. {remedy}") from error


def locked(folder: Path, patience: float = 0.0) -> AbstractContextManager[None]:
    """Hold a folder, or raise StorageError if another process does; the system frees it when a process dies.

    patience: seconds to wait for the other process

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, locked(Path(folder)):
    ...     [path.name for path in Path(folder).iterdir()]
    ['lock']
    """
    return _lock(folder / "lock", patience)


def alone(folder: Path) -> AbstractContextManager[None]:
    """Hold a folder to read, change and write its files; wait while another process holds it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, alone(Path(folder)):
    ...     [path.name for path in Path(folder).iterdir()]
    ['.lock']
    """
    return _lock(folder / ".lock", math.inf)


@contextmanager
def _lock(path: Path, patience: float) -> Iterator[None]:
    if os.name == "nt":
        yield  # Windows has no such lock; a second writer fails at its rename there
        return
    due = time.monotonic() + patience
    with path.open("w") as file:
        while not _taken(file):
            if time.monotonic() >= due:
                raise StorageError(
                    f"Another process works in {path.parent}. Wait for it, or choose another folder with "
                    "--out."
                )
            time.sleep(PAUSE)
        yield


def _taken(file: TextIO) -> bool:
    """Whether the lock of an open file is this process's now."""
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
