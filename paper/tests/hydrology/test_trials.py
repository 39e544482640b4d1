"""What was tried on the validation years, read from the runs."""

import json
from pathlib import Path

from mclstm.jobs.monitor import JobMonitor
from mclstm_paper.hydrology.models import config_of
from mclstm_paper.hydrology.training import learn
from mclstm_paper.hydrology.trials import main, trials_table
from mclstm_paper.options import Options


def test_a_trial_says_what_it_changed_and_how_it_went(camels: Path, tmp_path: Path) -> None:
    options = Options(profile="paper", data=camels, basins=("11141280",), cells=3, updates=3)
    config = config_of("mclstm", options, member=4)
    config["training"] |= {"batch_size": 8, "average": 0.5, "validate_every": 1}
    run = tmp_path / "run"
    run.mkdir()
    learn(run, JobMonitor(run, lambda: None), 1, config)
    for _ in range(2):  # a run that is there already adds nothing
        main([str(tmp_path / "run"), "--results", str(tmp_path / "trials.json")])
    (row,) = json.loads((tmp_path / "trials.json").read_text())["rows"]
    assert row["changes"] == {
        "model.hidden_size": 3,
        "training.batch_size": 8,
        "training.updates": 3,
        "training.schedule": {"2": 0.001},
        "training.average": 0.5,
    }
    assert row["from"] == "mclstm"
    assert (row["seed"], row["setting"]) == (4, "1 basins, validation")
    assert (row["member"], row["finished"], row["updates"]) == (True, True, 3)
    assert row["value"] == max(score for _, score in row["curve"])
    assert [row["best_update"], row["value"]] in row["curve"]


def test_a_hybrid_is_beside_the_hybrid_and_a_run_without_a_test_is_no_member(
    camels: Path, tmp_path: Path
) -> None:
    options = Options(profile="paper", data=camels, basins=("11141280",), cells=3, updates=3, no_test=True)
    config = config_of("hybrid", options, member=0)
    config["training"] |= {"batch_size": 8, "updates": 3, "validate_every": 1}
    run = tmp_path / "run"
    run.mkdir()
    learn(run, JobMonitor(run, lambda: None), 1, config, split="validation")
    main([str(run), "--results", str(tmp_path / "trials.json")])
    (row,) = json.loads((tmp_path / "trials.json").read_text())["rows"]
    assert row["from"] == "hybrid"
    assert row["changes"] == {"model.hidden_size": 3, "training.batch_size": 8, "training.updates": 3}
    assert not row["member"]
    assert "hybrid, hidden_size: 3" in trials_table([row])
