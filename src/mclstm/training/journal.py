"""The append-only journal of a run, `metrics.jsonl`: one JSON object per line, on the disk after `append`.

A checkpoint stores the length of the journal, and resuming cuts the journal back to it. So a run that was
killed ends with the same file as one that was not. Records must not hold clock times.
"""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mclstm.errors import CheckpointError
from mclstm.training.atomic import fsync_folder, storage_errors

__all__ = ["append", "length", "read", "truncate", "without_nan"]

UNTOUCHED = (
    "The records before are untouched. Make room or choose a folder you may write to, then resume the run."
)
CHANGED = "The journal was changed: put the original back, or start a new run."


def append(path: str | Path, record: Mapping[str, Any]) -> int:
    """Add one record and return the journal's new length in bytes; NaN and infinities become null.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     append(Path(folder, "metrics.jsonl"), {"update": 1, "loss": 0.5})
    ...     read(Path(folder, "metrics.jsonl"))
    27
    [{'update': 1, 'loss': 0.5}]
    """
    path = Path(path)
    line = json.dumps(without_nan(record), allow_nan=False).encode() + b"\n"
    with storage_errors(f"write {path}", UNTOUCHED):
        start = length(path)
        new = not path.exists()
        with path.open("ab") as file:
            file.truncate(start)  # a torn line would swallow this record
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        if new:
            fsync_folder(path.parent)
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
            f"{path} has {have} bytes of complete lines, but the checkpoint was made after {size}. {CHANGED}"
        )
    if path.exists():
        with storage_errors(f"write {path}", UNTOUCHED):
            os.truncate(path, size)


def parse(path: Path, number: int, line: bytes) -> dict[str, Any]:
    record = json_object(line)
    if record is None:
        raise CheckpointError(f"{path}, line {number}: not a JSON object. {CHANGED}")
    return record


def json_object(text: str | bytes) -> dict[str, Any] | None:
    """The JSON object in a text, None if it holds anything else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def without_nan(value: Any) -> Any:
    """A value with null in place of NaN and infinities, which JSON does not have."""
    if isinstance(value, Mapping):
        return {key: without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
