"""Numbers of result rows as tables show them."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from mclstm.report.markdown import NOTHING
from mclstm_paper.results import Row

__all__ = [
    "Cells",
    "budget",
    "count",
    "infinite",
    "known",
    "mean",
    "median_error",
    "middle",
    "rate",
    "spread",
    "updates",
]

Cells = Mapping[tuple[str, str, str], Row]  # (model, setting, metric)


def known(row: Row | None) -> Row | None:
    """The row if it has a number, else None."""
    return None if row is None or row["value"] is None or math.isnan(row["value"]) else row


def rate(row: Row | None) -> str:
    """A fraction in percent, with its interval."""
    row = known(row)
    if row is None:
        return NOTHING
    value, low, high = (round(100 * row[key]) for key in ("value", "low", "high"))
    return f"{value} %" if row["low"] == row["high"] else f"{value} % ({low} to {high})"


def mean(row: Row | None) -> str:
    """A mean with half of its interval."""
    row = known(row)
    if row is None:
        return NOTHING
    low = row["low"]
    half = "" if low is None or math.isnan(low) else f" ± {row['value'] - low:.2g}"
    return f"{row['value']:.3g}{half}"


def spread(row: Row | None) -> str:
    """A number with its bounds."""
    row = known(row)
    if row is None:
        return NOTHING
    bounds = [row["low"], row["high"]]
    if any(bound is None or math.isnan(bound) for bound in bounds):
        return f"{row['value']:.2g}"
    return "{:.2g} ({:.2g} to {:.2g})".format(row["value"], *bounds)


def middle(row: Row | None) -> str:
    """The median and quartiles of the values of a row.

    >>> middle({"value": 2.0, "low": 2.0, "high": 2.0, "values": [2.0]})
    '2'
    """
    row = known(row)
    if row is None:
        return NOTHING
    values = [value for value in row["values"] if value is not None and math.isfinite(value)]
    low, value, high = np.quantile(values, [0.25, 0.5, 0.75]).tolist()
    alone = len(values) == 1  # one value has no spread
    return f"{value:.2g}" if alone else spread({**row, "value": value, "low": low, "high": high})


def median_error(values: Sequence[float | None]) -> float:
    """The median of errors; a missing or infinite error counts as infinite.

    >>> median_error([3.0, None, 1.0]), median_error([1.0, None])
    (3.0, inf)
    """
    every = [math.inf if value is None or not math.isfinite(value) else value for value in values]
    return float(np.median(every))


def count(row: Row | None) -> str:
    """A whole number."""
    row = known(row)
    return NOTHING if row is None else f"{row['value']:.0f}"


def infinite(cells: Cells, model: str, settings: Sequence[str]) -> str:
    """By setting, the number of runs without a finite test error whose training did not fail."""
    rows = {where: known(cells.get((model, where, "infinite"))) for where in settings}
    counts = {where: row["value"] for where, row in rows.items() if row is not None}
    texts = [f"{value:.0f} ({where})" for where, value in counts.items() if value]
    return ", ".join(texts) or ("0" if counts else NOTHING)


def updates(number: float | None) -> str:
    """A number of updates, short.

    >>> updates(460_000.0), updates(2_000_000), updates(0)
    ('4.6e5', '2e6', '0')
    """
    if number is None or math.isnan(number):
        return NOTHING
    if number < 1_000:
        return f"{number:.0f}"
    power = math.floor(math.log10(number))
    return f"{number / 10**power:.2g}e{power}"


def budget(rows: Sequence[Row], model: str) -> str:
    """Seeds and updates of a model's trainings in the order of the rows, each pair of them once."""
    own = [row for row in rows if row["model"] == model]
    # Success counts all runs, a mean error only those where it is finite.
    own = [r for r in own if r["metric"] == "success"] or [r for r in own if r["metric"] == "mse"]
    texts = dict.fromkeys(
        f"{row.get('runs', row['n'])} × {updates(row['trained'])}" for row in own if row.get("trained")
    )
    return ", ".join(texts) or NOTHING
