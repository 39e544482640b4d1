"""Numbers that a page says in a sentence, not in a table: they are those of the result files."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from mclstm.evaluation.statistics import proportion_test, wilcoxon_test
from mclstm.report.forms import paired
from mclstm.report.paper import RECURRENT

ROOT = Path(__file__).parents[1]


def page(name: str) -> str:
    """A page as one line."""
    return re.sub(r"\s+", " ", (ROOT / "docs" / f"{name}.md").read_text())


def row(file: str, model: str, setting: str, metric: str) -> dict[str, Any]:
    rows: list[dict[str, Any]] = json.loads((ROOT / "results" / file).read_text())["rows"]
    (found,) = [r for r in rows if (r["model"], r["setting"], r["metric"]) == (model, setting, metric)]
    return found


def solved(model: str, operation: str) -> tuple[int, int]:
    values = row("recurrent-arithmetic/published.json", model, operation, "success")["values"]
    return int(sum(values)), len(values)


def against_the_paper(model: str, operation: str) -> float:
    theirs = RECURRENT[model][operation][0]
    return proportion_test(solved(model, operation), (round(100 * theirs), 100)).p


def test_how_many_seeds_of_the_addition_problem_never_begin_to_learn() -> None:
    limit = row("addition/published.json", "constant", "reference", "mse")["value"]
    errors = row("addition/published.json", "mclstm", "reference", "mse")["values"]
    stuck = sum(error > 0.9 * limit for error in errors)
    p = stats.fisher_exact([[stuck, 100 - stuck], [10, 90]]).pvalue
    assert f"({stuck} of our {len(errors)}; the paper's mean is that of about ten)" in page("addition")
    assert f"{stuck} against 10 of a hundred is no significant" in page("addition")
    assert f"(Fisher's exact test: p = {p:.2f})" in page("addition")


def test_what_a_penalty_on_the_cells_does_to_the_plain_sum() -> None:
    regime, file = "seq length 10000", "addition/stated-variants.json"
    pair = [row(file, model, regime, "mse") for model in ("mclstm-sum-l2", "mclstm-sum")]
    assert f"nothing that shows (p = {wilcoxon_test(*paired(*pair)).p:.2f})" in page("addition")


def test_rates_beside_the_papers() -> None:
    text = page("recurrent-arithmetic")
    solves, runs = solved("mclstm", "multiplication")
    p = against_the_paper("mclstm", "multiplication")
    assert f"multiplication in {100 * solves // runs} % of {runs} runs" in text
    assert f"(two-sided proportion test: p = {p:.1g})" in text
    sums = [100 * solves // runs for solves, runs in (solved("nau", o) for o in ("addition", "subtraction"))]
    assert "{} and {} % of 20 runs".format(*sums) in text


@pytest.mark.parametrize(("operation", "places"), [("addition", 1), ("subtraction", 2)])
def test_whether_nau_differs_from_the_papers(operation: str, places: int) -> None:
    assert f"p = {against_the_paper('nau', operation):.{places}f}" in page("recurrent-arithmetic")
