"""The tables of neural arithmetic in the shape of the paper's, from rows of results or its own numbers."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import pandas as pd

from mclstm.report.results import Row
from mclstm.report.tables import NOTHING, markdown
from mclstm_paper.arithmetic.entries import (
    Cells,
    budget,
    count,
    infinite,
    mean,
    middle,
    rate,
    spread,
    updates,
)
from mclstm_paper.arithmetic.printed import ADDITION, ADDITION_FAILED, Printed
from mclstm_paper.arithmetic.subsets import OPERATIONS

__all__ = [
    "claims_table",
    "detail_table",
    "error_table",
    "error_tables",
    "not_run",
    "paper_errors",
    "paper_success",
    "success_table",
    "success_tables",
]


def success_table(rows: Sequence[Row]) -> str:
    """Success rate with its interval and median updates until solved, by model and operation.

    >>> from mclstm.evaluation.statistics import Interval
    >>> from mclstm.report.results import interval_row
    >>> rows = [interval_row("addition", "nau", "success", Interval(0.5, 0.1, 0.9, 2), [0, 1], trained=4_000)]
    >>> print(success_table(rows).splitlines()[-1])
    | nau   | 50 % (10 to 90) | –       | 2 × 4e3         |
    """
    cells = {(r["model"], r["setting"], r["metric"]): r for r in rows}
    # In the paper's order, whichever was run first.
    operations = [name for name in OPERATIONS if any(r["setting"] == name for r in rows)]
    models = list(dict.fromkeys(r["model"] for r in rows))
    table: dict[str, list[str]] = {"model": models}
    for operation in operations:
        table[operation] = [rate(cells.get((model, operation, "success"))) for model in models]
        solved = [cells.get((model, operation, "updates")) for model in models]
        table[f"updates{' ' * operations.index(operation)}"] = [
            NOTHING if r is None else updates(r["value"]) for r in solved
        ]
    table["seeds × updates"] = [budget(rows, model) for model in models]
    return markdown(pd.DataFrame(table))


def success_tables(rows: Sequence[Row]) -> str:
    """Who solved what, and how large the errors are: after few updates nobody has solved anything."""
    return "\n\n".join([success_table(rows), detail_table(rows), *threshold_words(rows)])


def threshold_words(rows: Sequence[Row]) -> list[str]:
    """The errors below which an operation counts as solved, as rows of the constant carry them."""
    told = []
    for row in rows:
        if row["model"] == "constant" and "threshold" in row:
            beside = row["metric"].removeprefix("success").strip(" ()") or "threshold"
            told.append(f"{row['setting']} {row['threshold']:.3g} ({beside})")
    return [f"Solved is an error below: {', '.join(told)}."] if told else []


def detail_table(rows: Sequence[Row]) -> str:
    """What else is known of a model on an operation: the other threshold, test error, sparsity, failures."""
    cells = {(r["model"], r["setting"], r["metric"]): r for r in rows}
    models = list(dict.fromkeys(r["model"] for r in rows))
    pairs = [(m, o) for m in models for o in OPERATIONS if (m, o, "success") in cells]
    beside = next((r["metric"] for r in rows if r["metric"].startswith("success (")), "success")
    table = {
        "model": [model for model, _ in pairs],
        "operation": [operation for _, operation in pairs],
        beside: [rate(cells.get((*pair, beside))) for pair in pairs],
        "test error, median (quartiles)": [spread(cells.get((*pair, "mse"))) for pair in pairs],
        "sparsity error of the solved": [middle(cells.get((*pair, "sparsity"))) for pair in pairs],
        "failed in training": [count(cells.get((*pair, "nan"))) for pair in pairs],
        "test error not finite": [count(cells.get((*pair, "infinite"))) for pair in pairs],
    }
    return markdown(pd.DataFrame(table))


def error_table(rows: Sequence[Row]) -> str:
    """Mean squared error with its interval over the runs where it is finite, by model and regime.

    NaN: runs that failed in training; not finite: others without a finite test error, and in which regime.
    """
    table, cells, settings = by_regime(rows, mean)
    models = table["model"]
    table["NaN"] = [count(cells.get((model, settings[0], "nan"))) for model in models]
    table["not finite"] = [infinite(cells, model, settings) for model in models]
    table["seeds × updates"] = [budget(rows, model) for model in models]
    return markdown(pd.DataFrame(table))


def error_tables(rows: Sequence[Row]) -> str:
    """Means as in the paper, and medians: one run that diverges makes a mean say nothing of the others."""
    return f"{error_table(rows)}\n\nThe same runs, medians with quartiles:\n\n{median_table(rows)}"


def median_table(rows: Sequence[Row]) -> str:
    """Median of the squared error with quartiles over the runs where it is finite, by model and regime."""
    return markdown(pd.DataFrame(by_regime(rows, middle)[0]))


def by_regime(
    rows: Sequence[Row], show: Callable[[Row | None], str]
) -> tuple[dict[str, list[str]], Cells, list[str]]:
    """Errors by model and regime as columns, the rows they are of, and the regimes."""
    cells = {(r["model"], r["setting"], r["metric"]): r for r in rows}
    settings = list(dict.fromkeys(r["setting"] for r in rows if r["metric"] == "mse"))
    models = list(dict.fromkeys(r["model"] for r in rows))
    columns = {where: [show(cells.get((model, where, "mse"))) for model in models] for where in settings}
    return {"model": models} | columns, cells, settings


def not_run(expected: Mapping[str, Iterable[str]], rows: Sequence[Row]) -> list[str]:
    """A sentence on what a table lacks, by model and setting; nothing if it has all that is expected.

    >>> some = [{"model": "nalu", "setting": "addition"}]
    >>> not_run({"nau": ["addition"], "nalu": ["addition", "subtraction"]}, some)
    ['Not run yet: nau, nalu (subtraction).']
    """
    have = {(r["model"], r["setting"]) for r in rows}
    lacking = {m: [where for where in settings if (m, where) not in have] for m, settings in expected.items()}
    run = {model for model, _ in have}
    named = [f"{m} ({', '.join(left)})" if m in run else m for m, left in lacking.items() if left]
    return [f"Not run yet: {', '.join(named)}."] if named else []


def claims_table(claims: Sequence[Mapping[str, object]]) -> str:
    """The paper's comparisons on our numbers."""
    shown = {
        "claim": [str(c["claim"]) for c in claims],
        "test": [str(c["test"]) for c in claims],
        "p": [NOTHING if c["p"] is None else f"{c['p']:.2g}" for c in claims],
        "holds": ["yes" if c["holds"] else "no" for c in claims],
    }
    return markdown(pd.DataFrame(shown))


def paper_success(printed: Mapping[str, Mapping[str, Printed]]) -> str:
    """A success table of the paper."""
    operations = list(printed[next(iter(printed))])
    table: dict[str, list[str]] = {"model": list(printed)}
    for at, operation in enumerate(operations):
        found = [by_operation.get(operation) for by_operation in printed.values()]
        table[operation] = [
            NOTHING if cell is None else f"{cell[0]:.0%}".replace("%", " %") for cell in found
        ]
        table[f"updates{' ' * at}"] = [
            NOTHING if cell is None or cell[1] is None else updates(cell[1]) for cell in found
        ]
    return markdown(pd.DataFrame(table))


def paper_errors() -> str:
    """The paper's table of the addition problem."""
    settings = list(ADDITION["mclstm"])
    table: dict[str, list[str]] = {"model": list(ADDITION)}
    for setting in settings:
        table[setting] = ["{:g} ± {:g}".format(*printed[setting]) for printed in ADDITION.values()]
    table["NaN"] = [str(ADDITION_FAILED[model]) for model in ADDITION]
    return markdown(pd.DataFrame(table))
