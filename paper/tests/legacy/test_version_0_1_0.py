"""A job folder that version 0.1.0 left half done: this version finishes it alike."""

import json
import shutil
from pathlib import Path

import numpy as np

from mclstm.jobs.execution import run_jobs
from mclstm.jobs.job import Job
from mclstm_paper.addition.training import LEARN

KEPT = Path(__file__).with_name("version_0_1_0")


def test_a_job_is_resumed_and_finished(tmp_path: Path) -> None:
    shutil.copytree(KEPT, tmp_path / "kept")
    parameters = json.loads((KEPT / "job/job.json").read_text())["parameters"]
    found = run_jobs([Job("job", LEARN, parameters, goal=12)], tmp_path / "kept", quiet=True)["job"]
    wanted = json.loads((KEPT / "finished_job.json").read_text())["result"]
    assert found["failed"] == wanted["failed"]
    np.testing.assert_allclose(found["validation"], wanted["validation"], rtol=1e-4)
    assert found["test"].keys() == wanted["test"].keys()
    for regime, errors in wanted["test"].items():
        np.testing.assert_allclose(found["test"][regime], errors, rtol=1e-4)
