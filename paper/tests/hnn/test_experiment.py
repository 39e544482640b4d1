"""The comparison in tiny sizes, as a user runs it."""

import json
from pathlib import Path

import pytest

from experiment_commands import run
from mclstm_paper.hnn.experiment import EXPERIMENT, no_winner
from mclstm_paper.hnn.task import SETTINGS
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
