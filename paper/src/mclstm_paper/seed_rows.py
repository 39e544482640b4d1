"""Result rows from the values of every seed, and the way back from rows to numbers."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mclstm.jobs.job import Result
from mclstm_paper.results import Row, interval_row
from mclstm_paper.statistics import Interval

__all__ = ["failure_rows", "find", "joined_results", "numbers", "paired", "quartiles"]


Errors = NDArray[np.float64]


def joined_results(results: Sequence[Result]) -> Result:
    """The results of several blocks of seeds as one; a value that some of them lack is left out."""
    joined: Result = {}
    for name, value in results[0].items():
        parts = [result[name] for result in results if name in result]
        if len(parts) == len(results):
            nested = isinstance(value, dict)
            joined[name] = joined_results(parts) if nested else [item for part in parts for item in part]
    return joined


def failure_rows(
    setting: str,
    model: str,
    errors: np.ndarray[Any, np.dtype[np.float64]],  # (E,) of the test
    failed: Sequence[int],
    paper: float | None = None,
    **more: Any,
) -> list[Row]:
    """How many runs failed in training, "nan", and how many others have no finite test error, "infinite".

    failed: the update at which each run had no finite gradient, -1 for those that always had one
    """
    broken = np.array(failed) >= 0
    infinite = ~np.isfinite(errors) & ~broken

    def row(metric: str, which: np.ndarray[Any, Any], values: Any, number: float | None = None) -> Row:
        bare = Interval(float(which.sum()), math.nan, math.nan, len(errors))
        return interval_row(setting, model, metric, bare, list(values), number, **more)

    return [row("nan", broken, failed, paper), row("infinite", infinite, infinite)]


def numbers(values: Sequence[float | None]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The numbers of a file, where null stands for NaN."""
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)


def quartiles(values: np.ndarray[Any, Any]) -> Interval:
    """The median and quartiles of the finite values; NaN if there are none."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return Interval(math.nan, math.nan, math.nan, 0)
    low, middle, high = (float(value) for value in np.quantile(finite, [0.25, 0.5, 0.75]))
    return Interval(middle, low, high, int(finite.size))


def find(rows: Sequence[Row], model: str, setting: str, metric: str) -> Row | None:
    """The row of a model, setting and metric, None if there is none."""
    wanted = (model, setting, metric)
    return next((r for r in rows if (r["model"], r["setting"], r["metric"]) == wanted), None)


def paired(first: Row, second: Row) -> tuple[Errors, Errors]:
    """The values of two rows for the seeds that both have and of which neither is missing, (N,) each.

    Rows without seeds are paired by position.

    >>> one, two = {"seeds": [3, 5], "values": [1.0, 2.0]}, {"seeds": [5, 9], "values": [4.0, 8.0]}
    >>> paired(one, two)
    (array([2.]), array([4.]))
    """
    one, two = by_seed(first), by_seed(second)
    shared = [seed for seed in one if seed in two]
    a, b = (np.array([values[seed] for seed in shared], dtype=np.float64) for values in (one, two))
    both = np.isfinite(a) & np.isfinite(b)
    return a[both], b[both]


def by_seed(row: Row) -> dict[int, float | None]:
    """The values of a row by seed; None and NaN are of runs that failed."""
    values = row["values"]
    return dict(zip(row.get("seeds") or range(len(values)), values, strict=True))
