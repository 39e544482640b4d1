"""Arithmetic tasks: the rows and claims of the tables, from what came of the members."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from mclstm.evaluation.statistics import Interval, proportion_test, wilson_interval
from mclstm.jobs.execution import Result
from mclstm.report.results import SIGNIFICANT, Claim, Row, claim, interval_row
from mclstm_paper.arithmetic.thresholds import success_threshold
from mclstm_paper.protocols import Protocol

__all__ = [
    "beats",
    "failure_rows",
    "matches",
    "other",
    "reaches",
    "solved_rows",
    "solves",
    "thresholds",
    "trivial_rows",
]

PROTOCOLS: tuple[Protocol, ...] = ("stated", "published")


def other(protocol: Protocol) -> Protocol:
    """The protocol that is not this one.

    >>> other("stated")
    'published'
    """
    return "published" if protocol == "stated" else "stated"


def thresholds(task: str, operation: str) -> dict[str, float]:
    """The test errors below which a task counts as solved, by protocol."""
    return {name: success_threshold(task, operation, name) for name in PROTOCOLS}


def together(results: Sequence[Result]) -> Result:
    """The outcomes of several blocks of seeds as one, of what all of them have."""
    joined: Result = {}
    for name, value in results[0].items():
        if not all(name in result for result in results):
            continue
        parts = [result[name] for result in results]
        joined[name] = (
            together(parts) if isinstance(value, dict) else [item for part in parts for item in part]
        )
    return joined


def solved_rows(
    model: str,
    operation: str,
    protocol: Protocol,
    results: Sequence[Result],
    trained: int,
    paper: tuple[float | None, float | None],
    **more: Any,
) -> list[Row]:
    """Success rate, updates until solved, test error, sparsity and failures of a model on an operation.

    By the protocol's own threshold, and under names that say so by the other one; updates and sparsity are of
    those that solved it. more: further fields of every row, such as whose the values are, in their order.
    """
    found = together(results)
    more = {"trained": trained, **more}

    def made(metric: str, interval: Interval, values: Any, number: float | None = None) -> Row:
        return interval_row(operation, model, metric, interval, list(values), number, **more)

    rows, errors = [], numbers(found["test"])
    for name in (protocol, other(protocol)):
        solved, beside = np.array(found["solved"][name]), "" if name == protocol else f" ({name} threshold)"
        at = np.array(found["solved_at"][name])[solved]
        rate = wilson_interval(int(solved.sum()), len(solved))
        rows.append(made(f"success{beside}", rate, solved, paper[0]))
        rows.append(made(f"updates{beside}", quartiles(at), at, paper[1]))
        if "sparsity" in found:
            sparse = numbers(found["sparsity"])[solved]
            rows.append(made(f"sparsity{beside}", quartiles(sparse), sparse))
    rows.append(made("mse", quartiles(errors), errors))
    return rows + failure_rows(operation, model, errors, found["failed"], **more)


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

    def made(metric: str, which: np.ndarray[Any, Any], values: Any, number: float | None = None) -> Row:
        bare = Interval(float(which.sum()), math.nan, math.nan, len(errors))
        return interval_row(setting, model, metric, bare, list(values), number, **more)

    return [made("nan", broken, failed, paper), made("infinite", infinite, infinite)]


def trivial_rows(
    model: str, operation: str, protocol: Protocol, errors: Tensor, limits: Mapping[str, float]
) -> list[Row]:
    """The rows of a prediction that nobody learned, by its test error on every seed's task (E,).

    Its success has no interval, for nothing was drawn but the task, and carries the threshold.
    """
    solved = {name: (errors < limit).tolist() for name, limit in limits.items()}
    nothing = [-1] * len(errors)
    found = {
        "test": errors.tolist(),
        "failed": nothing,
        "solved": solved,
        "solved_at": {name: [0] * len(errors) for name in limits},
    }
    names = {"success": protocol, f"success ({other(protocol)} threshold)": other(protocol)}
    return [
        row
        if row["metric"] not in names
        else row | {"low": row["value"], "high": row["value"], "threshold": limits[names[row["metric"]]]}
        for row in solved_rows(model, operation, protocol, [found], 0, (None, None))
    ]


def numbers(values: Sequence[float | None]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """What a file gave back: null was NaN."""
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)


def quartiles(values: np.ndarray[Any, Any]) -> Interval:
    """Median with quartiles over those that are finite; NaN where there are none."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return Interval(math.nan, math.nan, math.nan, 0)
    low, middle, high = (float(value) for value in np.quantile(finite, [0.25, 0.5, 0.75]))
    return Interval(middle, low, high, int(finite.size))


def beats(rows: Sequence[Row], model: str, rival: str, operation: str) -> list[Claim]:
    """Whether a model solves an operation more often than a rival: the paper's one-sided proportion test."""
    one, two = (find(rows, name, operation, "success") for name in (model, rival))
    if one is None or two is None:
        return []
    first, second = ((int(sum(item["values"])), int(item["n"])) for item in (one, two))
    half = proportion_test(first, second).p / 2
    p = half if one["value"] > two["value"] else 1 - half
    text = f"{model} solves {operation} more often than {rival}"
    trained = [item.get("trained") for item in (one, two)]
    if trained[0] != trained[1]:
        text += ", which was trained for {1:,} updates instead of {0:,}".format(*trained)
    return [claim(text, "proportion test, one-sided", p, bool(p < SIGNIFICANT))]


def reaches(rows: Sequence[Row], model: str, operation: str) -> list[Claim]:
    """Whether the interval of a success rate reaches up to the paper's rate, or lies above it."""
    item = find(rows, model, operation, "success")
    if item is None or item["paper"] is None:
        return []
    text = f"{model}, {operation}: the interval of the success rate reaches up to the paper's"
    text = f"{text} {item['paper']:.0%}"
    return [claim(text, f"Wilson interval, 95 %, {item['n']} runs", None, item["high"] >= item["paper"])]


def matches(rows: Sequence[Row], model: str, rival: str, operation: str) -> list[Claim]:
    """Whether a model solves an operation at least as often as a rival."""
    one, two = (find(rows, name, operation, "success") for name in (model, rival))
    if one is None or two is None:
        return []
    text = f"{model} solves {operation} at least as often as {rival}"
    return [claim(text, "success rates", None, one["value"] >= two["value"])]


def solves(rows: Sequence[Row], model: str, operation: str, aim: float) -> list[Claim]:
    """Whether a success rate is at least what we aimed at."""
    item = find(rows, model, operation, "success")
    if item is None:
        return []
    text = f"{model} solves {operation} in {aim:.0%} of the runs or more"
    return [claim(text, "success rate", None, item["value"] >= aim)]


def find(rows: Sequence[Row], model: str, setting: str, metric: str) -> Row | None:
    """One row of a table, None if it is not there."""
    wanted = (model, setting, metric)
    return next((r for r in rows if (r["model"], r["setting"], r["metric"]) == wanted), None)
