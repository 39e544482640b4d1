"""Showing how far runs and jobs are: bars on a terminal, plain lines now and then elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

__all__ = ["Display", "Show", "bars", "line", "showing"]

# (updates done, loss, largest relative ledger error of the batch or None)
Show = Callable[[int, float, float | None], None]
# (updates in all, title of the run) -> within the context, a function to call after every update
Display = Callable[[int, str], AbstractContextManager[Show]]
SECONDS = 30.0  # between two plain lines


@contextmanager
def showing(total: int, title: str, quiet: bool = False) -> Iterator[Show]:
    """Yield a function to call after every update; it draws a bar, prints lines, or does nothing.

    >>> with showing(10, "demo", quiet=True) as show:
    ...     show(1, 0.5, None)
    """
    if quiet:
        yield lambda done, loss, error: None
    elif sys.stderr.isatty():
        with bars() as draw:
            draw(title, 0, total, "")
            yield lambda done, loss, error: draw(title, done, total, _note(loss, error))
    else:
        yield _lines(total, title)


@contextmanager
def bars() -> Iterator[Callable[[str, int, int, str], None]]:
    """Yield a function of (title, done, total, note) that draws one bar per title on the terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.fields[note]}"), console=Console(stderr=True)) as progress:
        tasks: dict[str, Any] = {}

        def draw(title: str, done: int, total: int, note: str) -> None:
            if title not in tasks:
                tasks[title] = progress.add_task(title, total=total, note="")
            progress.update(tasks[title], completed=done, note=note)

        yield draw


def line(title: str, done: int, total: int, note: str, rate: float) -> str:
    """One plain line; rate: per second, 0 if it is not known yet.

    >>> line("mclstm-0", 20, 50, "", 2.0)
    'mclstm-0: 20/50, 2/s, 15 s left'
    """
    pace = f"{rate:.3g}/s, {duration((total - done) / rate)} left" if rate else ""
    return ", ".join(part for part in (f"{title}: {done}/{total}", note, pace) if part)


def duration(seconds: float) -> str:
    """A time in the unit one would say it in.

    >>> duration(50.0), duration(5000.0), duration(50000.0)
    ('50 s', '83 min', '13.9 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _lines(total: int, title: str) -> Show:
    started = last = time.monotonic()
    first: int | None = None

    def show(done: int, loss: float, error: float | None) -> None:
        nonlocal last, first
        first = done - 1 if first is None else first
        now = time.monotonic()
        if now - last < SECONDS and done < total:
            return
        last = now
        rate = (done - first) / max(now - started, 1e-9)
        print(line(title, done, total, _note(loss, error), rate), file=sys.stderr)

    return show


def _note(loss: float, error: float | None) -> str:
    return f"loss {loss:.4g}" + ("" if error is None else f", mass error {error:.1e}")
