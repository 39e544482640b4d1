"""Tables of the addition problem, the blocks of its page, and its lines of the README's table."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from mclstm.report.markdown import markdown
from mclstm_paper.addition.printed import FAILED, PRINTED
from mclstm_paper.addition.seed_pairs import forms_table
from mclstm_paper.experiment import Block, Headline, Line, two_digits
from mclstm_paper.number_format import Cells, budget, count, infinite, mean, median_error, middle
from mclstm_paper.pages.sections import missing, read, variants_section
from mclstm_paper.protocols import PROTOCOLS
from mclstm_paper.results import Row

__all__ = ["BLOCKS", "HEADLINES", "SUMMARY", "error_table", "error_tables"]

NAME = "addition"


def error_table(rows: Sequence[Row]) -> str:
    """Mean squared error with its interval over the runs where it is finite, by model and regime.

    NaN counts the runs that failed in training; "not finite" counts others, with the regime of the test.
    """
    table, cells, settings = by_regime(rows, mean)
    models = table["model"]
    table["NaN"] = [count(cells.get((model, settings[0], "nan"))) for model in models]
    table["not finite"] = [infinite(cells, model, settings) for model in models]
    table["seeds × updates"] = [budget(rows, model) for model in models]
    return markdown(pd.DataFrame(table))


def error_tables(rows: Sequence[Row]) -> str:
    """Means as in the paper, and medians, which one diverging run does not change."""
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


def paper_table() -> str:
    """The paper's table of the addition problem."""
    settings = list(PRINTED["mclstm"])
    table: dict[str, list[str]] = {"model": list(PRINTED)}
    for setting in settings:
        table[setting] = ["{:g} ± {:g}".format(*printed[setting]) for printed in PRINTED.values()]
    table["NaN"] = [str(FAILED[model]) for model in PRINTED]
    return markdown(pd.DataFrame(table))


def forms(root: Path) -> str:
    """The forms of MC-LSTM against that of the table, under every protocol."""
    parts = []
    for protocol in PROTOCOLS:
        contents = [read(root, f"{NAME}/{protocol}{suffix}.json") for suffix in ("", "-variants")]
        rows = [row for content in contents if content is not None for row in content["rows"]]
        if any(row["model"].startswith("mclstm-") for row in rows):
            parts += [f"Protocol {protocol}:", forms_table(rows)]
    return "\n\n".join(parts)


def cells(root: Path) -> str:
    """The cells of a network over time, and the gates that explain them."""
    for protocol in PROTOCOLS:
        reading = read(root, f"{NAME}/{protocol}-reading.json")
        if reading is not None:
            gates = {key: value for key, value in reading.items() if key not in ("model", "seed")}
            values = [f"{value:.4f}" for value in gates.values()]
            table = markdown(pd.DataFrame({"gate": list(gates), "value": values}))
            title = f"{reading['model']}, seed {reading['seed']}, protocol {protocol}:"
            return f"{title}\n\n![cells](../results/{NAME}/{protocol}-addition-cells.svg)\n\n{table}"
    return missing(NAME, "stated", " --models mclstm-sum")


def rates(root: Path) -> str:
    """The learning rates that were chosen on validation data."""
    record = read(root, f"{NAME}/stated-rates.json")
    if record is None:
        return missing(NAME, "stated", " --grid")
    choice, errors = record["choice"], record["validation"]
    table: dict[str, list[Any]] = {"model": list(choice)}
    for rate in next(iter(errors.values())):
        table[rate] = [f"{median_error(errors[model][rate]):.3g}" for model in choice]
    table["choice"] = [f"{rate:g}" for rate in choice.values()]
    note = f"Median validation error of {record['seeds'][1]} seeds that no table uses."
    rows = (read(root, f"{NAME}/stated.json") or {"rows": []})["rows"]
    for row in rows:
        if (row["model"], row["setting"], row["metric"]) == ("constant", "reference", "mse"):
            note += f" The constant has {row['value']:.3g} on test samples of the same kind."
    return f"{markdown(pd.DataFrame(table))}\n\n{note}"


BLOCKS: dict[str, Block] = {
    "addition-paper": lambda root: paper_table(),
    "addition-variants": lambda root: variants_section(
        root, NAME, error_tables, "mclstm-sum,mclstm-l2,mclstm-sum-l2"
    ),
    "addition-forms": forms,
    "addition-cells": cells,
    "addition-rates": rates,
}

SUMMARY = tuple(
    Line(f"addition problem, {regime}: error of {model}", regime, model, "mse", two_digits)
    for regime in ("seq length", "combo")
    for model in ("mclstm", "lstm", "constant")
)
HEADLINES = (
    Headline("addition problem, longer sequences: squared error", "seq length", "mclstm", "mse", two_digits),
)
