"""One process at a time trains in a run folder.

The lock is the kernel's (`flock`) on an open file of the folder. It ends with the process that holds it, also
when that is killed, and is never left behind. Commands that only read ask for none.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mclstm.errors import StorageError
from mclstm.training.atomic import storage_errors

__all__ = ["LOCK", "locked"]

LOCK = ".lock"  # holds the number of the process that has the lock, or of the last one that had it
TAKEN = (errno.EWOULDBLOCK, errno.EACCES)
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)  # what some network file systems answer


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a run folder within the context, or raise StorageError that names who has it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, locked(Path(folder)):
    ...     with locked(Path(folder)):
    ...         pass  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    mclstm.errors.StorageError: Process ... trains in ...
    """
    if os.name == "nt":  # Windows has no flock
        yield
        return
    with storage_errors(f"write {folder / LOCK}", "Make the folder writable, or copy the run elsewhere."):
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _take(descriptor, folder)
        yield
    finally:
        os.close(descriptor)  # and with it the lock


def _take(descriptor: int, folder: Path) -> None:
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in NO_LOCKS:
            return  # such a file system cannot tell two trainings apart; one alone is as safe as ever
        if error.errno not in TAKEN:
            raise StorageError(f"Cannot lock {folder / LOCK}: {error.strerror}. Copy the run.") from error
        owner = os.read(descriptor, 20).decode("ascii", "replace").strip()
        raise StorageError(
            f"Process {owner or 'of another user'} trains in {folder}. Wait until it ends, or stop it, "
            "and run the command again."
        ) from None
    os.ftruncate(descriptor, 0)
    os.write(descriptor, str(os.getpid()).encode())
