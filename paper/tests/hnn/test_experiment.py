"""The comparison in tiny sizes, as a user runs it."""

import json
from pathlib import Path

import numpy as np
import pytest

from experiment_commands import run
from mclstm.jobs.monitor import JobMonitor
from mclstm_paper.hnn.experiment import EXPERIMENT, no_winner
from mclstm_paper.hnn.mass_training import learn_series, series_recipe
from mclstm_paper.hnn.other_draws import leaked_draw, worst_series
from mclstm_paper.hnn.task import SETTINGS, some_observed
from mclstm_paper.options import Options, Plan
from mclstm_paper.pendulum.error_rows import set_rows


@pytest.mark.parametrize("protocol", ["stated", "published"])
def test_every_model_has_its_rows_and_friction_its_figure(tmp_path: Path, protocol: str) -> None:
    assert run(tmp_path, "hnn", "--seeds", "1", "--updates", "2", "--protocol", protocol) == 0
    content = json.loads((tmp_path / f"results/hnn/{protocol}.json").read_text())
    rows = [row for row in content["rows"] if (row["setting"], row["metric"]) == ("all", "mse")]
    assert [row["model"] for row in rows][:4] == ["mclstm", "hnn", "mclstm-invariant", "mclstm-clock"]
    assert [row["paper"] for row in rows][:2] == [4.3e-4, 3.0e-4]
    assert (tmp_path / f"results/hnn/{protocol}-friction.svg").exists()
    assert any("binomial test" in claim["test"] for claim in content["claims"])


def test_the_whole_comparison_has_24_series_of_every_model() -> None:
    jobs = EXPERIMENT.jobs(Plan(Options(profile="paper")))
    for model in ("mclstm", "hnn", "mclstm-invariant", "mclstm-clock"):
        mine = [job for job in jobs if job.parameters["model"] == model]
        assert [seed for job in mine for seed in job.parameters["seeds"]] == list(range(24))


def test_the_papers_test_of_its_own_wins() -> None:
    ours, theirs = [0.0] * 11 + [2.0] * 13, [1.0] * 24
    rows = []
    for model, errors in (("mclstm", ours), ("hnn", theirs)):
        outcome = dict.fromkeys(("mse", "mse-noisy", "rise", "least"), errors)
        rows += set_rows(model, outcome, list(range(24)), SETTINGS)
    (claim,) = no_winner(rows, "mclstm")
    assert claim["test"] == "binomial test, mclstm better on 11 of 24"
    assert round(claim["p"], 2) == 0.84
    assert claim["holds"]


def test_the_first_other_draw_is_that_of_the_record(tmp_path: Path) -> None:
    first, second = (leaked_draw(tmp_path, draw, updates=2) for draw in (0, 1))
    assert [first["draw"], first["unfinished"], first["finished"]] == [0, 24, None]
    assert first["mean"] != second["mean"]
    recipe, numbers = series_recipe("mclstm", "published"), list(range(24))
    series, monitor = some_observed(numbers), JobMonitor(tmp_path, lambda: None)
    recorded = learn_series(tmp_path, monitor, 2, recipe, series, numbers)
    assert first["mean"] == pytest.approx(np.mean(recorded["mse"]))


def test_the_worst_series_begins_elsewhere_or_has_other_noise(tmp_path: Path) -> None:
    errors = [worst_series(tmp_path, *others, updates=1)["mse"] for others in ((0, 0), (0, 1), (1, 0))]
    assert len(set(errors)) == 3
