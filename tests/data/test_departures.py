"""New data beside the moments of training: what is said, and that ordinary data is left alone."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from mclstm.data.checks.departures import departures, trained_ratio
from mclstm.data.manifest import manifest, ranges_in
from mclstm.data.read import from_frames
from mclstm.data.scaling import Moment, moments
from mclstm.data.site_tables import Roles
from support.rivers import river

ROLES = Roles(mass=("rain",), aux=("tmin", "tmax", "srad"), static=("elevation",), target=("flow",))


def bright(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(srad=150 + 8 * table["tmax"] + 30 * np.sin(np.arange(len(table))))


def series(table: pd.DataFrame, elevation: float = 300.0) -> xr.Dataset:
    frames = dict.fromkeys("AB", table if "srad" in table else bright(table))
    static = pd.DataFrame({"elevation": [elevation, 500.0]}, index=["A", "B"])
    return from_frames(frames, ROLES, static=static)


TRAINING = series(river())
MOMENTS, RANGES = moments(TRAINING), ranges_in(manifest(TRAINING, ""))


def said(data: xr.Dataset, ranges: dict[str, tuple[float, float]] = RANGES) -> list[str]:
    return [finding.sentence() for finding in departures(data, MOMENTS, ranges)]


@pytest.mark.parametrize(
    "table",
    [
        river(),
        river(seed=5),
        river(365, rain=1.0, warm=14),
        river(365, rain=6.0, warm=3),
        river(60),
        river(1),
    ],
    ids=["the same", "other years", "warm and dry", "cold and wet", "winter", "one day"],
)
def test_ordinary_data_is_left_alone(table: pd.DataFrame) -> None:
    assert said(series(table)) == []


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"tmax": lambda t: t["tmax"] + 273.15}, "probably kelvin instead of degC"),
        ({"tmax": lambda t: t["tmax"] * 1.8 + 32}, "probably degF instead of degC"),
        ({"rain": lambda t: t["rain"] / 25.4}, "inches and mm"),
        ({"rain": lambda t: t["rain"] / 1000}, "m and mm (1000) may be confused"),
        ({"rain": lambda t: t["rain"] * 10}, "tenths of mm"),
    ],
)
def test_another_unit_is_named(changes: dict[str, object], word: str) -> None:
    table = bright(river(700, seed=3))
    (sentence,) = said(series(table.assign(**changes)))
    assert word in sentence
    assert "declare their unit with --unit" in sentence


def test_one_day_in_kelvin_is_enough() -> None:
    table = bright(river(1))
    (sentence,) = said(series(table.assign(tmin=table["tmin"] + 273.15)))
    assert "column tmin" in sentence
    assert "kelvin" in sentence


def test_swapped_columns() -> None:
    data = series(river(700, seed=3))
    rain, tmax = data["rain"].to_numpy(), data["tmax"].to_numpy()
    swapped = data.assign(rain=data["rain"].copy(data=tmax), tmax=data["tmax"].copy(data=rain))
    (sentence,) = said(swapped)
    assert "column rain: it looks like tmax of the training data, and tmax like rain" in sentence


def test_values_that_training_never_saw() -> None:
    data = series(river(20))
    data["srad"] = data["srad"] + 1000
    (sentence,) = said(data)
    assert "none of its values lies between" in sentence
    assert said(data, {}) == []


def test_attributes_out_of_range() -> None:
    (sentence,) = said(series(river(100), elevation=3.0))
    assert "site A, column elevation: 3 is outside the 300 to 500 of the training sites" in sentence
    assert said(series(river(100), elevation=295.0)) == []


def test_the_ratio_of_training() -> None:
    table = {"a": Moment(3.0, 1.0), "b": Moment(1.0, 1.0), "q": Moment(2.0, 1.0), "none": Moment(0.0, 1.0)}
    assert trained_ratio(["a", "b"], ["q"], table) == 0.5
    assert trained_ratio(["none"], ["q"], table) is None
