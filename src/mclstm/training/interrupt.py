"""SIGINT and SIGTERM: noted during an update, answered after it."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["listening"]

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def listening() -> Iterator[Callable[[], int | None]]:
    """Within the context, SIGINT and SIGTERM are only noted; the yielded function returns the first one.

    A second signal of the same kind acts as usual and ends the program at once. A signal that came after the
    last question is delivered again at the end, so that none is lost.

    >>> with listening() as stopped:
    ...     print(stopped())
    None
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None  # Python delivers signals to the main thread only
        return
    seen: list[int] = []
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def note(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        signal.signal(number, before[signal.Signals(number)])

    for number in SIGNALS:
        signal.signal(number, note)
    try:
        yield lambda: seen[0] if seen else None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if seen:
        signal.raise_signal(seen[0])
