"""Periods that no site covers, and what `evaluate` must leave alone or refuse."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

from mclstm import pipeline
from mclstm.config import check_config
from mclstm.data.windows import tensors
from mclstm.errors import DataError
from mclstm.evaluation.simulate import simulate
from mclstm.run import Run, load_run
from support.small_run import brook, brook_config, brooks, trained


def uncovered(tmp_path: Path, first: int, after: int) -> tuple[Run, xr.Dataset]:
    """A small run, and its data twice: as it is, and without rain in some of the steps."""
    loaded = load_run(trained(tmp_path, {"name": "mclstm", "hidden_size": 3, "initial_state": 2.5}))
    other = loaded.series.copy(deep=True).assign_coords(site=["dry"])
    other["rain"][:, first:after] = np.nan
    return loaded, xr.concat([loaded.series, other], "site", data_vars="minimal")


def test_a_site_without_inputs_keeps_its_state(tmp_path: Path) -> None:
    loaded, series = uncovered(tmp_path, 0, 240)
    data = tensors(series, loaded.moments, torch.float32)
    fresh = simulate(loaded.model, data, series, (0, 240), warmup=0).state
    assert fresh["cells"][1].tolist() == [2.5] * 3
    assert fresh["cells"][0].tolist() != [2.5] * 3
    before = {"cells": torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])}
    after = simulate(loaded.model, data, series, (0, 240), warmup=0, state=before).state
    assert after["cells"][1].tolist() == [4.0, 5.0, 6.0]
    assert before["cells"][0].tolist() == [1.0, 2.0, 3.0]


def test_a_period_without_inputs_is_named(tmp_path: Path) -> None:
    loaded, series = uncovered(tmp_path, 100, 240)
    alone = series.isel(site=[1])
    data = tensors(alone, loaded.moments, torch.float32)
    with pytest.raises(DataError, match=r"no site has all its inputs .* of the period, 2001-06-30 .*Choose"):
        simulate(loaded.model, data, alone, (180, 240), warmup=100)


def test_a_period_without_inputs_is_found_before_training(tmp_path: Path) -> None:
    """Two brooks with a year between them, and the test in that year."""
    early = brooks(brook(tmp_path / "brook.csv"), ["a"])
    late = early.assign(site="b", date=pd.date_range("2003-01-01", periods=len(early)))
    pd.concat([early, late]).to_csv(tmp_path / "brook.csv", index=False)
    raw = brook_config(tmp_path / "brook.csv")
    raw["data"]["site"] = "site"
    raw["periods"]["test"] = ["2002-02-01", "2002-03-01"]
    with pytest.raises(
        DataError, match=r"no site has all its inputs at any step of periods\.test, 2002-02-01"
    ):
        pipeline.train(check_config(raw), tmp_path / "runs", quiet=True)
    assert not (tmp_path / "runs").exists()


def test_another_split_leaves_the_figures_of_the_test(tmp_path: Path) -> None:
    run = trained(tmp_path, updates=2)
    pipeline.evaluate(run)
    before = {path: path.read_bytes() for path in (run / "figures").iterdir()}
    pipeline.evaluate(run, "train")
    assert before
    assert {path: path.read_bytes() for path in (run / "figures").iterdir()} == before
    assert list((run / "evaluation/train/figures").glob("hydrograph-*.svg"))


def test_evaluate_notices_changed_data(tmp_path: Path) -> None:
    run = trained(tmp_path, updates=2)
    table = pd.read_csv(tmp_path / "brook.csv")
    table.loc[200, "flow"] += 1.0
    table.to_csv(tmp_path / "brook.csv", index=False)
    with pytest.raises(DataError, match="changed since this run began"):
        pipeline.evaluate(run, figures=False)
