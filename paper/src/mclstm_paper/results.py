"""Result files: rows with every seed, and claims; README and docs make their tables from them."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from mclstm.errors import CheckpointError
from mclstm.training.atomic import make_folder, write_text_atomic
from mclstm.training.cost import commit
from mclstm.training.folder import environment
from mclstm.training.journal import without_nan
from mclstm_paper.statistics import Interval

__all__ = [
    "SIGNIFICANT",
    "Claim",
    "Row",
    "claim",
    "committed_results",
    "covers",
    "extents",
    "interval_row",
    "made_now",
    "merge_rows",
    "read_results",
    "row",
    "save_results",
]

Row = dict[str, Any]
Claim = dict[str, Any]
SIGNIFICANT = 0.05  # below this p a claim that has a test holds


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
    """One cell of a table with an interval computed from its values; `more` are further fields.

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
    """A comparison in words, the test, its p, and whether the claim holds.

    >>> claim("MC-LSTM solves more than NAU", "proportion", 0.03, True)["holds"]
    True
    """
    return {"claim": text, "test": test, "p": p, "holds": holds}


def merge_rows(old: Sequence[Row], new: Sequence[Row], careful: bool = False) -> list[Row]:
    """The rows of a file after another run: new rows replace those of the same model and setting.

    careful: old rows also stay where the new ones have fewer seeds, runs or updates.

    >>> old = [row("x", "a", "mse", [1.0]), row("x", "b", "mse", [1.0])]
    >>> [item["value"] for item in merge_rows(old, [row("x", "a", "mse", [2.0])])]
    [1.0, 2.0]
    >>> old, fewer = [old[0] | {"seeds": [0, 1]}], [old[0] | {"value": 3.0, "seeds": [1]}]
    >>> [item["value"] for item in merge_rows(old, fewer, careful=True)]
    [1.0]
    """
    before, now = extents(old), extents(new)
    again = {key for key in now if not careful or key not in before or covers(now[key], before[key])}
    stay = [item for item in old if cell(item) not in again]
    return stay + [item for item in new if cell(item) in again]


class Extent(NamedTuple):
    """How much work is in some rows: their seeds, the number of runs, and the updates of each run."""

    seeds: frozenset[int] = frozenset()
    runs: int = 0
    trained: int = 0


def extents(rows: Sequence[Row]) -> dict[tuple[str, str], Extent]:
    """The work in rows by model and setting; some rows name no seeds, rows of hydrology no updates."""
    work: dict[tuple[str, str], Extent] = {}
    for item in rows:
        known = work.get(cell(item), Extent())
        runs: int = item["runs"] if "runs" in item else item["n"]
        seeds = known.seeds.union(item.get("seeds", ()))
        work[cell(item)] = Extent(seeds, max(known.runs, runs), max(known.trained, item.get("trained", 0)))
    return work


def covers(new: Extent, old: Extent) -> bool:
    """Whether the new work holds the old: all its seeds, as many runs, as many updates.

    >>> covers(Extent(frozenset([1, 2]), 2, 9), Extent(frozenset([0]), 1, 9))
    False
    """
    return new.seeds >= old.seeds and new.runs >= old.runs and new.trained >= old.trained


def cell(item: Row) -> tuple[str, str]:
    """What a row is about: its model and setting."""
    return item["model"], item["setting"]


def read_results(path: Path) -> dict[str, Any] | None:
    """The content of a result file, None if it is not there."""
    if not path.exists():
        return None
    try:
        content: dict[str, Any] = json.loads(path.read_text())
    except ValueError as error:
        raise CheckpointError(f"{path} is not JSON: {error}. Restore it, or remove it.") from error
    return content


def committed_results(path: Path) -> dict[str, Any]:
    """A result file that every checkout has."""
    content = read_results(path)
    if content is None:
        raise CheckpointError(f"{path} is missing. Restore it from the repository.")
    return content


def made_now(seconds: float, machine: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The entry `made` of a result file: date, commit, machine, versions and time."""
    around = environment()
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "commit": commit(),
        "machine": {key: around[key] for key in ("platform", "machine", "cores")} | dict(machine or {}),
        "versions": around["packages"],
        "wall_seconds": round(seconds, 1),
    }


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
    """Write a result file with its date, commit, machine, versions and time; the result is its content.

    machine: further facts about it · provenance: by job, what made the rows · more: further entries
    """
    origin = made_now(seconds, machine) | ({"jobs": dict(provenance)} if provenance else {})
    content: dict[str, Any] = without_nan(
        {
            "experiment": experiment,
            "protocol": protocol,
            "profile": profile,
            "made": origin,
            "rows": list(rows),
            "claims": list(claims),
            **more,
        }
    )
    make_folder(path.parent)
    write_text_atomic(path, json.dumps(content, indent=1, allow_nan=False) + "\n")
    return content
