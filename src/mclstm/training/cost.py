"""What a run or a job cost: seconds, memory and the commit of every session, in its `cost.json`."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any

from mclstm.errors import StorageError
from mclstm.training.atomic import write_text_atomic

__all__ = ["commit", "sessions", "spent", "total"]

FILE, RESULT = "cost.json", "result.json"
KEYS: dict[str, Any] = {"commit": itemgetter(-1), "wall_seconds": sum, "cpu_seconds": sum, "peak_mb": max}
# Written whether or not there was work to do.
NOTES = {FILE, RESULT, "lock", "log.txt", "job.json", "progress.json", "environment.json", "metrics.jsonl"}
# Linux keeps the peak memory of a process in STATUS; writing 5 to RESET sets it to the present memory.
STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@contextmanager
def spent(folder: Path) -> Iterator[None]:
    """Within the context, work on a run or a job: a session is added to its file, also after a failure.

    A session that leaves nothing new in the folder is not added, such as that of a finished run. A new result
    counts only where the folder holds nothing else: some jobs write only that. If the block
    added a session itself, as the training within a job does, that session stays the only one: reading and
    scoring do not count. A process that is killed writes nothing, so the sum is a lower bound. CPU seconds
    include those of child processes that have ended; the peak of memory is this process's alone.
    """
    with suppress(OSError):
        RESET.write_text("5")
    before, saved, code = sessions(folder), _saved(folder), commit()
    wall, cpu = time.monotonic(), cpu_seconds()
    try:
        yield
    finally:
        file = folder / FILE
        # A file that cannot be read is left to whoever can read it.
        readable = bool(before) or not file.exists()
        new = _saved(folder) != saved or (saved == 0 and (folder / RESULT).is_file())
        if readable and new and sessions(folder) == before:
            session = {
                "commit": code,
                "wall_seconds": round(time.monotonic() - wall, 3),
                "cpu_seconds": round(cpu_seconds() - cpu, 3),
                "peak_mb": peak_mb(),
            }
            with suppress(StorageError):  # the failure of the run itself is the better message
                write_text_atomic(file, json.dumps([*before, session], indent=1) + "\n")


def sessions(folder: Path) -> list[dict[str, Any]]:
    """The sessions of a run; empty if its file is missing or damaged."""
    try:
        content = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [entry for entry in content if isinstance(entry, dict)] if isinstance(content, list) else []


def total(folder: Path) -> dict[str, Any]:
    """The seconds of all sessions, the largest peak and the last commit; None where no session has them.

    >>> total(Path("no-such-run"))
    {'commit': None, 'wall_seconds': None, 'cpu_seconds': None, 'peak_mb': None, 'sessions': 0}
    """
    entries = sessions(folder)
    known = {key: [entry[key] for entry in entries if entry.get(key) is not None] for key in KEYS}
    result = {key: combine(known[key]) if known[key] else None for key, combine in KEYS.items()}
    return {**result, "sessions": len(entries)}


def cpu_seconds() -> float:
    """CPU seconds of this process and of its children that have ended."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def peak_mb() -> float | None:
    """The peak memory of this process since the reset in MB (10^6 bytes); None without /proc."""
    try:
        lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
        return round(int(lines["VmHWM"].split()[0]) * 1024 / 1e6, 1)
    except (OSError, KeyError):
        return None


@cache
def commit() -> str:
    """The commit of the checkout this process runs in, or "unknown" outside one.

    Call it early: the checkout may have moved on when the work is done.
    """
    try:
        words = ["git", "rev-parse", "--short", "HEAD"]
        result = subprocess.run(words, capture_output=True, text=True, check=True, cwd=Path(__file__).parent)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return result.stdout.strip()


def _saved(folder: Path) -> int:
    """The time at which anything but notes was last written into a folder, 0 if never."""
    newest = 0
    for file in folder.rglob("*"):
        with suppress(OSError):  # a temporary file of another process may be gone by now
            if file.is_file() and file.name not in NOTES:
                newest = max(newest, file.stat().st_mtime_ns)
    return newest
