"""What the members of a model cost, beside their scores in a result file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mclstm.training.cost import total

__all__ = ["with_costs"]

KEYS = ("commit", "wall_seconds", "cpu_seconds", "peak_mb")


def with_costs(rows: Sequence[dict[str, Any]], runs: Sequence[Path]) -> list[dict[str, Any]]:
    """The rows of a model, single or ensemble, with one entry a member; null where a run did not keep it.

    >>> with_costs([{"model": "lstm"}], [Path("no-such-run")])[0]["training"]["cpu_seconds"]
    [None]
    """
    every = [total(run) for run in runs]
    costs = {key: [cost[key] for cost in every] for key in KEYS}
    return [{**row, "training": costs} for row in rows]
