"""Pages of result files that are half made, or lack a model: they say so, and show no number of it."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mclstm_paper.addition import models as addition_models
from mclstm_paper.addition.printed import PRINTED as ADDITION
from mclstm_paper.hnn.task import SETTINGS as SERIES
from mclstm_paper.mnist_sum.models import RECIPES
from mclstm_paper.mnist_sum.page import expected, length_page, length_svg
from mclstm_paper.mnist_sum.success_by_length import error_rows, threshold_rows, thresholds, with_success
from mclstm_paper.pages.fill_pages import every_block
from mclstm_paper.pendulum.error_rows import set_rows
from mclstm_paper.pendulum.page import error_tables
from mclstm_paper.pendulum.task import SETTINGS
from mclstm_paper.protocols import Protocol
from mclstm_paper.recurrent_arithmetic import models as recurrent_models
from mclstm_paper.recurrent_arithmetic.printed import PRINTED as RECURRENT
from mclstm_paper.results import row
from mclstm_paper.seed_rows import numbers, quartiles
from mclstm_paper.static_arithmetic import models as static_models
from mclstm_paper.static_arithmetic.printed import PRINTED as STATIC

RESULTS = Path(__file__).parents[3] / "results"


def put(root: Path, file: str, rows: list[dict[str, Any]]) -> None:
    path = root / "results" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    made = {"date": "2026-01-01", "commit": "abc"}
    path.write_text(json.dumps({"rows": rows, "claims": [], "made": made, "profile": "paper"}))


def sums(references: int) -> list[dict[str, Any]]:
    """The rows of so many references of the MNIST sum, and of NAU."""
    errors = {10: np.linspace(1.0, 2.0, references)}
    limits = threshold_rows(thresholds(errors, "stated"), errors, 9) if references else []
    return with_success(limits + error_rows("nau", {10: np.array([0.5, 1.5])}, 9, [-1, -1], seeds=[0, 1]))


@pytest.mark.parametrize("references", [0, 1, 2])
def test_too_few_references_are_no_result(references: int, tmp_path: Path) -> None:
    put(tmp_path, "mnist-sum/stated.json", sums(references))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert length_page(tmp_path, "stated").startswith("Not run yet: `mclstm experiment mnist-sum")
        assert length_svg(tmp_path, "stated") is None


def test_a_page_of_the_sums_names_who_is_missing(tmp_path: Path) -> None:
    put(tmp_path, "mnist-sum/stated.json", sums(3))
    page = length_page(tmp_path, "stated")
    assert "3 reference networks: " in page
    assert "\n\nNot run yet: mclstm-softplus, mclstm-tuned, lstm, constant.\n\n" in page
    assert (length_svg(tmp_path, "stated") or b"").startswith(b"<?xml")


@pytest.mark.parametrize("protocol", ["stated", "published"])
def test_the_sums_expect_the_models_of_the_experiment(protocol: Protocol) -> None:
    models = {name for name, recipe in RECIPES.items() if protocol in recipe.protocols}
    assert set(expected(protocol)) == models - {"reference"} | {"constant"}


def test_the_papers_tables_have_the_models_of_the_experiments() -> None:
    assert set(ADDITION) == set(addition_models.MODELS)
    for printed, known in ((RECURRENT, recurrent_models.RECURRENT), (STATIC, static_models.STATIC)):
        assert {m: set(by_operation) for m, by_operation in printed.items()} == {
            model: set(operations) for model, operations in known.items()
        }


def test_a_page_names_the_operations_and_models_that_were_not_run(tmp_path: Path) -> None:
    rows = [
        row(operation, model, metric, [1.0]) | {"trained": 9}
        for model, operations in STATIC.items()
        for operation in operations
        for metric in ("success", "success (published threshold)")
        if model != "nac-mul" and (model, operation) != ("nalu", "subtraction")
    ]
    put(tmp_path, "static-arithmetic/stated.json", rows)
    for protocol in ("stated", "published"):
        page = every_block()[f"static-arithmetic-{protocol}"](tmp_path)
        assert "\n\nNot run yet: nac-mul, nalu (subtraction).\n\n" in page
    put(tmp_path, "addition/stated.json", [row("reference", "mclstm", "mse", [1.0]) | {"trained": 9}])
    page = every_block()["addition-stated"](tmp_path)
    assert "Not run yet: mclstm-dynamic, mclstm (seq length, input range, count, combo), lstm," in page


def test_a_page_with_everything_names_nothing(tmp_path: Path) -> None:
    rows = [
        row(where, model, "success", [1.0]) | {"trained": 9} for model in STATIC for where in STATIC[model]
    ]
    put(tmp_path, "static-arithmetic/stated.json", rows)
    assert "Not run" not in every_block()["static-arithmetic-stated"](tmp_path)


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*-arithmetic/*.json")), ids=lambda path: path.name)
def test_sparsity_is_a_median_with_quartiles_everywhere(path: Path) -> None:
    for line in json.loads(path.read_text()).get("rows", []):
        if line["metric"].startswith("sparsity") and line["n"]:
            middle = quartiles(numbers(line["values"]))
            assert [line[key] for key in ("n", "value", "low", "high")] == pytest.approx(
                [middle.n, middle.value, middle.low, middle.high]
            )


@pytest.mark.parametrize(("sets", "reached"), [(119, "–"), (120, "yes")])
def test_some_of_the_pendulums_do_not_decide_whether_a_target_is_reached(
    sets: int, reached: str, tmp_path: Path
) -> None:
    outcome = dict.fromkeys(("mse", "mse-noisy", "rise", "least"), [1e-6] * sets)
    put(tmp_path, "pendulum/published.json", set_rows("mclstm-clock", outcome, list(range(sets)), SETTINGS))
    table = every_block()["pendulum-targets"](tmp_path)
    (line,) = [line for line in table.splitlines() if "mclstm-clock" in line and "published" in line]
    assert [cell.strip() for cell in line.split("|")[4:-1]] == [str(sets), "5e-05", "1e-06", reached]


def test_the_cost_of_the_pendulum_is_the_sum_of_its_jobs(tmp_path: Path) -> None:
    put(tmp_path, "pendulum/stated.json", [])
    path = tmp_path / "results/pendulum/stated.json"
    jobs = {"lstm/sets-0-4": 3600.0, "lstm/sets-5-9": 7200.0, "mclstm/sets-0-59": 60.0}
    made = {"jobs": {name: {"cpu_seconds": seconds} for name, seconds in jobs.items()}}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"made": made}))
    *_, line = every_block()["pendulum-cost"](tmp_path).splitlines()
    assert [cell.strip() for cell in line.split("|")[1:-1]] == ["stated", "180.0", "1.0", "3.02", "2", "no"]


def test_the_page_of_flows_names_the_readings_that_a_model_lacks(tmp_path: Path) -> None:
    about = {"runs": 1, "trained": 1, "choice": {}, "trials": [], "scorings": 1}
    put(tmp_path, "traffic/stated.json", [row("flights-sparse-step", "mclstm", "rmse", [1.0]) | about])
    page = every_block()["traffic-stated"](tmp_path)
    assert "mclstm (flights-dense, flights-sparse-overall), lstm, " in page
    assert "last-week" in page


def test_a_part_that_is_the_whole_has_no_column() -> None:
    outcome = dict.fromkeys(("mse", "mse-noisy", "rise", "least"), [1e-6] * len(SERIES))
    table = error_tables(set_rows("mclstm", outcome, list(range(len(SERIES))), SERIES))
    assert "400 steps" in table
    assert "no friction" not in table
    assert "steps" not in error_tables(
        set_rows("mclstm", {k: v[:1] for k, v in outcome.items()}, [0], SERIES)
    )
