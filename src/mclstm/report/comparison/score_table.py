"""The paper's table from the rows of a result file: ours, other people's, and the paper's own numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

from mclstm.evaluation.comparison import COMPARED
from mclstm.report.comparison.paper import CONSERVING, LABELS, METRICS, paper_quartiles
from mclstm.report.tables import NOTHING, lined

__all__ = ["comparison_table", "label", "short_label"]

HEADS = {"nse": "NSE", "beta-nse": "β-NSE", "flv": "FLV", "fhv": "FHV", "kge": "KGE", "alpha-nse": "α-NSE"}
DIGITS = {"flv": 1, "fhv": 1}
MARKS = {True: "yes", False: "no", None: NOTHING}
NOTE = "† the paper's value: neither scores by basin nor simulations were at hand."
TRAINED = ("mclstm", "lstm")  # by us: what was not trained has no value, and the paper's is not ours


def label(model: str) -> str:
    """How a table calls a model.

    >>> label("hbv-upper"), label("my-model-ensemble")
    ('HBV (upper)', 'my-model ensemble')
    """
    return LABELS.get(model, model.removesuffix("-ensemble") + " ensemble" * model.endswith("-ensemble"))


def short_label(model: str) -> str:
    """The same where all rows are of members, whose number stands beside.

    >>> short_label("mclstm"), short_label("mclstm-tuned"), short_label("calendar")
    ('MC-LSTM', 'MC-LSTM tuned', 'calendar')
    """
    return label(model).removesuffix(" single").removesuffix(",")


def comparison_table(
    rows: Sequence[Mapping[str, Any]], conserving: Mapping[str, bool | None] | None = None
) -> str:
    """Markdown: a line a model, median (lower to upper quartile) or mean ± deviation over seeds of medians.

    Beside each of the paper's four metrics stands the paper's own number, if any row has one.
    """
    cells = {(row["model"], row["metric"]): row for row in rows}
    flags = {**CONSERVING, **(conserving or {})}
    beside = any(row["paper"] is not None for row in rows)
    columns = [(metric, own) for metric in COMPARED for own in (True, False) if own or shown(metric, beside)]
    head = ["", "MC", *(HEADS[metric] if own else "paper" for metric, own in columns)]
    lines = [
        [label(m), MARKS[flags.get(m)], *(cell(cells.get((m, k)), k, own) for k, own in columns)]
        for m in ordered({row["model"] for row in rows})
    ]
    table = lined(head, lines)
    return f"{table}\n\n{NOTE}" if "†" in table else table


def shown(metric: str, beside: bool) -> bool:
    return beside and metric in METRICS


def ordered(models: set[str]) -> list[str]:
    """Known models in the paper's order, then the others by name; those that no table knows come first."""
    known = [name for name in LABELS if name in models]
    return sorted(models - set(known)) + known


def cell(row: Mapping[str, Any] | None, metric: str, own: bool) -> str:
    """One cell: the value with its interval, or the paper's number, marked where nothing else is known."""
    digits = DIGITS.get(metric, 3)
    if row is None:
        return NOTHING
    if not own:
        return NOTHING if row["paper"] is None else f"{row['paper']:.{digits}f}"
    if row["value"] is None:
        if str(row["model"]).removesuffix("-ensemble") in TRAINED:
            return NOTHING
        value, low, high = paper_quartiles(row["model"], metric)
        return f"*{value:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})* †"
    if row["n"] > 1 and not str(row["model"]).endswith("-ensemble"):
        return f"{row['value']:.{digits}f} ± {row['high'] - row['value']:.{digits}f}"
    return f"{row['value']:.{digits}f} ({row['low']:.{digits}f} to {row['high']:.{digits}f})"
