"""Between a job and whoever waits for it: how far it is, and whether it should stop."""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Stop", "Watch", "look", "watching"]

STOP_EVERY, WRITE_EVERY, LINE_EVERY = 0.2, 1.0, 30.0  # seconds


class Stop(NamedTuple):
    """How a process elsewhere is told to stop: by a file that appears, or by the end of its parent."""

    file: Path
    parent: int | None = None


class Watch:
    """What a job's function is given: it shows how far it is and asks, often, whether to stop.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     watch = Watch(Path(folder), lambda: None)
    ...     watch.show(5, 10, "2 of 3 seeds solved")
    ...     watch.stopped(), look(Path(folder))["done"]
    (None, 5)
    """

    def __init__(self, folder: Path, signalled: Callable[[], int | None], stop: Stop | None = None) -> None:
        self.folder, self._signalled, self._stop = folder, signalled, stop
        self._asked = self._written = 0.0

    def stopped(self) -> int | None:
        """The number of the signal to stop for, if there is one; the job then checkpoints and raises."""
        signum = self._signalled()
        now = time.monotonic()
        if signum is not None or self._stop is None or now - self._asked < STOP_EVERY:
            return signum
        self._asked = now
        orphan = self._stop.parent is not None and os.getppid() != self._stop.parent
        return int(signal.SIGTERM) if orphan or self._stop.file.exists() else None

    def show(self, done: int, total: int, note: str = "") -> None:
        """Say how far the job is; cheap enough to call after every update."""
        now = time.monotonic()
        if now - self._written < WRITE_EVERY and done < total:
            return
        self._written = now
        # Not flushed to the disk: this file is for looking, nothing depends on it.
        draft = self.folder / ".progress.json"
        draft.write_text(json.dumps({"done": done, "total": total, "note": note}))
        draft.replace(self.folder / "progress.json")


def look(folder: Path) -> dict[str, Any] | None:
    """What a job last showed, None before it did."""
    try:
        shown: dict[str, Any] = json.loads((folder / "progress.json").read_text())
    except (OSError, ValueError):
        return None
    return shown


@contextmanager
def watching(root: Path, names: Sequence[str], quiet: bool) -> Iterator[None]:
    """Within the context, show what the jobs show: bars on a terminal, elsewhere a line now and then."""
    if quiet or not names:
        yield
        return
    terminal = sys.stderr.isatty()
    over = threading.Event()
    # From their folders, not from the processes: it is then the same for every executor.
    thread = threading.Thread(target=bars if terminal else lines, args=(root, names, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def bars(root: Path, names: Sequence[str], over: threading.Event) -> None:
    """One bar a job that has begun."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.fields[note]}"), console=Console(stderr=True)) as progress:
        tasks: dict[str, Any] = {}
        while not over.wait(1.0):
            for name in names:
                shown = look(root / name)
                if shown is None:
                    continue
                if name not in tasks:
                    tasks[name] = progress.add_task(name, total=shown["total"], note="")
                progress.update(tasks[name], completed=shown["done"], note=shown["note"])


def lines(root: Path, names: Sequence[str], over: threading.Event) -> None:
    """A line for each job that moved since the last one."""
    first: dict[str, tuple[float, int]] = {}
    last = {name: shown["done"] for name in names if (shown := look(root / name)) is not None}
    while not over.wait(LINE_EVERY):
        now = time.monotonic()
        for name in names:
            shown = look(root / name)
            if shown is None or shown["done"] == last.get(name):
                continue
            started, done = first.setdefault(name, (now, shown["done"]))
            last[name] = shown["done"]
            rate = (shown["done"] - done) / max(now - started, 1e-9)
            left = f", {rate:.3g}/s, {duration((shown['total'] - shown['done']) / rate)} left" if rate else ""
            print(f"{name}: {shown['done']}/{shown['total']}, {shown['note']}{left}", file=sys.stderr)


def duration(seconds: float) -> str:
    """A time in the unit one would say it in.

    >>> duration(50.0), duration(5000.0), duration(50000.0)
    ('50 s', '83 min', '13.9 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
