"""The Basic Model Interface: bmi-tester, NextGen's mass balance, stores, states, many sites."""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from mclstm.deploy.bmi import BmiMCLSTM
from mclstm.deploy.bmi_config import read_bmi_config
from mclstm.deploy.predict import predict
from mclstm.errors import CheckpointError, ConfigError, DataError
from support.layouts import STATIC, Frames, as_csv
from support.small_run import trained

ROOT = Path(__file__).parents[2]
RAIN = "atmosphere_water__liquid_equivalent_precipitation_rate"
FLOW = "land_surface_water__runoff_volume_flux"
STORED = "land_water__depth"
INSIDE = {RAIN: "prcp", "land_surface_radiation~incoming~shortwave__energy_flux": "srad"}
INSIDE |= {f"land_surface_air__time_{word}_of_temperature": f"t{word}" for word in ("max", "min")}
INSIDE |= {"land_surface_air_water~vapor__partial_pressure": "vp"}
MASSES = [f"ngen::mass_{word}" for word in ("in", "out", "stored", "leaked")]


@pytest.fixture
def write(pack: Path, data: Path, tmp_path: Path) -> Any:
    """A file for `initialize`, with the attributes of the two brooks."""
    static = pd.read_csv(data / "attributes.csv", dtype={"gauge_id": str}).set_index("gauge_id")

    def written(**changes: Any) -> str:
        sites = changes.get("sites", list(static.index))
        attributes = {name: static.loc[sites, name].tolist() for name in STATIC}
        raw = {"model": str(pack), "start": "2001-01-01", "sites": sites, "attributes": attributes} | changes
        (tmp_path / "bmi.yaml").write_text(yaml.safe_dump(raw))
        return str(tmp_path / "bmi.yaml")

    return written


def opened(file: str) -> BmiMCLSTM:
    model = BmiMCLSTM()
    model.initialize(file)
    return model


def put(model: BmiMCLSTM, tables: Frames, step: int) -> None:
    for name, column in INSIDE.items():
        model.set_value(name, np.array([table[column].iloc[step] for table in tables.values()]))


def balance(model: BmiMCLSTM) -> tuple[float, float, float, float]:
    masses = [np.empty(1) for _ in MASSES]
    return tuple(float(model.get_value(name, value)[0]) for name, value in zip(MASSES, masses, strict=True))  # type: ignore[return-value]


def test_bmi_tester_passes(write: Any) -> None:
    file = Path(write(longitude=[10.0, 11.0], latitude=[50.0, 51.0]))
    line = [sys.executable, "-m", "bmi_tester", "mclstm.deploy.bmi:BmiMCLSTM", "--root-dir", "."]
    line += ["--config-file", file.name]
    shown = subprocess.run(line, cwd=file.parent, capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "All tests passed" in shown.stderr


def test_masses_close_over_ten_thousand_steps(write: Any, runs: list[Path]) -> None:
    """The balance that NextGen computes is 0, and what leaked is rounding."""
    model, source = opened(write(model=str(runs[0]))), np.random.default_rng(0)
    given = 0.0
    for step in range(10_000):
        rain = source.gamma(0.5, 6.0, 2) * (source.random(2) < 0.5)
        model.set_value(RAIN, rain)
        model.update()
        given += rain.sum()
        if step % 100 == 99:  # the last step among them
            come, gone, stored, leaked = balance(model)
            assert come - gone - stored - leaked == 0.0
            assert abs(leaked) <= 1e-12 * come
    come, gone, stored, leaked = balance(model)
    assert come == pytest.approx(given, rel=1e-12)
    assert stored == pytest.approx(model.get_value_ptr(STORED).sum(), rel=1e-12)
    assert gone > 0.5 * come
    assert {model.get_var_units(name) for name in MASSES} == {"mm"}


def test_float32_gives_what_predict_gives(write: Any, pack: Path, data: Path, tables: Frames) -> None:
    model, whole = opened(write(precision="float32")), predict(pack, str(data))["simulated"].to_numpy()
    for step in range(40):
        put(model, tables, step)
        model.update()
        assert np.array_equal(model.get_value_ptr(FLOW), whole[:, step])
    assert model.get_current_time() == 40 * 86_400.0


def test_it_goes_on_from_a_state_of_predict(
    write: Any, pack: Path, data: Path, tables: Frames, tmp_path: Path
) -> None:
    whole = predict(pack, str(data))["simulated"].to_numpy()
    first = as_csv(tmp_path / "first", {site: table[:100] for site, table in tables.items()})
    predict(pack, str(first), None, tmp_path / "state.safetensors")
    file = write(precision="float32", state="state.safetensors", start="2001-04-11")
    model = opened(file)
    assert model.get_value_ptr(STORED).min() > 0
    put(model, tables, 100)
    model.update()
    assert np.array_equal(model.get_value_ptr(FLOW), whole[:, 100])
    with pytest.raises(
        DataError, match="is of 2001-04-10 00:00:00, but the step before the start is 2001-04-11"
    ):
        opened(write(precision="float32", state="state.safetensors", start="2001-04-12"))


def test_stores_are_read_set_and_booked(write: Any) -> None:
    model = opened(write(sites=["01013500"]))
    assert (model.get_grid_type(0), model.get_grid_rank(0), model.get_grid_size(0)) == ("scalar", 0, 1)
    cells = model.get_value("mclstm::stores", np.empty(6))  # two members of three cells
    assert not cells.any()
    model.set_value("mclstm::stores", np.arange(6.0))
    assert model.get_value_ptr("mclstm::stores").tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    model.set_value_at_indices("mclstm::stores", np.array([0]), np.array([4.0]))
    assert model.get_value_at_indices("mclstm::stores", np.empty(2), np.array([0, 5])).tolist() == [4.0, 5.0]
    come, gone, stored, leaked = balance(model)
    assert (come, gone, stored, leaked) == (9.5, 0.0, 9.5, 0.0)
    assert model.get_value_ptr(STORED).tolist() == [9.5]
    model.update()
    come, gone, stored, leaked = balance(model)
    assert come == 9.5
    assert gone > 0
    assert come - gone - stored - leaked == 0.0
    with pytest.raises(DataError, match="A store cannot hold -1"):
        model.set_value("mclstm::stores", np.arange(6.0) - 1)


def test_update_until_and_pointers(write: Any) -> None:
    model = opened(write(steps=30))
    flow, rain = model.get_value_ptr(FLOW), model.get_value_ptr(RAIN)
    rain[:] = 5.0
    model.update_until(10 * 86_400.0)
    assert model.get_current_time() == 864_000.0
    assert (flow > 0).all()
    assert (model.get_start_time(), model.get_end_time(), model.get_time_step()) == (
        0.0,
        30 * 86_400.0,
        86_400.0,
    )
    for time in (86_400.0, 864_000.5):
        with pytest.raises(DataError, match="no whole number of steps"):
            model.update_until(time)
    model.finalize()


def test_the_state_as_bytes(write: Any, tables: Frames) -> None:
    """The sequence of NextGen's protocol, and a restore into a model that made no step."""
    file = write(serialization=True)
    model, other = opened(file), opened(file)
    for step in range(12):
        put(model, tables, step)
        model.update()
    name = "ngen::serialization_state"
    assert model.get_value("ngen::serialization_size", np.empty(1, dtype=np.int64))[0] == 0
    model.set_value("ngen::serialization_create", np.ones(1, dtype=np.int32))
    size = model.get_value("ngen::serialization_size", np.empty(1, dtype=np.int64))[0]
    assert size == model.get_var_nbytes(name) == other.get_var_nbytes(name)
    payload = model.get_value(name, np.empty(size, dtype=np.uint8))
    put(model, tables, 12)
    model.update()
    assert np.array_equal(model.get_value(name, np.empty(size, dtype=np.uint8)), payload)
    model.set_value("ngen::serialization_free", np.ones(1, dtype=np.int32))
    assert model.get_value_ptr("ngen::serialization_size").tolist() == [0]
    other.set_value(name, payload)
    assert other.get_current_time() == 12 * 86_400.0
    put(other, tables, 12)
    other.update()
    for mine in (FLOW, STORED, "mclstm::stores"):
        assert np.array_equal(other.get_value_ptr(mine), model.get_value_ptr(mine))
    damaged = payload.copy()
    damaged[size // 2] ^= 1
    with pytest.raises(CheckpointError):
        other.set_value(name, damaged)
    assert [model.get_var_units(f"ngen::serialization_{word}") for word in ("create", "size", "state")] == [
        "ngen::trigger", "bytes", "ngen::opaque",
    ]  # fmt: skip
    with pytest.raises(DataError, match="no place on the grid"):
        model.get_var_grid(name)


def test_without_the_flag_there_is_no_serialization(write: Any) -> None:
    with pytest.raises(DataError, match="There is no variable 'ngen::serialization_create'"):
        opened(write()).get_var_units("ngen::serialization_create")


def test_a_model_without_stores_has_no_masses(tmp_path: Path) -> None:
    run = trained(tmp_path / "run", {"name": "lstm", "hidden_size": 3}, updates=1)
    (tmp_path / "bmi.yaml").write_text(yaml.safe_dump({"model": str(run), "start": "2001-01-01"}))
    model = opened(str(tmp_path / "bmi.yaml"))
    model.update()
    assert model.get_output_var_names() == (FLOW,)
    with pytest.raises(DataError, match="There is no variable 'ngen::mass_in'"):
        model.get_value_ptr("ngen::mass_in")


MISTAKES = {
    "unknown key": ({"modell": "x"}, "Did you mean 'model'?"),
    "no start": ({"start": "soon"}, "start: needs a date"),
    "no model": ({"model": "nowhere"}, "nowhere"),
    "attribute": ({"attributes": {"elev_mean": 3.0}}, "needs the attribute 'p_mean' in mm/day"),
    "longitude": ({"longitude": [1.0]}, "longitude: needs one number for each of 2 sites"),
    "one name twice": ({"names": {"tmax": "air", "tmin": "air"}}, "the same name outside"),
    "in and out": ({"names": {"discharge": RAIN}}, "An input and an output are called"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_in_the_file(name: str, write: Any) -> None:
    changes, message = MISTAKES[name]
    with pytest.raises((ConfigError, DataError, CheckpointError)) as error:
        opened(write(**changes))
    assert message in str(error.value)
    assert len(str(error.value).splitlines()) <= 5


def test_outputs_cannot_be_set(write: Any) -> None:
    with pytest.raises(DataError, match="is computed by the model and cannot be set"):
        opened(write()).set_value(FLOW, np.zeros(2))


def test_the_example_for_nextgen_fits_the_class_and_its_file() -> None:
    example = json.loads((ROOT / "examples/ngen/realization.json").read_text())
    (formulation,) = example["global"]["formulations"]
    module, _, name = formulation["params"]["python_type"].rpartition(".")
    assert getattr(import_module(module), name) is BmiMCLSTM
    config = read_bmi_config(ROOT / formulation["params"]["init_config"].replace("{{id}}", "cat-67"))
    assert formulation["params"]["main_output_variable"] in config.names.values()
    assert pd.Timestamp(config.start) == pd.Timestamp(example["time"]["start_time"])
    page = (ROOT / "docs" / "operation.md").read_text()
    for file in ("realization.json", "cat-67.yaml"):
        assert (ROOT / "examples/ngen" / file).read_text() in page
