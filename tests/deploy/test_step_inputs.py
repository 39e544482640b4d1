"""The inputs of single steps are those that `predict` makes of a file, bit for bit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mclstm.deploy.stepper import Stepper
from mclstm.errors import DataError
from support.opened_model import opened

MODEL = {"name": "mclstm", "hidden_size": 3}
KELVIN = {"rain": "mm/day", "flow": "mm/day", "tmax": "K", "tmin": "K"}
FEATURES: dict[str, tuple[str, dict[str, Any]]] = {
    "season by the hour": ("h", {"day_of_year": True}),
    "clock": ("7min", {"time_of_day": 3, "time_of_week": 2, "weekend": True}),
    "everything by the day": (
        "D", {"day_of_year": True, "time_of_week": 1, "weekend": True, "pet": {"latitude": "north"}},
    ),
    "kelvin and a latitude": ("D", {"units": KELVIN, "pet": {"latitude": 51.2}, "warmer": 273.15}),
    "latitude seen": ("D", {"static": ["height", "north"], "pet": {"latitude": "north"}}),
    "vapour pressure": (
        "D",
        {"aux": ["tmax", "tmin", "vp"], "vapour_pressure": {"tmin": "tmin"}, "convert": {"vp": "hPa"}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FEATURES)
def test_inputs_equal_those_of_a_file(name: str, tmp_path: Path) -> None:
    step, features = FEATURES[name]
    case = opened(tmp_path, MODEL, steps=400, step=step, **features)
    x, a, static = case.tensors()
    inputs = case.stepper().inputs
    assert torch.equal(inputs.static, static)
    for at, time in enumerate(case.series["time"].to_numpy()):
        one = inputs.tensors(case.inputs(at), time)
        assert torch.equal(one[0][0], x[at])
        assert torch.equal(one[1][0], a[at])


def test_numbers_sites_and_realisations_broadcast(tmp_path: Path) -> None:
    case = opened(tmp_path, MODEL, steps=5)
    inputs = case.stepper(realisations=2).inputs
    rows = {"rain": np.arange(6.0).reshape(2, 3), "tmax": 20.0, "tmin": [1.0, 2.0, 3.0]}
    x, a = inputs.tensors(rows, np.datetime64("2001-01-01"))
    assert x.shape == (1, 6, 1)
    assert x.flatten().tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert torch.equal(a[0, :3], a[0, 3:])
    assert torch.equal(inputs.static[:3], inputs.static[3:])


def test_a_latitude_beyond_the_poles(tmp_path: Path) -> None:
    case = opened(tmp_path, MODEL, steps=40, step="D", pet={"latitude": "north"})
    with pytest.raises(DataError, match="is no latitude at every site"):
        Stepper(case.model, case.sites, case.attributes | {"north": [1.0, 2.0, 91.0]})
