"""Arithmetic tasks: which members solved them and when, by their evaluations."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from mclstm.jobs.execution import Result
from mclstm_paper.seeds.ensemble import Ensemble

__all__ = ["at_best", "outcome"]


def outcome(ensemble: Ensemble, limits: Mapping[str, float]) -> Result:
    """What came of every member, by the evaluation with its lowest validation error.

    solved: the test error there is below the threshold; solved_at: the first update with such an error.
    """
    updates, test, tested = torch.tensor(ensemble.noted), ensemble.record("test"), at_best(ensemble, "test")
    result: dict[str, Any] = {
        "best": updates[lowest(ensemble)].tolist(),
        "validation": at_best(ensemble, "validation").tolist(),
        "test": tested.tolist(),
        "failed": ensemble.failed.tolist(),
        "solved": {},
        "solved_at": {},
    }
    for name, limit in limits.items():
        below = test < limit
        first = updates[below.to(torch.uint8).argmax(dim=0)]
        result["solved"][name] = (tested < limit).tolist()
        result["solved_at"][name] = torch.where(below.any(dim=0), first, -1).tolist()
    if "sparsity" in ensemble.records:
        result["sparsity"] = at_best(ensemble, "sparsity").tolist()
    return result


def at_best(ensemble: Ensemble, name: str) -> Tensor:
    """What was noted under a name at the evaluation by which each member is judged, (E,)."""
    return ensemble.record(name).gather(0, lowest(ensemble).unsqueeze(0))[0]


def lowest(ensemble: Ensemble) -> Tensor:
    """The number of the evaluation with each member's lowest validation error, (E,)."""
    return ensemble.record("validation").nan_to_num(nan=math.inf).argmin(dim=0)
