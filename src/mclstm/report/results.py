"""Results as files with every seed in them: what the tables of README and docs are made from."""

import json
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from mclstm.training.atomic import write_text_atomic
from mclstm.training.folder import environment

__all__ = ["row", "save_results"]


def row(
    setting: str, model: str, metric: str, values: Sequence[float], paper: float | None = None
) -> dict[str, Any]:
    """One cell of a table: the median of its seeds with the lowest and the highest, and the paper's number.

    >>> row("fulda", "mclstm", "nse", [0.7, 0.9, 0.8])["value"]
    0.8
    """
    return {
        "model": model,
        "setting": setting,
        "metric": metric,
        "n": len(values),
        "value": float(np.median(values)),
        "low": float(np.min(values)),
        "high": float(np.max(values)),
        "paper": paper,
        "values": [float(value) for value in values],
    }


def save_results(
    path: Path, experiment: str, profile: str, rows: list[dict[str, Any]], seconds: float
) -> None:
    """Write a result file with what made it: date, commit, machine, versions, time."""
    around = environment()
    made = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "commit": commit(),
        "machine": {key: around[key] for key in ("platform", "machine", "cores")},
        "versions": around["packages"],
        "wall_seconds": round(seconds, 1),
    }
    content = {"experiment": experiment, "protocol": "stated", "profile": profile, "made": made, "rows": rows}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text_atomic(path, json.dumps({**content, "claims": []}, indent=1) + "\n")


def commit() -> str:
    """The commit of the checkout the program runs in, or "unknown" outside one."""
    try:
        words = ["git", "rev-parse", "--short", "HEAD"]
        shown = subprocess.run(words, capture_output=True, text=True, check=True, cwd=Path(__file__).parent)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return shown.stdout.strip()
