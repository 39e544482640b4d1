"""Tables of success rates in the shape of the paper's, from result rows or from its own numbers."""

from collections.abc import Mapping, Sequence

import pandas as pd

from mclstm.report.markdown import NOTHING, markdown
from mclstm_paper.arithmetic.subsets import OPERATIONS
from mclstm_paper.number_format import (
    budget,
    count,
    middle,
    rate,
    spread,
    updates,
)
from mclstm_paper.results import Row

__all__ = [
    "Printed",
    "detail_table",
    "paper_success",
    "success_table",
    "success_tables",
]

Printed = tuple[float, float | None]  # success rate and median updates until solved


def success_table(rows: Sequence[Row]) -> str:
    """Success rate with its interval and median updates until solved, by model and operation.

    >>> from mclstm_paper.statistics import Interval
    >>> from mclstm_paper.results import interval_row
    >>> rows = [interval_row("addition", "nau", "success", Interval(0.5, 0.1, 0.9, 2), [0, 1], trained=4_000)]
    >>> print(success_table(rows).splitlines()[-1])
    | nau   | 50 % (10 to 90) | –       | 2 × 4e3         |
    """
    cells = {(r["model"], r["setting"], r["metric"]): r for r in rows}
    # In the paper's order, not in that of the runs.
    operations = [name for name in OPERATIONS if any(r["setting"] == name for r in rows)]
    models = list(dict.fromkeys(r["model"] for r in rows))
    table: dict[str, list[str]] = {"model": models}
    for operation in operations:
        table[operation] = [rate(cells.get((model, operation, "success"))) for model in models]
        solved = [cells.get((model, operation, "updates")) for model in models]
        table[f"updates{' ' * operations.index(operation)}"] = [
            NOTHING if r is None else updates(r["value"]) for r in solved
        ]
    ordered = [r for name in operations for r in rows if r["setting"] == name]
    table["seeds × updates"] = [budget(ordered, model) for model in models]
    return markdown(pd.DataFrame(table))


def success_tables(rows: Sequence[Row]) -> str:
    """Success rates, then errors and failures, then the thresholds."""
    return "\n\n".join([success_table(rows), detail_table(rows), *threshold_words(rows)])


def threshold_words(rows: Sequence[Row]) -> list[str]:
    """The errors below which an operation counts as solved; rows of the constant have them."""
    texts = []
    for row in rows:
        if row["model"] == "constant" and "threshold" in row:
            kind = row["metric"].removeprefix("success").strip(" ()") or "threshold"
            texts.append(f"{row['setting']} {row['threshold']:.3g} ({kind})")
    return [f"Solved is an error below: {', '.join(texts)}."] if texts else []


def detail_table(rows: Sequence[Row]) -> str:
    """By model and operation: success by the other threshold, test error, sparsity, failures."""
    cells = {(r["model"], r["setting"], r["metric"]): r for r in rows}
    models = list(dict.fromkeys(r["model"] for r in rows))
    pairs = [(m, o) for m in models for o in OPERATIONS if (m, o, "success") in cells]
    other = next((r["metric"] for r in rows if r["metric"].startswith("success (")), "success")
    table = {
        "model": [model for model, _ in pairs],
        "operation": [operation for _, operation in pairs],
        other: [rate(cells.get((*pair, other))) for pair in pairs],
        "test error, median (quartiles)": [spread(cells.get((*pair, "mse"))) for pair in pairs],
        "sparsity error of the solved": [middle(cells.get((*pair, "sparsity"))) for pair in pairs],
        "failed in training": [count(cells.get((*pair, "nan"))) for pair in pairs],
        "test error not finite": [count(cells.get((*pair, "infinite"))) for pair in pairs],
    }
    return markdown(pd.DataFrame(table))


def paper_success(printed: Mapping[str, Mapping[str, Printed]]) -> str:
    """A success table of the paper."""
    table: dict[str, list[str]] = {"model": list(printed)}
    for at, operation in enumerate(OPERATIONS):
        pairs = [by_operation.get(operation) for by_operation in printed.values()]
        table[operation] = [NOTHING if p is None else f"{p[0]:.0%}".replace("%", " %") for p in pairs]
        table[f"updates{' ' * at}"] = [NOTHING if p is None else updates(p[1]) for p in pairs]
    return markdown(pd.DataFrame(table))
