"""How cost grows with one size: the points of a sweep and the power law through them."""

from collections.abc import Iterable
from typing import NamedTuple

from mclstm_paper.bench.rows import Row, every, exponent

__all__ = ["Curve", "curve", "growth_exponent"]


class Curve(NamedTuple):
    """A sweep over one size: where it was measured, what it cost, what it must cost at least."""

    at: list[int]
    ms: list[float]
    operations: list[int] | None


def curve(rows: Iterable[Row], axis: str, model: str, metric: str) -> Curve | None:
    """The sweep of a model over B, T, K, A, M or E; None if it was not measured at two points or more."""
    found = every(rows, group="growth", part=axis, model=model, metric=metric)
    if len(found) < 2:
        return None
    at = [row["members"] if axis == "E" else row["sizes"][axis] for row in found]
    counted = [row["operations"] for row in found] if "operations" in found[0] else None
    return Curve(at, [row["value"] for row in found], counted)


def growth_exponent(rows: Iterable[Row], axis: str, model: str, metric: str) -> float | None:
    """p of cost ~ size^p."""
    found = curve(rows, axis, model, metric)
    return None if found is None else exponent(found.at, found.ms)
