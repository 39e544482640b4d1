"""Between a job and the process that waits for it: how far the job is, and whether it should stop."""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any, NamedTuple, cast

from mclstm.training.progress import bars, line

__all__ = ["JobMonitor", "Stop", "progress_of", "showing_jobs"]

STOP_EVERY, WRITE_EVERY, LINE_EVERY = 0.2, 1.0, 30.0  # seconds


class Stop(NamedTuple):
    """How a job in another process is told to stop: a file disappears, or its parent process ends."""

    file: Path
    parent: int | None = None


class JobMonitor:
    """A job's function gets one: it shows how far the job is and says whether to stop.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     monitor = JobMonitor(Path(folder), lambda: None)
    ...     monitor.show(5, 10, "2 of 3 seeds solved")
    ...     monitor.stopped(), progress_of(Path(folder))["done"]
    (None, 5)
    """

    def __init__(self, folder: Path, signalled: Callable[[], int | None], stop: Stop | None = None) -> None:
        self.folder, self._signalled, self._stop = folder, signalled, stop
        self._asked = self._written = 0.0
        self._part, self._parts = 0, 1

    def part(self, number: int, parts: int) -> "JobMonitor":
        """The monitor of one of several equal parts of a job, which are done one after the other."""
        monitor = copy(self)
        monitor._part, monitor._parts = number, parts
        return monitor

    def stopped(self) -> int | None:
        """The number of the signal to stop for, if any; the job then saves a checkpoint and raises."""
        signum = self._signalled()
        now = time.monotonic()
        if signum is not None or self._stop is None or now - self._asked < STOP_EVERY:
            return signum
        self._asked = now
        orphan = self._stop.parent is not None and os.getppid() != self._stop.parent
        return int(signal.SIGTERM) if orphan or not self._stop.file.exists() else None

    def show(self, done: int, total: int, note: str = "") -> None:
        """Show how far the job is; cheap enough to call after every update."""
        now = time.monotonic()
        done, total = self._part * total + done, self._parts * total
        if now - self._written < WRITE_EVERY and done < total:
            return
        self._written = now
        # Not flushed to the disk: people look at this file, nothing depends on it.
        draft = self.folder / ".progress.json"
        draft.write_text(json.dumps({"done": done, "total": total, "note": note}))
        draft.replace(self.folder / "progress.json")


def progress_of(folder: Path) -> dict[str, Any] | None:
    """The done, total and note that a job last showed, None if it has shown nothing yet."""
    try:
        return cast(dict[str, Any], json.loads((folder / "progress.json").read_text()))
    except (OSError, ValueError):
        return None


@contextmanager
def showing_jobs(root: Path, names: Sequence[str], quiet: bool) -> Iterator[None]:
    """Within the context, show the progress of jobs: bars on a terminal, a line now and then elsewhere."""
    if quiet or not names:
        yield
        return
    show = draw_bars if sys.stderr.isatty() else print_lines
    over = threading.Event()
    # From their folders, not from the processes: so it works with every executor.
    thread = threading.Thread(target=show, args=(root, names, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def draw_bars(root: Path, names: Sequence[str], over: threading.Event) -> None:
    """Draw one bar per job that has begun."""
    with bars() as draw:
        while not over.wait(1.0):
            for name in names:
                if (progress := progress_of(root / name)) is not None:
                    draw(name, progress["done"], progress["total"], progress["note"])


def print_lines(root: Path, names: Sequence[str], over: threading.Event) -> None:
    """Print a line for each job that moved since the last one."""
    first: dict[str, tuple[float, int]] = {}
    last = {name: progress["done"] for name in names if (progress := progress_of(root / name)) is not None}
    while not over.wait(LINE_EVERY):
        now = time.monotonic()
        for name in names:
            progress = progress_of(root / name)
            if progress is None or progress["done"] == last.get(name):
                continue
            started, done = first.setdefault(name, (now, progress["done"]))
            last[name] = progress["done"]
            rate = (progress["done"] - done) / max(now - started, 1e-9)
            print(line(name, progress["done"], progress["total"], progress["note"], rate), file=sys.stderr)
