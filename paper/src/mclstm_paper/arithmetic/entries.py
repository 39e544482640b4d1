"""Single entries of the tables of neural arithmetic: numbers as people read them."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from mclstm.report.results import Row
from mclstm.report.tables import NOTHING
from mclstm_paper.arithmetic.subsets import OPERATIONS

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


def known(item: Row | None) -> Row | None:
    """A row that has a number."""
    return None if item is None or item["value"] is None or math.isnan(item["value"]) else item


def rate(item: Row | None) -> str:
    found = known(item)
    if found is None:
        return NOTHING
    value, low, high = (round(100 * found[key]) for key in ("value", "low", "high"))
    return f"{value} %" if found["low"] == found["high"] else f"{value} % ({low} to {high})"


def mean(item: Row | None) -> str:
    found = known(item)
    if found is None:
        return NOTHING
    low = found["low"]
    half = "" if low is None or math.isnan(low) else f" ± {found['value'] - low:.2g}"
    return f"{found['value']:.3g}{half}"


def spread(item: Row | None) -> str:
    found = known(item)
    if found is None:
        return NOTHING
    bounds = [found["low"], found["high"]]
    if any(bound is None or math.isnan(bound) for bound in bounds):
        return f"{found['value']:.2g}"
    return "{:.2g} ({:.2g} to {:.2g})".format(found["value"], *bounds)


def middle(item: Row | None) -> str:
    """Median and quartiles of the values of a row.

    >>> middle({"value": 2.0, "low": 2.0, "high": 2.0, "values": [2.0]})
    '2'
    """
    found = known(item)
    if found is None:
        return NOTHING
    values = [value for value in found["values"] if value is not None and math.isfinite(value)]
    low, value, high = np.quantile(values, [0.25, 0.5, 0.75]).tolist()
    alone = len(values) == 1  # which has no spread to show
    return f"{value:.2g}" if alone else spread({**found, "value": value, "low": low, "high": high})


def median_error(values: Sequence[float | None]) -> float:
    """The median of errors, of which a missing or infinite one is infinitely bad.

    >>> median_error([3.0, None, 1.0]), median_error([1.0, None])
    (3.0, inf)
    """
    every = [math.inf if value is None or not math.isfinite(value) else value for value in values]
    return float(np.median(every))


def count(item: Row | None) -> str:
    found = known(item)
    return NOTHING if found is None else f"{found['value']:.0f}"


def infinite(cells: Cells, model: str, settings: Sequence[str]) -> str:
    """How many runs have no finite test error though their training did not fail, by regime."""
    found = {
        where: r for where in settings if (r := known(cells.get((model, where, "infinite")))) is not None
    }
    shown = [f"{r['value']:.0f} ({where})" for where, r in found.items() if r["value"]]
    return ", ".join(shown) or ("0" if found else NOTHING)


def updates(number: float | None) -> str:
    """How many updates, short.

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
    """How many seeds were trained for how many updates, once if it is the same everywhere."""
    mine = [r for r in rows if r["model"] == model]
    # Success is of all runs, a mean error of those where it is finite.
    every = [r for r in mine if r["metric"] == "success"] or [r for r in mine if r["metric"] == "mse"]
    if all(r["setting"] in OPERATIONS for r in every):  # in the order of the columns
        every.sort(key=lambda r: list(OPERATIONS).index(r["setting"]))
    shown = dict.fromkeys(
        f"{r.get('runs', r['n'])} × {updates(r['trained'])}" for r in every if r.get("trained")
    )
    return ", ".join(shown) or NOTHING
