"""Potential evapotranspiration by hand, in a series, and through a run to a prediction with other names."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
import yaml

from mclstm import from_config as configured
from mclstm import pipeline
from mclstm.config import check_config
from mclstm.data.features import PET, extraterrestrial, with_pet
from mclstm.deploy.new_data import Source
from mclstm.deploy.pack import pack
from mclstm.deploy.predict import predict
from mclstm.errors import ConfigError, DataError
from mclstm.run import load_run
from support.small_run import brook, brook_config, brooks

# 45.72 degrees north (Lyon) on the 15th of July, day 196, step by step after FAO-56.
LATITUDE, DAY = 45.72, 196
ANGLE = 2 * math.pi * DAY / 365
DECLINATION = 0.409 * math.sin(ANGLE - 1.39)
PHI = math.radians(LATITUDE)
SUNSET = math.acos(-math.tan(PHI) * math.tan(DECLINATION))
RADIATION = (
    37.586  # 24 * 60 / pi * 0.0820
    * (1 + 0.033 * math.cos(ANGLE))
    * (
        SUNSET * math.sin(PHI) * math.sin(DECLINATION)
        + math.cos(PHI) * math.cos(DECLINATION) * math.sin(SUNSET)
    )
)


def series(**units: str) -> xr.Dataset:
    time = pd.date_range("2001-07-15", periods=2)
    made = xr.Dataset(coords={"site": ("site", ["A", "B"]), "time": ("time", time)}, attrs={"step": "D"})
    for name, value in (("tmax", 26.6), ("tmin", 14.8)):
        shift = 273.15 if units.get(name) == "K" else 0.0
        about = {"role": "aux", "units": units.get(name, "degC")}
        made[name] = (("site", "time"), np.full((2, 2), value + shift), about)
    made["lat"] = ("site", [LATITUDE, -60.0], {"role": "static"})
    return made


def test_by_hand() -> None:
    assert pytest.approx(40.6, abs=0.1) == RADIATION  # the table of FAO-56 says 40.55 for July
    expected = 0.0023 * (20.7 + 17.8) * math.sqrt(11.8) * 0.408 * RADIATION
    found = with_pet(series(), "tmax", "tmin", "lat")[PET]
    assert found[0, 0].item() == pytest.approx(expected, rel=1e-5)
    assert found[0, 0].item() == pytest.approx(5.03, abs=0.02)
    assert found[1, 0] < found[0, 0] / 4  # winter in the south
    assert found.attrs["units"] == "mm/day"
    warm = with_pet(series(tmax="K", tmin="K"), "tmax", "tmin", "lat")[PET]
    np.testing.assert_allclose(warm, found)
    np.testing.assert_allclose(with_pet(series(), "tmax", "tmin", LATITUDE)[PET][1], found[0])


def test_polar_nights_and_hard_frosts_evaporate_nothing() -> None:
    assert extraterrestrial(np.array([80.0]), np.array([355])).item() == 0.0
    assert extraterrestrial(np.array([80.0]), np.array([172])).item() > 40
    cold = series()
    cold["tmax"] -= 60.0
    cold["tmin"] -= 60.0
    assert (with_pet(cold, "tmax", "tmin", "lat")[PET] == 0).all()


def test_what_cannot_be_used_is_refused() -> None:
    with pytest.raises(DataError, match="tmax is in mm/day"):
        with_pet(series(tmax="mm/day"), "tmax", "tmin", "lat")
    with pytest.raises(DataError, match="no latitude"):
        with_pet(series().assign(lat=("site", [1.0, 91.0])), "tmax", "tmin", "lat")
    with pytest.raises(DataError, match="steps of h"):
        with_pet(series().assign_attrs(step="h"), "tmax", "tmin", "lat")
    with pytest.raises(DataError, match="already has a column 'pet'"):
        with_pet(series().assign(pet=1.0), "tmax", "tmin", "lat")


def config(folder: Path) -> dict[str, Any]:
    """Two sites, each with its own latitude in a table of attributes."""
    table = brooks(brook(folder / "brook.csv"), ["first", "second"])
    table["tmax"], table["tmin"] = table["temperature"] + 4, table["temperature"] - 4
    table.drop(columns="temperature").to_csv(folder / "brook.csv", index=False)
    (folder / "places.csv").write_text("site,gauge_lat\nfirst,50.5\nsecond,-50.5\n")
    raw = brook_config(folder / "brook.csv", updates=2)
    raw["data"] |= {"site": "site", "aux": ["tmax", "tmin"], "pet": {}}
    raw["data"]["attributes"] = str(folder / "places.csv")
    return raw


def test_from_a_config_to_a_packed_model_and_other_names(tmp_path: Path) -> None:
    raw = config(tmp_path)
    run = pipeline.train(check_config(raw), tmp_path / "runs", quiet=True).path
    loaded = load_run(run)
    assert configured.inputs(loaded.config)["aux"] == ["tmax", "tmin", PET]
    assert loaded.data.a.shape[-1] == 3
    assert "gauge_lat" not in loaded.series  # read, and seen by no model
    pipeline.evaluate(run, figures=False)
    pack([run], tmp_path / "packed")
    assert (
        "computed from temperatures and the attribute gauge_lat"
        in (tmp_path / "packed/README.md").read_text()
    )
    whole = predict(tmp_path / "packed", Source(raw["data"]["path"], attributes=raw["data"]["attributes"]))

    table = pd.read_csv(tmp_path / "brook.csv").rename(columns={"tmax": "highest", "rain": "rainfall"})
    table.to_csv(tmp_path / "theirs.csv", index=False)
    (tmp_path / "their_places.csv").write_text("site,north\nfirst,50.5\nsecond,-50.5\n")
    columns = {"rain": "rainfall", "tmax": "highest", "gauge_lat": "north"}
    (tmp_path / "columns.yaml").write_text(yaml.safe_dump({"columns": columns, "site": "site"}))
    source = Source(
        str(tmp_path / "theirs.csv"), "csv", str(tmp_path / "their_places.csv"), tmp_path / "columns.yaml"
    )
    np.testing.assert_array_equal(predict(tmp_path / "packed", source)["simulated"], whole["simulated"])


def test_its_temperatures_must_be_auxiliaries(tmp_path: Path) -> None:
    raw = config(tmp_path)
    raw["data"]["aux"] = ["tmax"]
    with pytest.raises(ConfigError, match="computes pet from 'tmin', which is not in aux"):
        check_config(raw)
