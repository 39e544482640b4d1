"""Results as files with every seed in them: what the tables of README and docs are made from."""

import json
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np

from mclstm.training.atomic import make_folder, write_text_atomic
from mclstm.training.folder import environment

__all__ = ["row", "save_results"]


Spread = Literal["range", "quartiles"]
LIMITS: dict[Spread, tuple[float, float]] = {"range": (0, 100), "quartiles": (25, 75)}


def row(
    setting: str,
    model: str,
    metric: str,
    values: Sequence[float],
    paper: float | None = None,
    spread: Spread = "range",
) -> dict[str, Any]:
    """One cell of a table: the median of its seeds, its range or quartiles, and the paper's number.

    >>> row("fulda", "mclstm", "nse", [0.7, 0.9, 0.8])["value"]
    0.8
    """
    low, high = LIMITS[spread]
    return {
        "model": model,
        "setting": setting,
        "metric": metric,
        "n": len(values),
        "value": float(np.median(values)),
        "low": float(np.percentile(values, low)),
        "high": float(np.percentile(values, high)),
        "paper": paper,
        "values": [float(value) for value in values],
    }


def save_results(
    path: Path,
    experiment: str,
    profile: str,
    rows: list[dict[str, Any]],
    seconds: float,
    claims: Sequence[dict[str, Any]] = (),
    machine: dict[str, Any] | None = None,
    **more: Any,
) -> None:
    """Write a result file with what made it: date, commit, machine, versions, time.

    machine: what else is known of it · more: further entries of the file
    """
    around = environment()
    made = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "commit": commit(),
        "machine": {key: around[key] for key in ("platform", "machine", "cores")} | (machine or {}),
        "versions": around["packages"],
        "wall_seconds": round(seconds, 1),
    }
    content = {"experiment": experiment, "protocol": "stated", "profile": profile, "made": made, "rows": rows}
    make_folder(path.parent)
    text = json.dumps({**content, "claims": list(claims), **more}, indent=1)
    write_text_atomic(path, text + "\n")


def commit() -> str:
    """The commit of the checkout the program runs in, or "unknown" outside one."""
    try:
        words = ["git", "rev-parse", "--short", "HEAD"]
        shown = subprocess.run(words, capture_output=True, text=True, check=True, cwd=Path(__file__).parent)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return shown.stdout.strip()
