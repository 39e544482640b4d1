"""Models side by side, seed by seed: the forms of MC-LSTM against the one of the table."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mclstm.evaluation.comparison import wilcoxon_test
from mclstm.report.markdown import markdown
from mclstm_paper.results import Row

__all__ = ["forms_table", "paired"]

USUAL = "mclstm"
Errors = NDArray[np.float64]


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


def forms_table(rows: Sequence[Row]) -> str:
    """Medians over the seeds that a form and `mclstm` share, who of them is below the constant, and p.

    rows: of the table and of the variants beside it, under one protocol
    """
    errors = {(r["model"], r["setting"]): r for r in rows if r["metric"] == "mse"}
    settings = {where for _, where in errors if {(USUAL, where), ("constant", where)} <= set(errors)}
    forms = [pair for pair in errors if pair[0].startswith(f"{USUAL}-") and pair[1] in settings]
    return markdown(pd.DataFrame([compared(errors, *pair) for pair in forms]))


def compared(errors: Mapping[tuple[str, str], Row], form: str, regime: str) -> dict[str, Any]:
    """One line: the errors of a form in a regime beside those of `mclstm` from the same seeds."""
    ours, theirs = paired(errors[form, regime], errors[USUAL, regime])
    below = [int((values < errors["constant", regime]["value"]).sum()) for values in (ours, theirs)]
    return {
        "form": form,
        "regime": regime,
        "seeds": len(ours),
        "median": f"{np.median(ours):.2g}",
        f"median of {USUAL}": f"{np.median(theirs):.2g}",
        "below the constant": "{} and {}".format(*below),
        "p, two-sided": f"{wilcoxon_test(ours, theirs).p:.2g}",
    }
