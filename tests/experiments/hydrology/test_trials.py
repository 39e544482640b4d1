"""What was tried on the validation years, read from the runs."""

import json
from pathlib import Path

import pytest

from mclstm.experiments.experiment import Options
from mclstm.experiments.hydrology.member import learn
from mclstm.experiments.hydrology.settings import config_of
from mclstm.experiments.hydrology.trials import main
from mclstm.experiments.watch import Watch


def test_a_trial_says_what_it_changed_and_how_it_went(
    camels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = Options(profile="paper", data=camels, basins=("11141280",), cells=3, updates=3)
    config = config_of("mclstm", options, member=4)
    config["training"] |= {"batch_size": 8, "average": 0.5, "validate_every": 1}
    learn(tmp_path, Watch(tmp_path, lambda: None), 1, config)
    main([str(tmp_path)])
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["changes"] == {
        "model.hidden_size": 3,
        "training.batch_size": 8,
        "training.updates": 3,
        "training.schedule": {"2": 0.001},
        "training.average": 0.5,
    }
    assert row["seed"] == 4
    assert row["value"] == max(score for _, score in row["curve"])
    assert [row["best_update"], row["value"]] in row["curve"]
