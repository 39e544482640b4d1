"""Vapour pressure computed from a temperature: in training, and for packed models on data that has none."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from mclstm.cli.main import main
from mclstm.config import check_config
from mclstm.data.vapour_pressure import saturated
from mclstm.deploy.new_data import Source, read_new_data
from mclstm.deploy.predict import predict
from mclstm.deploy.trained_model import open_model
from mclstm.errors import ConfigError, DataError
from mclstm.series_from_config import inputs, read_series
from support.layouts import COLUMNS, Frames, as_caravan, as_csv, frames, member, member_config


def computed(folder: Path, vapour: dict[str, str], columns: dict[str, Any] | None = None) -> dict[str, Any]:
    """The config of a brook without a column of vapour pressure, which is computed."""
    tables = {site: table.drop(columns="vp") for site, table in frames().items()}
    tables = {site: table.assign(**(columns or {})) for site, table in tables.items()}
    raw = member_config(as_csv(folder, tables), 3)
    raw["data"] |= {"vapour_pressure": vapour}
    raw["data"]["units"] = {name: unit for name, unit in raw["data"]["units"].items() if name != "vp"}
    return raw


def test_it_is_the_pressure_of_saturated_air_at_the_temperature(tmp_path: Path) -> None:
    config = check_config(computed(tmp_path / "a", {"tmin": "tmin"}))
    series = read_series(config, require_target=True)
    # FAO-56, equation 11, in Pa.
    tmin = series["tmin"].to_numpy()
    np.testing.assert_allclose(series["vp"], 610.8 * np.exp(17.27 * tmin / (tmin + 237.3)), rtol=1e-12)
    aux = [name for name in series.data_vars if series[name].attrs["role"] == "aux"]
    assert aux == inputs(config)["aux"] == ["srad", "tmax", "tmin", "vp"]
    assert series["vp"].attrs["units"] == "Pa"


def test_from_a_dew_point_in_kelvin_that_the_model_does_not_see(tmp_path: Path) -> None:
    raw = computed(tmp_path / "a", {"dew_point": "dew"}, {"dew": 283.15})
    raw["data"]["units"]["dew"] = "K"
    raw["data"]["convert"] = {"vp": "kPa"}
    series = read_series(check_config(raw), require_target=True)
    np.testing.assert_allclose(series["vp"], saturated(np.array(10.0)) / 1000, rtol=1e-9)
    assert "dew" not in series


def test_kelvin_that_is_not_declared_is_refused(tmp_path: Path) -> None:
    raw = computed(tmp_path / "a", {"dew_point": "dew"}, {"dew": 283.15})
    with pytest.raises(DataError, match=r"dew reaches 283.15 degC.*units: \{dew: K\}"):
        read_series(check_config(raw), require_target=True)
    raw["data"]["units"]["dew"] = "mm"
    with pytest.raises(DataError, match="dew is in mm, no temperature"):
        read_series(check_config(raw), require_target=True)


@pytest.mark.parametrize(
    ("vapour", "expected"),
    [
        ({}, "needs one temperature"),
        ({"tmin": "tmin", "dew_point": "dew"}, "needs one temperature"),
        ({"tmin": "tmin", "column": "humidity"}, "'humidity', which is not in aux"),
        ({"tmin": "prcp"}, "from 'prcp'. Name a temperature"),
    ],
)
def test_mistakes_in_the_config(tmp_path: Path, vapour: dict[str, str], expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        check_config(computed(tmp_path / "a", vapour))


def test_a_run_with_it_predicts_packs_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = member(tmp_path / "runs", computed(tmp_path / "a", {"tmin": "tmin"}))
    alone = predict(run, str(tmp_path / "a"))["simulated"].to_numpy()
    pack = tmp_path / "pack"
    assert main(["pack", str(run), "--out", str(pack)]) == 0
    np.testing.assert_array_equal(predict(pack, str(tmp_path / "a"))["simulated"], alone)
    assert "Vapour pressure (vp) is computed from tmin." in (pack / "README.md").read_text()
    renamed = tmp_path / "b"
    tables = {
        site: table.drop(columns="vp").rename(columns={"tmin": "cold"}) for site, table in frames().items()
    }
    (tmp_path / "c.yaml").write_text("columns: {tmin: cold}\n")
    source = Source(str(as_csv(renamed, tables)), None, None, tmp_path / "c.yaml")
    np.testing.assert_array_equal(predict(pack, source)["simulated"], alone)


def test_a_model_trained_with_measured_vapour_takes_caravan_without_it(tmp_path: Path) -> None:
    run = member(tmp_path / "runs", member_config(as_csv(tmp_path / "a", frames()), 3))
    caravan = as_caravan(tmp_path / "caravan", frames())
    for file in caravan.rglob("*.csv"):
        table = pd.read_csv(file)
        table.drop(columns="vapour_pressure", errors="ignore").to_csv(file, index=False)
    names = {name: theirs for name, theirs in COLUMNS.items() if name != "vp"}
    content = {"columns": names, "vapour_pressure": {"tmin": "temperature_2m_min"}}
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(content))
    source = Source(str(caravan), None, None, tmp_path / "c.yaml")
    series = read_new_data(open_model(run), source)
    np.testing.assert_allclose(series["vp"], saturated(series["tmin"].to_numpy()))
    assert list(series.data_vars)[-4:] == ["srad", "tmax", "tmin", "vp"]
    tables: Frames = {
        site: table.assign(vp=saturated(table["tmin"].to_numpy())) for site, table in frames().items()
    }
    expected = predict(run, str(as_csv(tmp_path / "b", tables)))["simulated"]
    np.testing.assert_allclose(predict(run, source)["simulated"], expected, rtol=1e-6)
