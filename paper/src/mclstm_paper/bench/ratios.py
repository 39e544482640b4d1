"""Finding rows of a bench and comparing them: ratios round by round, so that drift cancels; power laws."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "BOTH", "FMA_LOOP", "FORWARD", "Curve", "Row", "Spread", "attainment", "better_product", "curve", "every",
    "exponent", "find", "growth_exponent", "limit", "ratio", "spread",
]  # fmt: skip

FORWARD, BOTH = "forward", "forward+backward"
FMA_LOOP = "FMA loop"

Row = dict[str, Any]


class Spread(NamedTuple):
    """A median with its quartiles."""

    value: float
    low: float
    high: float


def every(rows: Iterable[Row], **entries: Any) -> list[Row]:
    """All rows in which these entries have these values."""
    return [row for row in rows if all(row.get(name) == value for name, value in entries.items())]


def find(rows: Iterable[Row], **entries: Any) -> Row | None:
    """The first row in which these entries have these values, if there is one."""
    return next(iter(every(rows, **entries)), None)


def spread(values: Sequence[float] | np.ndarray) -> Spread:
    """Median and quartiles.

    >>> spread([1.0, 2.0, 3.0, 4.0, 5.0])
    Spread(value=3.0, low=2.0, high=4.0)
    """
    low, middle, high = np.percentile(values, [25, 50, 75])
    return Spread(float(middle), float(low), float(high))


def ratio(slow: Row | None, fast: Row | None) -> Spread | None:
    """How many times as long the first takes, round by round; None if one was not measured.

    >>> ratio({"values": [2.0, 30.0]}, {"values": [1.0, 10.0]})
    Spread(value=2.5, low=2.25, high=2.75)
    """
    if slow is None or fast is None:
        return None
    return spread(np.asarray(slow["values"]) / np.asarray(fast["values"]))


def better_product(rows: Iterable[Row]) -> Row | None:
    """The faster of the matrix products among these rows, which are to be of one measurement.

    >>> rates = [{"metric": "gflops", "model": name, "value": rate} for name, rate in (("a", 3), ("b", 5))]
    >>> better_product(rates)["model"]
    'b'
    """
    products = [row for row in every(rows, metric="gflops") if row["model"] != FMA_LOOP]
    return max(products, key=lambda row: row["value"], default=None)


def limit(rows: Sequence[Row]) -> Row | None:
    """The rate no pass can exceed: the FMA loop's; where it was not built, that of the better product."""
    return find(rows, metric="gflops", model=FMA_LOOP) or better_product(rows)


def attainment(row: Row | None, rate: Row | None) -> Spread | None:
    """The rate at which a pass executes its operations, as a share of another rate in the same round.

    >>> attainment({"values": [10.0], "operations": 800e6}, {"values": [100.0]}).value
    0.8
    """
    if row is None or rate is None or "operations" not in row:
        return None
    gflops = row["operations"] / np.asarray(row["values"]) / 1e6
    return spread(gflops / np.asarray(rate["values"]))


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """p of the power law cost ~ size^p through the points, by least squares of the logarithms.

    >>> round(exponent([1, 2, 4], [3.0, 12.0, 48.0]), 6)
    2.0
    """
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


class Curve(NamedTuple):
    """A sweep over one size: its values, the milliseconds, and the operations that each point needs."""

    at: list[int]
    ms: list[float]
    operations: list[int] | None


def curve(rows: Iterable[Row], axis: str, model: str, metric: str) -> Curve | None:
    """The sweep of a model over B, T, K, A, M or E; None if it was not measured at two points or more."""
    swept = every(rows, group="growth", part=axis, model=model, metric=metric)
    if len(swept) < 2:
        return None
    at = [row["members"] if axis == "E" else row["sizes"][axis] for row in swept]
    counted = [row["operations"] for row in swept] if "operations" in swept[0] else None
    return Curve(at, [row["value"] for row in swept], counted)


def growth_exponent(rows: Iterable[Row], axis: str, model: str, metric: str) -> float | None:
    """The exponent p of cost ~ size^p; None if the sweep was not measured."""
    points = curve(rows, axis, model, metric)
    return None if points is None else exponent(points.at, points.ms)
