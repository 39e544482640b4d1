"""What made a job: for every process that worked on it the commit of the code, the date and the CPU time."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from mclstm.training.atomic import write_text_atomic
from mclstm.training.cost import commit

__all__ = ["accounted", "provenance"]

FILE = "made.json"  # beside job.json, which says what a folder belongs to: this one decides nothing


@contextmanager
def accounted(folder: Path) -> Iterator[None]:
    """Within the context a job is worked on; afterwards, stopped or finished, its folder knows by whom.

    A process that is killed leaves no line: CPU seconds are then fewer than were spent.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with accounted(Path(folder)): pass
    ...     with accounted(Path(folder)): pass
    ...     provenance(Path(folder))["sessions"]
    2
    """
    code, begun = running_commit(), time.process_time()
    try:
        yield
    finally:
        spent = round(time.process_time() - begun, 1)
        session = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "commit": code, "cpu_seconds": spent}
        write_text_atomic(folder / FILE, json.dumps([*sessions(folder), session], indent=1) + "\n")


@cache
def running_commit() -> str:
    """The commit of the code this process has loaded, asked once: it may be another one later."""
    return commit()


def sessions(folder: Path) -> list[dict[str, Any]]:
    """What is known of the processes that worked on a job; nothing of jobs from before this was kept."""
    try:
        known: list[dict[str, Any]] = json.loads((folder / FILE).read_text())
    except (OSError, ValueError):
        return []
    return known


def provenance(folder: Path) -> dict[str, Any] | None:
    """A job's CPU seconds and commits over all its sessions, None if nobody kept them."""
    known = sessions(folder)
    if not known:
        return None
    return {
        "cpu_seconds": round(sum(one["cpu_seconds"] for one in known), 1),
        "commits": list(dict.fromkeys(one["commit"] for one in known)),
        "sessions": len(known),
    }
