"""What a run or a job cost: seconds, memory and the commit of every session, in its `cost.json`."""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from mclstm.errors import StorageError
from mclstm.training.atomic import write_text_atomic

__all__ = ["commit", "sessions", "spent", "total"]

FILE = "cost.json"
# Written whether or not there was work to do.
NOTES = {FILE, "lock", "log.txt", "job.json", "progress.json", "environment.json", "metrics.jsonl"}
# Linux keeps a process's high-water mark here, and resets it to what is resident now when told 5 there.
STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@contextmanager
def spent(folder: Path) -> Iterator[None]:
    """Around the work on a run or a job: adds a session to its file, also when it is stopped or fails.

    One that left nothing new in the folder, as of a finished run, is not kept. Where another one was kept
    inside this one, as of the training within a job of the pipeline, that one counts alone: reading and
    scoring are not part of it. A process that is killed writes nothing, so that the sum is a
    lower bound.
    """
    with suppress(OSError):
        RESET.write_text("5")
    known, saved, code = sessions(folder), _saved(folder), commit()
    wall, cpu = time.monotonic(), time.process_time()
    try:
        yield
    finally:
        if _saved(folder) != saved and sessions(folder) == known:
            session = {
                "commit": code,
                "wall_seconds": round(time.monotonic() - wall, 3),
                "cpu_seconds": round(time.process_time() - cpu, 3),
                "peak_mb": peak_mb(),
            }
            text = json.dumps([*known, session], indent=1) + "\n"
            file = folder / FILE
            if known or not file.exists():  # one that cannot be read is left for whoever can
                with suppress(StorageError):  # a note of the run, whose own failure is the better message
                    write_text_atomic(file, text)


def sessions(folder: Path) -> list[dict[str, Any]]:
    """The sessions of a run, none of one from before they were kept."""
    try:
        found = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def total(folder: Path) -> dict[str, Any]:
    """Seconds of all sessions, the largest peak and the last commit; None where nobody kept them.

    >>> total(Path("no-such-run"))
    {'commit': None, 'wall_seconds': None, 'cpu_seconds': None, 'peak_mb': None, 'sessions': 0}
    """
    every = sessions(folder)
    known = {key: [entry[key] for entry in every if entry.get(key) is not None] for key in KEYS}
    result = {key: combine(known[key]) if known[key] else None for key, combine in KEYS.items()}
    return {**result, "sessions": len(every)}


def _last(values: list[Any]) -> Any:
    return values[-1]


KEYS: dict[str, Any] = {"commit": _last, "wall_seconds": sum, "cpu_seconds": sum, "peak_mb": max}


def peak_mb() -> float | None:
    """The most memory of this process since the mark was reset, in MB (10^6 bytes); None without /proc."""
    try:
        lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
        return round(int(lines["VmHWM"].split()[0]) * 1024 / 1e6, 1)
    except (OSError, KeyError):
        return None


@cache
def commit() -> str:
    """The commit of the checkout this process runs in, or "unknown" outside one; asked once.

    Ask early: the checkout may be at another one when the work is done.
    """
    try:
        words = ["git", "rev-parse", "--short", "HEAD"]
        shown = subprocess.run(words, capture_output=True, text=True, check=True, cwd=Path(__file__).parent)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return shown.stdout.strip()


def _saved(folder: Path) -> int:
    """When anything but notes was last written into a folder, 0 if never."""
    newest = 0
    for file in folder.rglob("*"):
        with suppress(OSError):  # a temporary file of somebody else may be gone by now
            if file.is_file() and file.name not in NOTES:
                newest = max(newest, file.stat().st_mtime_ns)
    return newest
