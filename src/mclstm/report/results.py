"""Results as files with every seed in them: what the tables of README and docs are made from."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from mclstm.errors import CheckpointError
from mclstm.evaluation.statistics import Interval
from mclstm.training.atomic import make_folder, write_text_atomic
from mclstm.training.cost import commit
from mclstm.training.folder import environment
from mclstm.training.journal import without_nan

__all__ = [
    "SIGNIFICANT",
    "Claim",
    "Row",
    "as_much",
    "claim",
    "extents",
    "interval_row",
    "merged",
    "read_results",
    "record",
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


def merged(old: Sequence[Row], new: Sequence[Row], careful: bool = False) -> list[Row]:
    """The rows of a file after another run: what was run again replaces its (model, setting), the rest stays.

    careful: so does what the new rows have less of, be it seeds or updates.

    >>> old = [row("x", "a", "mse", [1.0]), row("x", "b", "mse", [1.0])]
    >>> [item["value"] for item in merged(old, [row("x", "a", "mse", [2.0])])]
    [1.0, 2.0]
    >>> old, fewer = [old[0] | {"seeds": [0, 1]}], [old[0] | {"value": 3.0, "seeds": [1]}]
    >>> [item["value"] for item in merged(old, fewer, careful=True)]
    [1.0]
    """
    before, now = extents(old), extents(new)
    again = {key for key in now if not careful or key not in before or as_much(now[key], before[key])}
    stay = [item for item in old if cell(item) not in again]
    return stay + [item for item in new if cell(item) in again]


class Extent(NamedTuple):
    """How much rows are of: whose values, of how many runs, and for how many updates these were trained."""

    seeds: frozenset[int] = frozenset()
    runs: int = 0
    trained: int = 0


def extents(rows: Sequence[Row]) -> dict[tuple[str, str], Extent]:
    """How much there is, by model and setting; older rows name no seeds, those of hydrology no updates."""
    found: dict[tuple[str, str], Extent] = {}
    for item in rows:
        known = found.get(cell(item), Extent())
        runs: int = item["runs"] if "runs" in item else item["n"]
        seeds = known.seeds.union(item.get("seeds", ()))
        found[cell(item)] = Extent(seeds, max(known.runs, runs), max(known.trained, item.get("trained", 0)))
    return found


def as_much(new: Extent, old: Extent) -> bool:
    """Whether nothing of the old is lost: every seed it names, as many runs, trained as long.

    >>> as_much(Extent(frozenset([1, 2]), 2, 9), Extent(frozenset([0]), 1, 9))
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


def record(path: Path) -> dict[str, Any]:
    """A result file that every checkout has."""
    content = read_results(path)
    if content is None:
        raise CheckpointError(f"{path} is missing. Restore it from the repository.")
    return content


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
