"""The result files of traces: numbers, and where and when they were made."""

import json
import time
from pathlib import Path
from typing import Any

from mclstm.training.atomic import make_folder, write_text_atomic
from mclstm.training.folder import environment
from mclstm.training.journal import without_nan

__all__ = ["FOLDER", "save_trace"]

FOLDER = Path("results/trace")


def save_trace(path: Path, content: dict[str, Any], began: float) -> None:
    """Write a result file; began: `time.perf_counter()` before the work."""
    made = {"seconds": round(time.perf_counter() - began, 1), "environment": environment()}
    make_folder(path.parent)
    write_text_atomic(path, json.dumps(without_nan(content | made), indent=1, allow_nan=False) + "\n")
