"""Flows below zero are scored as zero: by hand, in a run and in its ensemble."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
import yaml

from mclstm import from_config as configured
from mclstm import pipeline
from mclstm.config import check_config, load_config
from mclstm.config.same_model import shared_by_members
from mclstm.data.scaling import Moment
from mclstm.deploy.predict import predict
from mclstm.errors import ConfigError
from mclstm.evaluation.ensemble import ensemble_mean, model_scores
from mclstm.evaluation.prediction_dataset import NONNEGATIVE, nonnegative, read_flows
from mclstm.evaluation.score_tables import score_table
from mclstm.training.state import load_weights, save_weights
from support.small_run import brook, brook_config, trained

OBSERVED = [1.0, 0.0, 3.0, 0.0]  # mean 1, squared deviations 0 + 1 + 4 + 1 = 6


def flows(simulated: list[float], target: str = "mm/day", mass: str = "mm/day") -> xr.Dataset:
    days = {"site": ["A"], "time": pd.date_range("2001-01-01", periods=4)}
    values = {"simulated": (simulated, target), "observed": (OBSERVED, target), "inflow": ([1.0] * 4, mass)}
    return xr.Dataset(
        {name: (("site", "time"), [v], {"units": unit}) for name, (v, unit) in values.items()}, days
    )


def test_metrics_by_hand() -> None:
    result = nonnegative(flows([2.0, -2.0, 3.0, -1.0]))
    assert result["simulated"].to_numpy().tolist() == [[2.0, 0.0, 3.0, 0.0]]
    table = score_table(result, ["nse", "beta-nse", "rmse"]).iloc[0]
    # As predicted the squared errors are 1 + 4 + 0 + 1, that is NSE 0; raised to zero only the first is left.
    assert table["nse"] == pytest.approx(1 - 1 / 6)
    assert table["beta-nse"] == pytest.approx((1.25 - 1.0) / np.sqrt(6 / 4))
    assert table["rmse"] == pytest.approx(0.5)
    assert score_table(flows([2.0, -2.0, 3.0, -1.0]), ["nse"])["nse"][0] == pytest.approx(0.0)


def test_the_ensemble_is_the_mean_of_nonnegative_members() -> None:
    members = [nonnegative(flows(y)) for y in ([2.0, -2.0, 3.0, 1.0], [0.0, 2.0, 3.0, -5.0])]
    assert ensemble_mean(members)["simulated"].to_numpy().tolist() == [[1.0, 1.0, 3.0, 0.5]]
    single, ensemble = model_scores("lstm", members, False)
    assert ensemble.frames[0]["nse"]["A"] == pytest.approx(1 - (1 + 0.25) / 6)
    assert [frame["nse"]["A"] for frame in single.frames] == pytest.approx([1 - 2 / 6, 1 - 5 / 6])


@pytest.mark.parametrize(
    ("wanted", "target", "mass", "raised"),
    [
        (None, "mm/day", "mm/d", True),
        (None, "degC", "mm/day", False),
        (None, "", "", False),
        (True, "degC", "mm/day", True),
        (False, "mm/day", "mm/day", False),
    ],
)
def test_which_targets(wanted: bool | None, target: str, mass: str, raised: bool) -> None:
    unclipped = flows([2.0, -2.0, np.nan, -1.0], target, mass)
    result = nonnegative(unclipped, wanted)["simulated"]
    np.testing.assert_array_equal(
        result, np.maximum(unclipped["simulated"], 0) if raised else unclipped["simulated"]
    )
    assert result.attrs[NONNEGATIVE] == int(raised)
    assert result.attrs["units"] == target


def lstm_run(folder: Path, **evaluation: Any) -> Path:
    """An LSTM whose constant prediction is far below zero, as its run folder."""
    folder.mkdir()
    raw = brook_config(brook(folder / "brook.csv"), {"name": "lstm", "hidden_size": 2}, updates=2)
    raw["data"]["units"] = {"rain": "mm/day", "flow": "mm/day"}
    raw["evaluation"] = {"metrics": ["nse"]} | evaluation
    path = pipeline.train(check_config(raw), folder / "runs", quiet=True).path
    run = configured.open_run(path)
    progress = load_weights(run.folder.weights(), run.model, run.model_hash)
    with torch.no_grad():
        run.model.linear.weight.zero_()  # type: ignore[union-attr, operator]
        run.model.linear.bias.fill_(-10.0)  # type: ignore[union-attr, operator]
    save_weights(run.folder.weights(), run.model, progress, run.model_hash)
    return path


def test_a_run_is_scored_and_predicts_without_negative_flow(tmp_path: Path) -> None:
    path = lstm_run(tmp_path / "default")
    result = pipeline.evaluate(path, figures=False)
    assert (result.predictions["simulated"] == 0).all()
    observed = result.predictions["observed"].to_numpy()[0]
    by_hand = 1 - (observed**2).sum() / ((observed - observed.mean()) ** 2).sum()
    assert result.scores["nse"][0] == pytest.approx(by_hand)
    assert (predict(path, str(tmp_path / "default" / "brook.csv"))["simulated"] == 0).all()
    kept = lstm_run(tmp_path / "kept", nonnegative=False)
    assert (pipeline.evaluate(kept, figures=False).predictions["simulated"] < 0).all()
    assert (read_flows(kept / "evaluation/test/predictions.nc")["simulated"] < 0).all()
    assert shared_by_members(load_config(kept / "config.yaml"))["evaluation"] == {"restart": None}


def test_what_a_gated_head_holds_back_is_an_outlet_of_the_ledger(tmp_path: Path) -> None:
    model = {"name": "mclstm", "hidden_size": 3, "head": "mcfc", "head_gate": True, "trash_cell": False}
    model |= {"outlet": "constant", "state_norm": "none", "initial_state": "learned", "learned_from": 0.0}
    result = pipeline.evaluate(trained(tmp_path, model, updates=2), figures=False)
    assert result.predictions["outlet"].to_numpy().tolist() == ["flow", "held back"]
    assert (result.balance["outflow held back"] > 0).all()
    assert (result.balance["relative error"] < 1e-5).all()


def test_runs_of_versions_without_the_setting(tmp_path: Path) -> None:
    path = lstm_run(tmp_path / "old", nonnegative=False)
    pipeline.evaluate(path, figures=False)
    file, config = path / "evaluation/test/predictions.nc", path / "config.yaml"
    with xr.open_dataset(file, engine="h5netcdf") as opened:
        written = opened.load()
    del written["simulated"].attrs[NONNEGATIVE]
    written.to_netcdf(file, engine="h5netcdf")
    assert (read_flows(file)["simulated"] == 0).all()
    raw = yaml.safe_load(config.read_text())
    del raw["evaluation"]["nonnegative"]
    config.write_text(yaml.safe_dump(raw))
    assert (pipeline.evaluate(path, figures=False).predictions["simulated"] == 0).all()


@pytest.mark.parametrize("head", ["sum", "mcfc"])
@pytest.mark.parametrize(
    ("options", "outlets"),
    [
        ({}, ["flow", "losses"]),
        ({"losses": "evaporation"}, ["flow", "evaporation"]),
        ({"losses": "evaporation", "trash_cell": False}, ["flow"]),
    ],
)
def test_losses_have_the_name_of_the_config_and_no_column_where_there_are_none(
    tmp_path: Path, head: str, options: dict[str, Any], outlets: list[str]
) -> None:
    run = trained(tmp_path, {"name": "mclstm", "hidden_size": 3, "head": head, **options}, updates=1)
    result = pipeline.evaluate(run, figures=False)
    assert result.predictions["outlet"].to_numpy().tolist() == outlets
    assert result.predictions["outflow"].attrs.get("losses") == (outlets[1] if outlets[1:] else None)
    assert [name for name in result.balance if name.startswith("outflow")] == [
        f"outflow {o}" for o in outlets
    ]
    assert (result.balance["relative error"] < 1e-5).all()


def test_the_name_of_losses_is_no_part_of_a_model_but_must_not_be_a_targets(tmp_path: Path) -> None:
    raw = brook_config(brook(tmp_path / "brook.csv"), {"name": "mclstm", "hidden_size": 3}, updates=1)
    plain = check_config(raw)
    named = check_config({**raw, "model": {**raw["model"], "losses": "evaporation"}})
    moments = {name: Moment(0.0, 1.0) for name in ("rain", "temperature", "flow")}
    assert configured.build(plain, moments)[1] == configured.build(named, moments)[1]
    assert shared_by_members(plain) == shared_by_members(named)
    taken = check_config({**raw, "model": {**raw["model"], "losses": raw["data"]["target"][0]}})
    with pytest.raises(ConfigError, match=r"model.losses is 'flow', which is the name of a target"):
        configured.build(taken, moments)
