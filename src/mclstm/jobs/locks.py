"""A folder that one process works in at a time: others are refused, or wait."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mclstm.errors import StorageError

__all__ = ["alone", "locked"]


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder, or raise StorageError if another process does; the system frees it when a process dies.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, locked(Path(folder)):
    ...     [path.name for path in Path(folder).iterdir()]
    ['lock']
    """
    if os.name == "nt":
        yield  # Windows has no such lock; a second writer fails at its rename there
        return
    import fcntl

    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StorageError(
                f"Another process works in {folder}. Wait for it, or choose another folder with --out."
            ) from error
        yield


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Read, change and write files of a folder while nobody else does: whoever comes second waits.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, alone(Path(folder)):
    ...     [path.name for path in Path(folder).iterdir()]
    ['.lock']
    """
    if os.name == "nt":
        yield
        return
    import fcntl

    with (folder / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
