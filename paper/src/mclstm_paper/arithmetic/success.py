"""Rows of the tables of neural arithmetic, from the results of jobs, and claims about these rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from mclstm.jobs.job import Result
from mclstm_paper.protocols import Protocol, other_protocol
from mclstm_paper.results import SIGNIFICANT, Claim, Row, claim, interval_row
from mclstm_paper.seed_rows import failure_rows, find, joined_results, numbers, quartiles
from mclstm_paper.statistics import Interval, proportion_test, wilson_interval

__all__ = [
    "beats",
    "matches",
    "reaches",
    "solved_rows",
    "solves",
    "trivial_rows",
]


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

    Success is judged by the protocol's own threshold, and once more, under another name, by the other one.
    Updates and sparsity count only the seeds that solved it. trained: updates of the training.
    paper: the paper's success rate and updates. more: further fields of every row, such as its seeds.
    """
    result, more = joined_results(results), {"trained": trained, **more}

    def row(metric: str, interval: Interval, values: Any, number: float | None = None) -> Row:
        return interval_row(operation, model, metric, interval, list(values), number, **more)

    rows, errors = [], numbers(result["test"])
    for name in (protocol, other_protocol(protocol)):
        solved, suffix = np.array(result["solved"][name]), "" if name == protocol else f" ({name} threshold)"
        at = np.array(result["solved_at"][name])[solved]
        rate = wilson_interval(int(solved.sum()), len(solved))
        rows.append(row(f"success{suffix}", rate, solved, paper[0]))
        rows.append(row(f"updates{suffix}", quartiles(at), at, paper[1]))
        if "sparsity" in result:
            sparse = numbers(result["sparsity"])[solved]
            rows.append(row(f"sparsity{suffix}", quartiles(sparse), sparse))
    rows.append(row("mse", quartiles(errors), errors))
    return rows + failure_rows(operation, model, errors, result["failed"], **more)


def trivial_rows(
    model: str, operation: str, protocol: Protocol, errors: Tensor, limits: Mapping[str, float]
) -> list[Row]:
    """The rows of a prediction without training, from its test error on every seed's task (E,).

    Its success rate has the threshold and no interval: only the task is random.
    """
    result = {
        "test": errors.tolist(),
        "failed": [-1] * len(errors),
        "solved": {name: (errors < limit).tolist() for name, limit in limits.items()},
        "solved_at": {name: [0] * len(errors) for name in limits},
    }
    names = {"success": protocol, f"success ({other_protocol(protocol)} threshold)": other_protocol(protocol)}
    return [
        row
        if row["metric"] not in names
        else row | {"low": row["value"], "high": row["value"], "threshold": limits[names[row["metric"]]]}
        for row in solved_rows(model, operation, protocol, [result], 0, (None, None))
    ]


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
    """Whether the interval of a success rate reaches the paper's rate, or lies above it."""
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
    """Whether a success rate is at least the one we aim at."""
    item = find(rows, model, operation, "success")
    if item is None:
        return []
    text = f"{model} solves {operation} in {aim:.0%} of the runs or more"
    return [claim(text, "success rate", None, item["value"] >= aim)]
