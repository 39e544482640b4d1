"""What was tried on the validation years, read from the runs."""

import json
from pathlib import Path

from mclstm.jobs.monitor import JobMonitor
from mclstm_paper.hydrology.models import config_of
from mclstm_paper.hydrology.training import learn
from mclstm_paper.hydrology.trials import main
from mclstm_paper.options import Options


def test_a_trial_says_what_it_changed_and_how_it_went(camels: Path, tmp_path: Path) -> None:
    options = Options(profile="paper", data=camels, basins=("11141280",), cells=3, updates=3)
    config = config_of("mclstm", options, member=4)
    config["training"] |= {"batch_size": 8, "average": 0.5, "validate_every": 1}
    run = tmp_path / "run"
    run.mkdir()
    learn(run, JobMonitor(run, lambda: None), 1, config)
    main([str(tmp_path / "run"), "--results", str(tmp_path / "trials.json")])
    (row,) = json.loads((tmp_path / "trials.json").read_text())["rows"]
    assert row["changes"] == {
        "model.hidden_size": 3,
        "training.batch_size": 8,
        "training.updates": 3,
        "training.schedule": {"2": 0.001},
        "training.average": 0.5,
    }
    assert (row["seed"], row["setting"]) == (4, "1 basins, validation")
    assert (row["member"], row["finished"], row["updates"]) == (True, True, 3)
    assert row["value"] == max(score for _, score in row["curve"])
    assert [row["best_update"], row["value"]] in row["curve"]
