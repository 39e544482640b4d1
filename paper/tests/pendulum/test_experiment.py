"""The experiment in tiny sizes, as a user runs it, and what follows from its rows."""

import json
from typing import Any

import numpy as np
import pytest

from experiment_commands import run
from mclstm_paper.options import Options, Plan
from mclstm_paper.pendulum.error_rows import below, set_rows
from mclstm_paper.pendulum.experiment import EXPERIMENT
from mclstm_paper.pendulum.figures import energies_figure, redistribution_figure
from mclstm_paper.pendulum.floors import FLOORS
from mclstm_paper.pendulum.task import SETTINGS, some_series


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("pendulum")
    assert run(folder, "pendulum", "--seeds", "2", "--updates", "2") == 0
    results: dict[str, Any] = json.loads((folder / "results/pendulum/stated.json").read_text())
    return results


def test_every_model_and_floor_has_its_rows(content: dict[str, Any]) -> None:
    models = ["mclstm", "lstm", "mclstm-invariant", "mclstm-clock", *FLOORS]
    rows = [row for row in content["rows"] if (row["setting"], row["metric"]) == ("all", "mse")]
    assert [row["model"] for row in rows] == models
    for row in rows:
        assert row["seeds"] == [0, 1]
        assert row["value"] == pytest.approx(np.mean(row["values"]))
        assert row["median"] == pytest.approx(np.median(row["values"]))
    assert [row["scorings"] for row in rows[:4]] == [1, 1, 1, 1]
    assert {row["paper"] for row in rows[:2]} == {0.01, 0.07}
    assert {row["setting"] for row in content["rows"]} == {"all", "100 steps", "no friction"}


def test_claims_are_of_the_rows(content: dict[str, Any]) -> None:
    claims = {claim["claim"]: claim for claim in content["claims"]}
    assert claims["mclstm: the error is below that of lstm"]["test"].startswith("Wilcoxon test, 2 sets")
    assert "mclstm, 100 steps: the error is below that of lstm" in claims
    assert "mclstm, 400 steps: the error is below that of lstm" not in claims


def test_the_stated_total_never_rises(content: dict[str, Any]) -> None:
    rises = {row["model"]: row["value"] for row in content["rows"] if row["metric"] == "rise"}
    first = max(one.exact[0].sum() for one in some_series([0, 1]))
    for model in ("mclstm", "mclstm-invariant", "mclstm-clock"):
        assert rises[model] <= 8 * 1.02 * np.finfo(np.float32).eps * first


def test_the_whole_grid_is_120_sets_of_every_model() -> None:
    jobs = EXPERIMENT.jobs(Plan(Options(profile="paper", protocol="published")))
    for model in ("mclstm", "lstm", "mclstm-invariant", "mclstm-clock"):
        mine = [job for job in jobs if job.parameters["model"] == model]
        assert [seed for job in mine for seed in job.parameters["seeds"]] == list(range(120))


def outcome(errors: list[float]) -> dict[str, list[float]]:
    return {"mse": errors, "mse-noisy": errors, "rise": errors, "least": errors}


def test_errors_are_paired_by_set() -> None:
    seeds = list(range(0, 120, 10))  # noise-free, without friction
    ours = set_rows("mclstm", outcome([float(s) for s in seeds]), seeds, SETTINGS)
    theirs = set_rows("lstm", outcome([s + 1.0 for s in seeds[::-1]]), seeds[::-1], SETTINGS)
    (claim,) = below(ours + theirs, "mclstm", "lstm")
    assert claim["test"] == "Wilcoxon test, 12 sets, 12 won"
    assert claim["p"] == pytest.approx(0.5**12)
    (reverse,) = below(ours + theirs, "lstm", "mclstm", "400 steps")
    assert not reverse["holds"]
    assert "lstm, 400 steps" in reverse["claim"]


def test_figures_have_a_panel_for_each_model() -> None:
    (one,) = some_series([31])
    predicted = {"mclstm": one.exact, "lstm": one.exact}
    assert len(energies_figure(one, predicted).axes) == 2
    arrays = {"energies": one.exact, "transfers": np.full((999, 2), 0.1)}
    assert len(redistribution_figure({"mclstm": arrays}).axes) == 2
