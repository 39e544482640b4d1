"""The paper's numbers, and what we set out to reach."""

from typing import Literal, NamedTuple

from mclstm_paper.protocols import Protocol

__all__ = ["CORE_HOURS", "DEVIATION", "PRINTED", "TARGETS", "Target"]

PRINTED: dict[str, float] = {"mclstm": 0.01, "lstm": 0.07}  # mean squared error over the 120 sets
DEVIATION: dict[str, float] = {"mclstm": 0.02, "lstm": 0.14}


class Target(NamedTuple):
    """A number to stay below."""

    model: str
    protocol: Protocol
    statistic: Literal["mean", "median"]
    limit: float
    setting: str = "all"


TARGETS = (
    Target("mclstm", "published", "mean", 0.010),
    Target("mclstm-invariant", "published", "mean", 2e-4),
    Target("mclstm-invariant", "published", "median", 5e-5),
    Target("mclstm-clock", "published", "mean", 5e-5),
    Target("mclstm-invariant", "stated", "mean", 1e-3),
    Target("mclstm-clock", "stated", "mean", 1e-3),
)
CORE_HOURS = 2  # for all models of all sets
