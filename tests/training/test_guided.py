"""Cells that observations of a store tie to it: `model.guided` and `training.guide_weight`."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from mclstm import fit, pipeline
from mclstm.config import check_config
from mclstm.deploy.predict import predict
from mclstm.errors import ConfigError
from mclstm.evaluation.metrics import nse
from mclstm.explain.water_balance import balance_table
from support.small_run import brook, brook_config

GUIDED = {"name": "mclstm", "hidden_size": 4, "guided": {"stored": 2}}


def config(folder: Path, model: dict[str, Any] | None = None, **training: Any) -> dict[str, Any]:
    """The brook with what its bucket holds, which is observed every other day."""
    folder.mkdir(exist_ok=True)
    path = brook(folder / "brook.csv")
    table = pd.read_csv(path)
    table["stored"] = (5 * table["flow"]).where(table.index % 2 == 0)
    table.to_csv(path, index=False)
    raw = brook_config(path, model or GUIDED, **training)
    units = {"rain": "mm/day", "flow": "mm/day", "stored": "mm"}
    raw["data"] = raw["data"] | {"target": ["flow", "stored"], "units": units}
    return raw


def evaluated(folder: Path, **training: Any) -> xr.Dataset:
    settings = {"updates": 60, "validate_every": 1000, "loss": "nse", **training}
    run = pipeline.train(check_config(config(folder, **settings)), folder / "runs", quiet=True)
    return pipeline.evaluate(run, figures=False).predictions


def test_a_guided_target_is_the_content_of_its_cell_and_no_outflow(tmp_path: Path) -> None:
    found = evaluated(tmp_path / "a", updates=2)
    np.testing.assert_allclose(found["simulated_stored"], found["storage"].sel(cell=2), rtol=1e-6)
    outflow = found["outflow"]
    assert outflow.sizes["outlet"] == 2  # the flow, and what is lost
    np.testing.assert_allclose(outflow.isel(outlet=0), found["simulated_flow"], rtol=1e-6)
    assert balance_table(found)["relative error"].max() < 1e-5


def test_observations_of_the_store_make_the_cell_follow_it(tmp_path: Path) -> None:
    scores = []
    for weight in (0.0, 1.0):
        settings = {"guide_weight": weight, "learning_rate": 0.05, "updates": 100}
        found = evaluated(tmp_path / str(weight), **settings)
        scores.append(nse(found["simulated_stored"].to_numpy()[0], found["observed_stored"].to_numpy()[0]))
    assert scores[1] > max(scores[0], 0.0)


def test_a_weight_of_zero_leaves_the_loss_to_the_flow(tmp_path: Path) -> None:
    plain, wrong = evaluated(tmp_path / "a", guide_weight=0.0, updates=5), None
    raw = config(tmp_path / "b", guide_weight=0.0, updates=5, validate_every=1000, loss="nse")
    table = pd.read_csv(raw["data"]["path"])
    table["stored"] = table["stored"] * 7 + 1
    table.to_csv(raw["data"]["path"], index=False)
    run = pipeline.train(check_config(raw), tmp_path / "runs", quiet=True)
    wrong = pipeline.evaluate(run, figures=False).predictions
    np.testing.assert_array_equal(plain["simulated_flow"], wrong["simulated_flow"])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"guided": {"stored": 4}}, "guides cells that are not there"),
        ({"guided": {"stored": 2}, "head": "linear"}, "has guided, cells beside the outlet of head: sum"),
        ({"guided": {"stored": 1, "more": 2}}, "must stand last among the targets"),
    ],
)
def test_what_cannot_be_guided_is_refused(model: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        pipeline.train(check_config(config(tmp_path, GUIDED | model)), tmp_path / "runs", quiet=True)


def test_a_pack_and_fit_take_guided_targets(tmp_path: Path) -> None:
    """What a cell holds is no outflow in the budget of new data either."""
    raw = config(tmp_path / "a", updates=2, validate_every=1000)
    run = pipeline.train(check_config(raw), tmp_path / "runs", quiet=True)
    table = pd.read_csv(raw["data"]["path"], parse_dates=["date"]).set_index("date")
    found = predict(run.path, raw["data"]["path"])
    assert {"simulated_flow", "simulated_stored"} <= set(found.data_vars)
    columns = {"mass": "rain", "aux": "temperature", "target": ["flow", "stored"]}
    sizes = {"hidden_size": 4, "guided": {"stored": 2}, "length": 10, "warmup": 4, "updates": 2}
    fitted = fit(table, **columns, **sizes, quiet=True)
    assert list(fitted.predict(table).columns) == ["flow", "stored"]
