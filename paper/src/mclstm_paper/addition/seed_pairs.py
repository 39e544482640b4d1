"""Models side by side, seed by seed: the forms of MC-LSTM against the one of the table."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mclstm.evaluation.comparison import wilcoxon_test
from mclstm.report.markdown import markdown
from mclstm_paper.results import Row
from mclstm_paper.seed_rows import paired

__all__ = ["forms_table"]

USUAL = "mclstm"


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
