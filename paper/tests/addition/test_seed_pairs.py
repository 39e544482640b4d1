"""Models side by side, seed by seed: by hand and by scipy."""

import math

import numpy as np
from scipy import stats

from mclstm_paper.addition.experiment import error_rows
from mclstm_paper.addition.seed_pairs import forms_table
from mclstm_paper.seed_rows import paired


def rows() -> list[dict[str, object]]:
    """`mclstm` with seeds 0 to 9, a form with seeds 2 to 9 in another order, one of them failed."""
    seeds = list(range(2, 10))[::-1]
    usual = error_rows("mclstm", "count", np.arange(10.0), [-1] * 10, seeds=list(range(10)))
    values = np.array([s / 2 for s in seeds[:-1]] + [math.nan])
    form = error_rows("mclstm-l2", "count", values, [-1] * 7 + [3], seeds=seeds)
    return usual + form + error_rows("constant", "count", np.array([4.0]), [-1])


def test_values_are_paired_by_seed_without_those_that_failed() -> None:
    usual, form = (next(r for r in rows() if r["model"] == name) for name in ("mclstm", "mclstm-l2"))
    ours, theirs = paired(form, usual)
    assert ours.tolist() == [4.5, 4.0, 3.5, 3.0, 2.5, 2.0, 1.5]
    assert theirs.tolist() == [9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0]


def test_rows_without_seeds_are_paired_by_position_and_null_is_missing() -> None:
    ours, theirs = paired({"values": [1.0, None, 3.0]}, {"values": [4.0, 5.0, 6.0, 7.0]})
    assert (ours.tolist(), theirs.tolist()) == ([1.0, 3.0], [4.0, 6.0])


def test_a_form_is_compared_with_the_usual_one_on_the_same_seeds() -> None:
    header, _, line = forms_table(rows()).splitlines()
    names, cells = ([cell.strip() for cell in text.split("|")[1:-1]] for text in (header, line))
    p = stats.wilcoxon(np.arange(3.0, 10.0) / 2, np.arange(3.0, 10.0)).pvalue
    assert dict(zip(names, cells, strict=True)) == {
        "form": "mclstm-l2",
        "regime": "count",
        "seeds": "7",
        "median": "3",
        "median of mclstm": "6",
        "below the constant": "5 and 1",
        "p, two-sided": f"{p:.2g}",
    }
