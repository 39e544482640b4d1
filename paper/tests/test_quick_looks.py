"""The quick looks as they were recorded on two cores: under three minutes, and they show who is better."""

import json
import statistics
from pathlib import Path
from typing import Any

import pytest

from mclstm_paper.addition.task import REGIMES
from mclstm_paper.arithmetic.subsets import OPERATIONS
from mclstm_paper.recurrent_arithmetic.experiment import EXPERIMENT

RESULTS = Path(__file__).parents[2] / "results" / "quick"
SUMS = ("addition", "subtraction")


def content(name: str, file: str = "stated.json") -> dict[str, Any]:
    results: dict[str, Any] = json.loads((RESULTS / name / file).read_text())
    assert results["profile"] == "quick"
    return results


def values(name: str, metric: str, file: str = "stated.json") -> dict[tuple[str, str], list[float]]:
    """The finite values of all seeds by model and setting."""
    rows = [row for row in content(name, file)["rows"] if row["metric"] == metric]
    return {(r["model"], r["setting"]): [v for v in r["values"] if v is not None] for r in rows}


@pytest.mark.parametrize("name", ["addition", "recurrent-arithmetic", "static-arithmetic", "mnist-sum"])
def test_a_quick_look_took_less_than_three_minutes(name: str) -> None:
    made = content(name)["made"]
    assert made["machine"]["cores"] == 2
    assert made["wall_seconds"] < 180


@pytest.mark.parametrize("regime", REGIMES)
def test_mclstm_has_the_lowest_error_of_the_addition_problem(regime: str) -> None:
    errors = values("addition", "mse")
    means = {model: statistics.fmean(e) for (model, where), e in errors.items() if where == regime and e}
    rivals = [mean for model, mean in means.items() if not model.startswith("mclstm") and model != "exact"]
    assert len(rivals) == 5  # of NALU no run has an error
    assert means["mclstm"] < min(rivals)


def test_only_settings_of_our_own_solve_recurrent_arithmetic_so_fast() -> None:
    tuned = values("recurrent-arithmetic", "success", "stated-variants.json")
    assert all(all(tuned["mclstm-tuned", operation]) for operation in OPERATIONS)
    others = values("recurrent-arithmetic", "success")
    learned = {pair: solved for pair, solved in others.items() if pair[0] not in ("constant", "exact")}
    assert {operation for _, operation in learned} == set(OPERATIONS)
    assert {model for model, _ in learned} == set(EXPERIMENT.models)
    assert not any(any(solved) for solved in learned.values())


@pytest.mark.parametrize("operation", SUMS)
def test_mcfc_solves_static_sums_and_nalu_does_not(operation: str) -> None:
    solved = values("static-arithmetic", "success")
    assert sum(solved["mcfc", operation]) >= 2
    assert all(solved["nau", operation])
    assert not any(solved["nalu", operation])


@pytest.mark.parametrize("length", [100, 1000])
def test_what_is_learned_from_ten_digits_holds_longest_for_mclstm(length: int) -> None:
    errors = values("mnist-sum", "mse")
    ours = max(errors["mclstm-tuned", f"length {length}"])
    for rival in ("nau", "lstm", "mclstm-softplus"):
        assert ours < min(errors[rival, f"length {length}"])
