"""Means of what came before: by pandas, in a series, and through a run to a prediction with other names."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
import yaml

from mclstm import from_config as configured
from mclstm import pipeline
from mclstm.config import check_config
from mclstm.data.features import trailing_mean, with_antecedent
from mclstm.deploy.new_data import Source
from mclstm.deploy.pack import pack
from mclstm.deploy.predict import predict
from mclstm.errors import ConfigError, DataError
from mclstm.report.comparison.snow_section import temperature
from mclstm.run import load_run
from support.small_run import brook, brook_config


@pytest.mark.parametrize("steps", [2, 7, 500])
def test_as_pandas_computes_it(steps: int) -> None:
    source = np.random.default_rng(steps)
    values = source.gamma(0.5, 6.0, (3, 200))
    values[0, :50], values[1, 60:65] = np.nan, np.nan
    expected = pd.DataFrame(values.T).rolling(steps, min_periods=1).mean().to_numpy().T
    found = trailing_mean(values, steps)
    np.testing.assert_allclose(found, np.where(np.isnan(values), np.nan, expected), rtol=1e-12, atol=1e-12)


def test_a_mean_knows_nothing_of_later_steps() -> None:
    values = np.random.default_rng(0).random((1, 30))
    changed = values.copy()
    changed[0, 20:] = 99.0
    np.testing.assert_array_equal(trailing_mean(values, 7)[:, :20], trailing_mean(changed, 7)[:, :20])


def test_a_mean_is_not_todays_temperature() -> None:
    about = {"role": "aux", "units": "degC"}
    series = xr.Dataset({"warmth": (("site", "time"), np.array([[0.0, 20.0]]), about)})
    found = temperature(with_antecedent(series, [2]), ["warmth"])
    assert found is not None
    assert found.tolist() == [[0.0, 20.0]]


def test_a_name_that_is_taken_is_refused() -> None:
    about = {"role": "mass", "units": "mm/day"}
    series = xr.Dataset({"rain": (("site", "time"), np.ones((1, 3)), about)})
    with pytest.raises(DataError, match="already has a column 'rain_mean_2'"):
        with_antecedent(series.assign(rain_mean_2=1.0), [2])


def test_from_a_config_to_a_packed_model_and_other_names(tmp_path: Path) -> None:
    raw = brook_config(brook(tmp_path / "brook.csv"), updates=2)
    raw["data"] |= {"antecedent": [3, 9], "day_of_year": True}
    run = pipeline.train(check_config(raw), tmp_path / "runs", quiet=True).path
    loaded = load_run(run)
    means = ["rain_mean_3", "rain_mean_9", "temperature_mean_3", "temperature_mean_9"]
    assert configured.inputs(loaded.config)["aux"][:5] == ["temperature", *means]
    assert loaded.data.a.shape[-1] == 7
    pipeline.evaluate(run, figures=False)
    pack([run], tmp_path / "packed")
    assert "over 3, 9 steps are computed" in (tmp_path / "packed/README.md").read_text()
    whole = predict(tmp_path / "packed", Source(raw["data"]["path"]))

    table = pd.read_csv(tmp_path / "brook.csv").rename(columns={"rain": "rainfall"})
    table.to_csv(tmp_path / "theirs.csv", index=False)
    (tmp_path / "columns.yaml").write_text(yaml.safe_dump({"columns": {"rain": "rainfall"}}))
    theirs = Source(str(tmp_path / "theirs.csv"), "csv", None, tmp_path / "columns.yaml")
    np.testing.assert_array_equal(predict(tmp_path / "packed", theirs)["simulated"], whole["simulated"])


def test_models_with_and_without_it_predict_as_one_ensemble(tmp_path: Path) -> None:
    raw, alone = brook_config(brook(tmp_path / "brook.csv"), updates=2), []
    for name, steps in (("plain", []), ("wet", [3, 9])):
        raw["data"]["antecedent"] = steps
        run = pipeline.train(check_config(raw), tmp_path / "runs", quiet=True).path
        pipeline.evaluate(run, figures=False)
        pack([run], tmp_path / "both" / name)
        alone.append(predict(run, raw["data"]["path"]))
    found = predict(tmp_path / "both", raw["data"]["path"])
    mean = (alone[0]["simulated"] + alone[1]["simulated"]) / 2
    np.testing.assert_allclose(found["simulated"], mean, rtol=1e-6)
    stored = sum(part["storage"].sum("cell") for part in alone) / 2
    np.testing.assert_allclose(found["storage"].sum("cell"), stored, rtol=1e-5)
    assert found.attrs["members"] == 2
    (tmp_path / "names.yaml").write_text("columns: {temperature: warmth}\n")
    frame = pd.read_csv(tmp_path / "brook.csv").rename(columns={"temperature": "warmth"})
    frame.to_csv(tmp_path / "theirs.csv", index=False)
    theirs = predict(
        tmp_path / "both", Source(str(tmp_path / "theirs.csv"), "csv", None, tmp_path / "names.yaml")
    )
    np.testing.assert_array_equal(theirs["simulated"], found["simulated"])
    shutil.copytree(tmp_path / "both" / "wet", tmp_path / "both" / "again")
    with pytest.raises(ConfigError, match=r"holds member-0 of .*again again"):
        predict(tmp_path / "both", raw["data"]["path"])
    shutil.rmtree(tmp_path / "both" / "again")
    for states in ({"state_in": tmp_path / "s"}, {"state_out": tmp_path / "s"}):
        with pytest.raises(ConfigError, match="holds several models"):
            predict(tmp_path / "both", raw["data"]["path"], **states)


def test_models_that_predict_other_things_are_no_ensemble(tmp_path: Path) -> None:
    raw = brook_config(brook(tmp_path / "brook.csv"), updates=2)
    for name, model in (("stores", raw["model"]), ("none", {"name": "lstm", "hidden_size": 3})):
        run = pipeline.train(check_config(raw | {"model": model}), tmp_path / "runs", quiet=True).path
        pipeline.evaluate(run, figures=False)
        pack([run], tmp_path / "both" / name)
    with pytest.raises(ConfigError, match="Predict with each alone"):
        predict(tmp_path / "both", raw["data"]["path"])
    shutil.copytree(tmp_path / "both" / "stores", run / "packed")
    np.testing.assert_array_equal(
        predict(run, raw["data"]["path"])["simulated"],
        predict(tmp_path / "both" / "none", raw["data"]["path"])["simulated"],
    )


def test_a_saved_state_does_not_hold_it(tmp_path: Path) -> None:
    raw = brook_config(brook(tmp_path / "brook.csv"), updates=2)
    raw["data"]["antecedent"] = [3]
    run = pipeline.train(check_config(raw), tmp_path / "runs", quiet=True).path
    for states in ({"state_in": tmp_path / "state"}, {"state_out": tmp_path / "state"}):
        with pytest.raises(ConfigError, match="give it the whole record"):
            predict(run, raw["data"]["path"], **states)


def test_a_number_of_steps_twice_is_refused(tmp_path: Path) -> None:
    raw = brook_config(brook(tmp_path / "brook.csv"))
    raw["data"]["antecedent"] = [3, 3]
    with pytest.raises(ConfigError, match="names 3 twice"):
        check_config(raw)
