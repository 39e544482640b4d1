"""Results as files with every seed in them: what the tables of README and docs are made from."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np

from mclstm.evaluation.statistics import Interval
from mclstm.training.atomic import make_folder, write_text_atomic
from mclstm.training.cost import commit
from mclstm.training.folder import environment
from mclstm.training.journal import without_nan

__all__ = ["Claim", "Row", "claim", "interval_row", "merged", "row", "save_results"]

Row = dict[str, Any]
Claim = dict[str, Any]


Spread = Literal["range", "quartiles"]
LIMITS: dict[Spread, tuple[float, float]] = {"range": (0, 100), "quartiles": (25, 75)}


def row(
    setting: str,
    model: str,
    metric: str,
    values: Sequence[float],
    paper: float | None = None,
    spread: Spread = "range",
) -> Row:
    """One cell of a table: the median of its seeds, its range or quartiles, and the paper's number.

    >>> row("fulda", "mclstm", "nse", [0.7, 0.9, 0.8])["value"]
    0.8
    """
    low, high = (float(bound) for bound in np.percentile(values, LIMITS[spread]))
    middle = Interval(float(np.median(values)), low, high, len(values))
    return interval_row(setting, model, metric, middle, values, paper)


def interval_row(
    setting: str,
    model: str,
    metric: str,
    interval: Interval,
    values: Sequence[float],
    paper: float | None = None,
    **more: Any,
) -> Row:
    """One cell of a table with an interval that was computed from its values; `more` are fields of its own.

    >>> half = Interval(0.5, 0.1, 0.9, 2)
    >>> interval_row("addition", "nau", "success", half, [0, 1], trained=1000)["trained"]
    1000
    """
    return {
        "model": model,
        "setting": setting,
        "metric": metric,
        "n": interval.n,
        "value": interval.value,
        "low": interval.low,
        "high": interval.high,
        "paper": paper,
        "values": [float(value) for value in values],
        **more,
    }


def claim(text: str, test: str, p: float | None, holds: bool) -> Claim:
    """A comparison of the paper: in words, by which test, with which probability, and whether it holds.

    >>> claim("MC-LSTM solves more than NAU", "proportion", 0.03, True)["holds"]
    True
    """
    return {"claim": text, "test": test, "p": p, "holds": holds}


def merged(old: Sequence[Row], new: Sequence[Row], partial: bool = False) -> list[Row]:
    """The rows of a file after another run: what was run again replaces its (model, setting), the rest stays.

    partial: so does what has seeds that the new rows do not have yet, as their blocks are in training.

    >>> old = [row("x", "a", "mse", [1.0]), row("x", "b", "mse", [1.0])]
    >>> [item["value"] for item in merged(old, [row("x", "a", "mse", [2.0])])]
    [1.0, 2.0]
    >>> old, fewer = [old[0] | {"seeds": [0, 1]}], [old[0] | {"value": 3.0, "seeds": [1]}]
    >>> [item["value"] for item in merged(old, fewer, partial=True)]
    [1.0]
    """
    before, now = seeds_of(old), seeds_of(new)
    again = {key for key, seeds in now.items() if not partial or seeds >= before.get(key, set())}
    stay = [item for item in old if cell(item) not in again]
    return stay + [item for item in new if cell(item) in again]


def seeds_of(rows: Sequence[Row]) -> dict[tuple[str, str], set[int]]:
    """Whose values there are, by model and setting; nobody's where rows do not say."""
    found: dict[tuple[str, str], set[int]] = {}
    for item in rows:
        found.setdefault(cell(item), set()).update(item.get("seeds", ()))
    return found


def cell(item: Row) -> tuple[str, str]:
    """What a row is about: its model and setting."""
    return item["model"], item["setting"]


def save_results(
    path: Path,
    experiment: str,
    profile: str,
    rows: Sequence[Row],
    seconds: float,
    *,
    protocol: str = "stated",
    claims: Sequence[Claim] = (),
    machine: dict[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Write a result file with what made it, date, commit, machine, versions, time; and give its content.

    machine: what else is known of it · provenance: by name, what made each of the jobs the rows are of
    more: further entries of the file
    """
    around = environment()
    made = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "commit": commit(),
        "machine": {key: around[key] for key in ("platform", "machine", "cores")} | (machine or {}),
        "versions": around["packages"],
        "wall_seconds": round(seconds, 1),
        **({"jobs": dict(provenance)} if provenance else {}),
    }
    content: dict[str, Any] = without_nan(
        {
            "experiment": experiment,
            "protocol": protocol,
            "profile": profile,
            "made": made,
            "rows": list(rows),
            "claims": list(claims),
            **more,
        }
    )
    make_folder(path.parent)
    write_text_atomic(path, json.dumps(content, indent=1, allow_nan=False) + "\n")
    return content
