"""Configs of neuralhydrology become ours; its own parser vouches for the examples."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from neuralhydrology.utils.config import Config as TheirConfig

from mclstm.cli.main import main
from mclstm.config import load_config
from mclstm.config.neuralhydrology import import_nh
from mclstm.errors import ConfigError

PAPER: dict[str, Any] = {
    "experiment_name": "mclstm maurer", "run_dir": "runs/", "train_basin_file": "basins.txt",
    "validation_basin_file": "basins.txt", "test_basin_file": "basins.txt",
    "train_start_date": "01/10/1999", "train_end_date": "30/09/2008",
    "validation_start_date": "01/10/1980", "validation_end_date": "30/09/1989",
    "test_start_date": "01/10/1989", "test_end_date": "30/09/1999",
    "device": "cuda:0", "validate_every": 3, "validate_n_random_basins": 447, "metrics": ["NSE", "KGE"],
    "model": "mclstm", "head": "regression", "hidden_size": 64, "initial_forget_bias": 3,
    "optimizer": "Adam", "loss": "NSE", "learning_rate": {0: 1e-2, 20: 5e-3, 25: 1e-3}, "batch_size": 256,
    "epochs": 30, "clip_gradient_norm": 1, "predict_last_n": 1, "seq_length": 365, "num_workers": 8,
    "log_interval": 5, "log_tensorboard": True, "save_weights_every": 1, "dataset": "camels_us",
    "data_dir": "camels_us", "forcings": ["maurer_extended"], "mass_inputs": ["prcp(mm/day)"],
    "dynamic_inputs": ["srad(W/m2)", "tmax(C)", "tmin(C)", "vp(Pa)"], "target_variables": ["QObs(mm/d)"],
    "static_attributes": ["elev_mean", "slope_mean"],
    "custom_normalization": {"QObs(mm/d)": {"centering": "None", "scaling": "None"}},
}  # fmt: skip
LSTM = {
    "model": "cudalstm", "mass_inputs": None, "hidden_size": 128, "seq_length": 400, "predict_last_n": 35,
    "dynamic_inputs": ["PRCP(mm/day)", "Tmax(C)"], "dataset": "camels_us", "forcings": "daymet",
    "learning_rate": 0.001, "output_dropout": 0.4, "target_noise_std": 0.02, "early_stopping": True,
    "patience_early_stopping": 5, "initial_forget_bias": 3, "loss": "MSE", "clip_gradient_norm": None,
}  # fmt: skip
CARAVAN = {
    "dataset": "caravan", "forcings": None, "mass_inputs": ["total_precipitation_sum"],
    "dynamic_inputs": ["temperature_2m_mean"], "target_variables": ["streamflow"],
}  # fmt: skip


def written(folder: Path, **changes: Any) -> Path:
    """A config of theirs that their own parser accepts, and the basin file it names."""
    values = {key: value for key, value in (PAPER | changes).items() if value is not None}
    TheirConfig(json.loads(json.dumps(values)))
    (folder / "basins.txt").write_text("01013500\n01022500\n")
    (folder / "config.yml").write_text(yaml.safe_dump(values))
    return folder / "config.yml"


def test_the_papers_config(tmp_path: Path) -> None:
    imported = import_nh(written(tmp_path))
    config = imported.config
    assert config["name"] == "mclstm-maurer"
    assert config["data"]["sites"] == ["01013500", "01022500"]
    assert config["data"]["reader"] == "camels_us/maurer_extended"
    assert {role: config["data"][role] for role in ("mass", "aux", "target", "static")} == {
        "mass": ["prcp"], "aux": ["srad", "tmax", "tmin", "vp"], "target": ["discharge"],
        "static": ["elev_mean", "slope_mean"],
    }  # fmt: skip
    assert config["periods"]["test"] == ["1989-10-01", "1999-09-30"]
    assert config["model"]["output_bias"] == 3.0
    assert (config["model"]["redistribution_norm"], config["model"]["input_norm"]) == ("relu", "sigmoid")
    training = config["training"]
    assert (training["scheme"], training["length"], training["stride"]) == ("last", 365, 1)
    assert (training["learning_rate"], training["schedule"]) == (0.01, {19: 0.005, 24: 0.001})
    assert (training["clip"], training["loss"], training["epochs"]) == (1, "nse", 30)
    assert set(imported.lost) == {"validate_n_random_basins", "custom_normalization"}
    assert set(imported.unneeded) == {
        "run_dir", "device", "head", "num_workers", "log_interval", "log_tensorboard", "save_weights_every",
    }  # fmt: skip
    assert "model.state_norm" in imported.changed


def test_an_lstm_with_a_long_score(tmp_path: Path) -> None:
    imported = import_nh(written(tmp_path, **LSTM))
    config = imported.config
    model = {"name": "lstm", "hidden_size": 128, "forget_bias": 3.0, "dropout": 0.4}
    assert config["model"] == model
    assert (config["data"]["mass"], config["data"]["aux"]) == (["prcp"], ["tmax"])
    assert config["data"]["reader"] == "camels_us/daymet"
    training = config["training"]
    assert (training["scheme"], training["length"], training["warmup"]) == ("sequence", 400, 365)
    assert (training["early_stopping"], training["clip"], training["schedule"]) == (5, None, {})
    assert "target_noise_std" in imported.lost
    assert "output_dropout" not in imported.lost


def test_caravan_and_the_folder_of_a_run(tmp_path: Path) -> None:
    written(tmp_path, **CARAVAN)
    data = import_nh(tmp_path).config["data"]
    assert (data["reader"], data["mass"], data["target"]) == (
        "caravan",
        ["total_precipitation_sum"],
        ["streamflow"],
    )


def test_no_key_of_theirs_is_dropped_in_silence(tmp_path: Path) -> None:
    """Every key their parser knows is taken over, named as unneeded, or named as lost."""
    known = [name for name in dir(TheirConfig) if isinstance(getattr(TheirConfig, name), property)]
    file = written(tmp_path)
    before = import_nh(file)
    for key in [*known, "a_key_of_tomorrow"]:
        if key not in PAPER and not key.endswith("_date"):
            file.write_text(yaml.safe_dump(PAPER | {key: True}))
            try:
                after = import_nh(file)
            except ConfigError as error:
                assert key in str(error)  # noqa: PT017
                continue
            named = {**after.lost, **after.unneeded}
            assert key in named or after.config != before.config, key


def test_metrics_that_cannot_be_computed_are_named(tmp_path: Path) -> None:
    imported = import_nh(written(tmp_path, metrics=["NSE", "Missed-Peaks", "Beta-KGE"]))
    assert imported.config["evaluation"]["metrics"] == ["nse", "beta-kge"]
    assert "Missed-Peaks" in imported.lost["metrics"]


def test_flows_below_zero_are_scored_as_there(tmp_path: Path) -> None:
    assert import_nh(written(tmp_path, **LSTM)).config["evaluation"]["nonnegative"] is False
    clipped = import_nh(written(tmp_path, **LSTM, clip_targets_to_zero=["QObs(mm/d)"]))
    assert clipped.config["evaluation"]["nonnegative"] is True
    assert "clip_targets_to_zero" not in clipped.lost


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "ealstm"}, "no model 'ealstm'"),
        ({"dataset": "camels_gb"}, "no reader for the dataset 'camels_gb'"),
        ({"forcings": ["daymet", "nldas"]}, "only one of the forcings"),
        ({"loss": "RMSE"}, "loss 'RMSE'"),
        ({"optimizer": "AdamW"}, "optimizer 'AdamW'"),
        ({"model": "cudalstm", "head": "gmm"}, "head 'gmm'"),
        ({"train_start_date": ["01/10/1999", "01/10/2003"], "train_end_date": ["30/09/2000", "30/09/2008"]},
         "several periods"),
        ({"test_basin_file": "others.txt"}, "cannot be read"),
        ({"test_start_date": "01/10/2000"}, "cannot become a config of mclstm: periods.test"),
        ({"validation_start_date": "01/10/2000", "validation_end_date": "01/10/2001"}, "overlap"),
        ({"mass_inputs": None, "dynamic_inputs": ["tmax(C)"]}, "mass_inputs"),
        ({"hidden_size": 1}, "hidden_size"),
        ({"seq_length": None}, "has no seq_length"),
        ({"learning_rate": {5: 0.1}}, "learning_rate"),
    ],
)  # fmt: skip
def test_what_cannot_be_said_here_ends_with_one_sentence(
    tmp_path: Path, changes: dict[str, Any], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import-nh", str(written(tmp_path, **changes))]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert len(said.strip().splitlines()) == 1


def test_other_basins_for_testing_are_refused(tmp_path: Path) -> None:
    file = written(tmp_path, test_basin_file="others.txt")
    (tmp_path / "others.txt").write_text("01022500\n")
    with pytest.raises(ConfigError, match="names other basins for train than for validation than for test"):
        import_nh(file)


def test_the_command_writes_a_config_that_loads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, target_noise_std=0.02)
    assert main(["import-nh", str(file)]) == 0
    printed = capsys.readouterr()
    assert "no counterpart: target_noise_std" in printed.err
    assert "#   target_noise_std: no noise is added" in printed.out
    assert main(["import-nh", str(file), "--out", str(tmp_path / "mine.yaml")]) == 0
    assert (tmp_path / "mine.yaml").read_text() == printed.out
    config = load_config(tmp_path / "mine.yaml")
    assert config.training.schedule == {19: 0.005, 24: 0.001}
    assert config.data.sites == ["01013500", "01022500"]
    capsys.readouterr()
    assert main(["import-nh", str(file), "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"config", "lost", "unneeded", "changed"}


def test_files_that_are_no_config(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "list.yml").write_text("- a\n- b\n")
    assert main(["import-nh", str(tmp_path / "list.yml")]) == 2
    assert main(["import-nh", str(tmp_path / "missing.yml")]) == 2
    assert "missing.yml" in capsys.readouterr().err
