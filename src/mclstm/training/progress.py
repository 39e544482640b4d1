"""Showing how far a run is: a bar on a terminal, a plain line now and then elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

__all__ = ["Show", "Shown", "showing"]

# (updates done, loss, largest relative ledger error of the batch or None)
Show = Callable[[int, float, float | None], None]
# (updates in all, title of the run) -> within the context, a function to call after every update
Shown = Callable[[int, str], AbstractContextManager[Show]]
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
        with _bar(total, title) as show:
            yield show
    else:
        yield _lines(total, title)


@contextmanager
def _bar(total: int, title: str) -> Iterator[Show]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.fields[note]}"), console=Console(stderr=True)) as progress:
        task = progress.add_task(title, total=total, note="")
        yield lambda done, loss, error: progress.update(task, completed=done, note=_note(loss, error))


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
        left = (total - done) / max(rate, 1e-9)
        print(
            f"{title}: {done}/{total}, {_note(loss, error)}, {rate:.2g}/s, {left:.0f} s left", file=sys.stderr
        )

    return show


def _note(loss: float, error: float | None) -> str:
    return f"loss {loss:.4g}" + ("" if error is None else f", mass error {error:.1e}")
