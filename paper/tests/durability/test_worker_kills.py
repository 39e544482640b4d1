"""The jobs of the record of killed workers: what they chain does not depend on where they were stopped."""

import json
from pathlib import Path

from mclstm.jobs.execution import run_jobs
from mclstm.jobs.job import Job
from mclstm_paper.durability.worker_kills import CHAIN, Round, chained, record


def test_a_chain_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    jobs = [Job("seed-3", CHAIN, {"seed": 3}, goal) for goal in (12, 20)]
    assert run_jobs(jobs[:1], tmp_path, quiet=True)["seed-3"] == {"digest": chained(3, 12)}
    assert json.loads((tmp_path / "seed-3/state.json").read_text())["step"] == 10
    assert run_jobs(jobs[1:], tmp_path, quiet=True)["seed-3"] == {"digest": chained(3, 20)}
    assert chained(3, 20) != chained(4, 20)


def test_the_record_adds_up() -> None:
    content = record([Round(60, 18, 20, 0, 0), Round(40, 15, 20, 0, 1)], seed=0, seconds=1.0)
    assert (content["jobs"], content["kills"], content["results"]) == (40, 100, 40)
    assert (content["twice"], content["different"]) == (0, 1)
