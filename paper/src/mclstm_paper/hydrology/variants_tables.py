"""The tables of the variants and of the ablation, from the rows of their result files."""

from collections.abc import Sequence

import pandas as pd

from mclstm.report.results import Claim, Row
from mclstm.report.tables import NOTHING, markdown

__all__ = ["ablation_table", "claims_list", "variants_table"]

TITLES = {
    "validation-nse": "NSE, validation",
    "nse": "NSE, test",
    "kge": "KGE, test",
    "fhv": "FHV, test",
    "flv": "FLV, test",
}
PERCENT = ("fhv", "flv")


def variants_table(rows: Sequence[Row]) -> str:
    """One line a variant: validation and test scores, and whether and how well it conserves.

    >>> about = {"model": "mclstm", "label": "final design", "conserving": True, "setting": "30 basins"}
    >>> cell = about | {"n": 1, "value": 0.7, "low": 0.7, "high": 0.7}
    >>> line = variants_table([cell | {"metric": metric} for metric in TITLES]).splitlines()[2]
    >>> [part.strip() for part in line.split("|")[1:4]]
    ['final design', 'yes', '0.700']
    """
    cells = {(row["model"], row["metric"]): row for row in rows}
    lines = []
    for model in dict.fromkeys(row["model"] for row in rows):
        line = {"": cells[model, "nse"]["label"], "MC": _mark(cells[model, "nse"])}
        line |= {title: spread(cells[model, metric]) for metric, title in TITLES.items()}
        lines.append(line | {"mass error": _error(cells.get((model, "mass-error")))})
    seeds = max(row["n"] for row in rows)
    note = f"median of {seeds} seeds, lowest and highest in brackets" if seeds > 1 else "one seed"
    return f"{markdown(pd.DataFrame(lines))}\n\n{rows[0]['setting']}; {note}."


def spread(cell: Row) -> str:
    """A value with its range, of one seed the value alone."""
    if cell["value"] is None:
        return NOTHING
    digits = 1 if cell["metric"] in PERCENT else 3
    value, low, high = (f"{cell[key]:.{digits}f}" for key in ("value", "low", "high"))
    return value if cell["n"] == 1 else f"{value} ({low} to {high})"


def ablation_table(rows: Sequence[Row]) -> str:
    """The paper's table with the paper's numbers, the error of the mass balance, and how many went to NaN."""
    cells = {(row["model"], row["metric"]): row for row in rows}
    lines = []
    for model in dict.fromkeys(row["model"] for row in rows):
        score = cells[model, "nse"]
        lines.append(
            {
                "": score["label"],
                "MC": _mark(score),
                "NSE": plus_minus(score),
                "paper": f"{score['paper']:.3f}",
                "NSE, run through": plus_minus(cells[model, "nse-continuous"]),
                "mass error": _error(cells[model, "mass-error"]),
                "failed": f"{score['failed']} of {score['runs']}",
            }
        )
    return f"{markdown(pd.DataFrame(lines))}\n\n{ablation_scale(rows)}"


def ablation_scale(rows: Sequence[Row]) -> str:
    """How much was trained on how much, in one sentence.

    >>> ablation_scale([{"setting": "5 basins", "n": 9, "scale": {"cells": 2, "updates": 3, "windows": 4}}])
    '5 basins, each trained alone; 9 repetitions; 2 cells, 3 updates of 4 windows.'
    """
    scale = rows[0]["scale"]
    size = f"{scale['cells']} cells, {scale['updates']} updates of {scale['windows']} windows"
    return f"{rows[0]['setting']}, each trained alone; {rows[0]['n']} repetitions; {size}."


def plus_minus(cell: Row) -> str:
    """The mean over basins with their deviation."""
    if cell["value"] is None:
        return NOTHING
    return f"{cell['value']:.3f}" + ("" if cell["high"] is None else f" ± {cell['high'] - cell['value']:.3f}")


def claims_list(claims: Sequence[Claim]) -> str:
    """Claims as a list: what, whether it holds, by which test.

    >>> claims_list([{"claim": "a is worse than b", "test": "Wilcoxon", "p": 0.25, "holds": False}])
    '* a is worse than b: no (Wilcoxon, p = 0.25)'
    """
    return "\n".join(
        f"* {c['claim']}: {'yes' if c['holds'] else 'no'} ({c['test']}, p = {c['p']:.2g})"
        for c in claims
        if c["p"] is not None
    )


def _mark(cell: Row) -> str:
    return "yes" if cell["conserving"] else "no"


def _error(cell: Row | None) -> str:
    return NOTHING if cell is None or cell["value"] is None else f"{cell['value']:.1e}"
