"""Folders of version 0.1.0 resume: every job still answers to the name that version wrote into job.json."""

from pathlib import Path

import pytest

from mclstm_paper.options import Options, Plan
from mclstm_paper.registry import EXPERIMENTS, experiment

FORMER_NAMES = {
    "addition": "mclstm.experiments.addition_training.learn",
    "recurrent-arithmetic": "mclstm.experiments.recurrent_arithmetic.learn",
    "static-arithmetic": "mclstm.experiments.static_arithmetic.learn",
    "mnist-sum": "mclstm.experiments.mnist_sum.learning.learn",
    "hydrology": "mclstm.experiments.hydrology.member.learn",
    "hydrology-variants": "mclstm.experiments.hydrology.member.learn",
    "hydrology-ablation": "mclstm.experiments.hydrology.member.learn",
}


def test_every_experiment_of_that_version_is_listed() -> None:
    assert set(FORMER_NAMES) <= set(EXPERIMENTS)


@pytest.mark.parametrize("name", FORMER_NAMES)
def test_jobs_keep_their_former_name(name: str, tmp_path: Path) -> None:
    data = tmp_path if name.startswith("hydrology") else None
    jobs = experiment(name).jobs(Plan(Options(data=data), tmp_path))
    assert jobs
    assert {former for job in jobs for former in job.work.formerly} == {FORMER_NAMES[name]}
    assert len({job.work.name for job in jobs}) == 1
