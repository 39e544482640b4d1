"""The append-only journal of a run, `metrics.jsonl`: one JSON object a line, on disk once `append` returns.

A checkpoint remembers the journal's length; resuming cuts the journal back to it, so that the file of a run
that was killed ends identical to that of a run that was not. Records therefore must not hold clock times.
"""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mclstm.errors import CheckpointError, StorageError
from mclstm.training.atomic import fsync_folder

__all__ = ["append", "length", "read", "truncate"]


def append(path: str | Path, record: Mapping[str, Any]) -> int:
    """Add one record and give the journal's length in bytes after it; NaN and infinities become null.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     append(Path(folder, "metrics.jsonl"), {"update": 1, "loss": 0.5})
    ...     read(Path(folder, "metrics.jsonl"))
    27
    [{'update': 1, 'loss': 0.5}]
    """
    path = Path(path)
    line = json.dumps(without_nan(record), allow_nan=False).encode() + b"\n"
    try:
        start = length(path)
        new = not path.exists()
        with path.open("ab") as file:
            file.truncate(start)  # a torn line would swallow this record
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        if new:
            fsync_folder(path.parent)
    except OSError as error:
        raise cannot_write(path, error) from error
    return start + len(line)


def read(path: str | Path) -> list[dict[str, Any]]:
    """All complete records; a last line torn by a crash is ignored, a missing file is an empty journal."""
    path = Path(path)
    if not path.exists():
        return []
    lines = path.read_bytes()[: length(path)].split(b"\n")[:-1]
    return [parse(path, number, line) for number, line in enumerate(lines, 1)]


def length(path: str | Path) -> int:
    """The bytes of the complete lines of the journal, 0 if there is none yet."""
    path = Path(path)
    if not path.exists() or path.stat().st_size == 0:
        return 0
    with path.open("rb") as file:
        end = file.seek(-1, os.SEEK_END) + 1
        if file.read(1) == b"\n":
            return end  # the usual case, which must not read a long journal again for every record
        file.seek(0)
        return file.read().rfind(b"\n") + 1


def truncate(path: str | Path, size: int) -> None:
    """Cut the journal back to the length a checkpoint remembers."""
    path = Path(path)
    have = length(path)
    if size > have or (size and path.read_bytes()[size - 1 : size] != b"\n"):
        raise CheckpointError(
            f"{path} has {have} bytes of complete lines, but the checkpoint was made after {size}. "
            "The journal was changed: put the original back, or start a new run."
        )
    if not path.exists():
        return
    try:
        os.truncate(path, size)
    except OSError as error:
        raise cannot_write(path, error) from error


def parse(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise CheckpointError(
            f"{path}, line {number}: not a JSON object. "
            "The journal was changed: put the original back, or start a new run."
        )
    return record


def without_nan(value: Any) -> Any:
    """JSON has no NaN, and other programs refuse Python's spelling of it."""
    if isinstance(value, Mapping):
        return {key: without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def cannot_write(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"Cannot write {path}: {error.strerror or error}. The records before are untouched. "
        "Make room or choose a folder you may write to, then resume the run."
    )
