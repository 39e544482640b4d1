"""`Stepper`: single steps give the bits of one call, through saved states and corrections alike."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import mclstm
from mclstm.cli.main import main
from mclstm.deploy.predict import predict
from mclstm.deploy.stepper import Stepper
from mclstm.deploy.trained_model import open_model
from mclstm.errors import CheckpointError, ConfigError, DataError
from support.layouts import STATIC, Frames, as_csv
from support.opened_model import Opened, opened
from support.small_run import trained

MODELS: dict[str, dict[str, Any]] = {
    "mclstm": {"name": "mclstm", "hidden_size": 8},
    "one matrix": {"name": "mclstm", "hidden_size": 4, "redistribution": "static", "gates_see": ["aux"]},
    "memory": {"name": "mclstm", "hidden_size": 5, "aux_memory": 6, "initial_state": "learned"},
    "hybrid": {"name": "hybrid", "hidden_size": 6, "memory_size": 16, "memory_outputs": 8},
    "outlets": {"name": "mclstm", "hidden_size": 5, "head": "mcfc", "gates_see": ["aux", "state", "mass"]},
    "lstm": {"name": "lstm", "hidden_size": 16},
}


def run(stepper: Stepper, case: Opened, first: int, after: int) -> np.ndarray:
    """The predictions (steps, sites, targets) of a single member."""
    time = pd.Timestamp(case.series["time"].to_numpy()[first])
    found = []
    for step in range(first, after):
        found.append(stepper.step(case.inputs(step), time if step == first else None).values[0, 0])
    return np.stack(found)


def assert_same_state(stepper: Stepper, state: dict[str, torch.Tensor]) -> None:
    (own,) = stepper.states.values()
    assert all(torch.equal(own[name], state[name]) for name in state)


@pytest.mark.parametrize("sites", [1, 3])
@pytest.mark.parametrize("name", MODELS)
def test_steps_equal_one_call(name: str, sites: int, tmp_path: Path) -> None:
    case = opened(tmp_path, MODELS[name], sites=sites, steps=200, day_of_year=True)
    stepper, whole = case.stepper(), case.whole()
    found = run(stepper, case, 0, 200)
    assert np.array_equal(found, np.maximum(whole.y[..., :1].numpy(), 0.0))
    assert_same_state(stepper, whole.state)


@pytest.mark.parametrize("backend", ["reference", "torch", "native"])
def test_steps_equal_one_call_on_every_backend(backend: str, tmp_path: Path) -> None:
    case = opened(tmp_path, {"name": "mclstm", "hidden_size": 5, "backend": backend}, steps=150)
    stepper, whole = case.stepper(), case.whole()
    assert np.array_equal(run(stepper, case, 0, 150), whole.y[..., :1].numpy())
    assert_same_state(stepper, whole.state)


def test_ten_thousand_steps_saved_and_loaded_at_a_hundred(tmp_path: Path) -> None:
    """Every time another stepper goes on from the file."""
    case = opened(tmp_path, MODELS["mclstm"], sites=2, steps=10_000)
    source, file = np.random.default_rng(1), tmp_path / "state.safetensors"
    cuts = [0, *sorted(source.choice(np.arange(1, 10_000), 100, replace=False).tolist()), 10_000]
    stepper, parts = case.stepper(), []
    for first, after in pairwise(cuts):
        if first:
            stepper.save(file)
            stepper = case.stepper()
            stepper.load(file)
        parts.append(run(stepper, case, first, after))
    whole = case.whole()
    assert np.array_equal(np.concatenate(parts), whole.y[..., :1].numpy())
    assert_same_state(stepper, whole.state)


def test_the_ledger_closes_with_its_corrections(tmp_path: Path) -> None:
    """One step in a hundred is corrected, in turns by each kind; a model that stores for long."""
    case = opened(tmp_path, MODELS["mclstm"], steps=10_000)
    stepper, source = case.stepper(realisations=10), np.random.default_rng(2)
    inflow = np.zeros((10, 3))
    for step in range(10_000):
        inputs = case.inputs(step)
        rain = inputs["rain"] * source.random((10, 3))
        stepper.step({**inputs, "rain": rain}, "2001-01-01" if step == 0 else None)
        before, kind = stepper.stores, step // 100 % 4
        if step % 100 == 50:
            if kind == 0:
                stepper.insert([30.0, np.nan, 0.0])
            elif kind == 1:
                stepper.insert(2.0, cells=[1, 4])
            else:
                what = ("flow", "storage")[kind - 2]
                stepper.assimilate(what, [0.5, np.nan, 5.0], error=0.1)
            if kind != 1:  # nothing was observed at the second site
                assert np.array_equal(stepper.stores[..., 1, :], before[..., 1, :])
            assert not np.array_equal(stepper.stores, before)
        inflow += rain.astype(np.float32)
        assert (stepper.stores >= 0).all()
    books = stepper.ledger
    assert books is not None
    assert np.abs(books.corrected).sum() > 1
    np.testing.assert_allclose(books.inflow[0], inflow, rtol=1e-12)
    assert (np.abs(books.residual) <= books.promised(8, torch.float32)).all()
    # Far below the promise, because every step gives back what its rounding lost.
    assert (np.abs(books.residual) <= torch.finfo(torch.float32).eps * books.turnover).all()
    # Without the corrections the ledger would not close: they are a part of it.
    assert (np.abs(books.residual + books.corrected) > books.promised(8, torch.float32)).any()


def test_float64_closes_to_1e_13(tmp_path: Path) -> None:
    case = opened(tmp_path, MODELS["hybrid"], steps=300)
    stepper = case.stepper(dtype=torch.float64)
    run(stepper, case, 0, 300)
    assert stepper.ledger is not None
    assert (np.abs(stepper.ledger.residual) <= 1e-13 * stepper.ledger.turnover).all()
    stepper.save(tmp_path / "wide.safetensors")
    with pytest.raises(CheckpointError, match=r"float64 .* instead of torch.float32"):
        case.stepper().load(tmp_path / "wide.safetensors")
    other = case.stepper(dtype=torch.float64)
    other.load(tmp_path / "wide.safetensors")
    assert np.array_equal(other.stores, stepper.stores)


def test_a_pack_step_by_step_is_what_predict_gives(
    pack: Path, data: Path, tables: Frames, tmp_path: Path
) -> None:
    """Two members, two sites, attributes; states are exchanged with `predict` in both directions."""
    static = pd.read_csv(data / "attributes.csv", dtype={"gauge_id": str}).set_index("gauge_id")
    sites = list(static.index)
    whole = predict(pack, str(data))["simulated"].to_numpy()
    halves = [
        as_csv(tmp_path / name, {site: table[part] for site, table in tables.items()})
        for name, part in (("a", slice(0, 100)), ("b", slice(100, None)))
    ]
    predict(pack, str(halves[0]), None, tmp_path / "state")
    stepper = mclstm.Stepper(pack, sites, {name: static[name].to_numpy() for name in STATIC})
    stepper.load(tmp_path / "state")
    columns = open_model(pack).config.data
    for step in range(100, 150):
        rows = {
            name: [tables[site][name].iloc[step] for site in sites] for name in (*columns.mass, *columns.aux)
        }
        assert np.array_equal(stepper.step(rows).mean[:, 0], whole[:, step])
    stepper.save(tmp_path / "later")
    rest = as_csv(tmp_path / "c", {site: table[150:] for site, table in tables.items()})
    assert np.array_equal(predict(pack, str(rest), tmp_path / "later")["simulated"], whole[:, 150:])


def test_a_fork_goes_on_by_itself(tmp_path: Path) -> None:
    case = opened(tmp_path, MODELS["mclstm"], steps=30)
    stepper = case.stepper()
    run(stepper, case, 0, 10)
    forecast, before = stepper.fork(), stepper.stores
    run(forecast, case, 10, 20)
    forecast.insert(7.0)
    assert np.array_equal(stepper.stores, before)
    assert stepper.ledger is not None
    assert stepper.ledger.steps == 10
    assert not stepper.ledger.corrected.any()
    assert np.array_equal(run(stepper, case, 10, 30), case.whole().y[10:, :, :1].numpy())


def test_realisations_are_kept_in_one_file(tmp_path: Path) -> None:
    case = opened(tmp_path, MODELS["mclstm"], steps=5)
    stepper = case.stepper(realisations=2)
    inputs = case.inputs(0)
    both = np.stack([inputs["rain"] + 1, inputs["rain"] + 2])
    stepper.step({**inputs, "rain": both}, "2001-01-01")
    assert (stepper.stores[0, 0].sum(-1) < stepper.stores[0, 1].sum(-1)).all()
    stepper.save(tmp_path / "state")
    other = case.stepper(realisations=2)
    other.load(tmp_path / "state")
    assert np.array_equal(other.stores, stepper.stores)
    with pytest.raises(DataError, match="holds no state of site 'site 0'"):
        case.stepper().load(tmp_path / "state")


MISTAKES: dict[str, tuple[str, dict[str, Any]]] = {
    "no time": ("The time of this step is not known", {"time": None}),
    "no rain": ("needs the mass input 'rain' in mm/h", {"rain": ...}),
    "snow": ("no column 'snow' among its inputs. It has 'rain'", {"snow": 1.0}),
    "negative": ("rain is -1 at site 'site 1'", {"rain": [0.0, -1.0, 0.0]}),
    "gap": ("tmax is missing or infinite at site 'site 2'", {"tmax": [0.0, 0.0, np.nan]}),
    "four sites": ("tmin is no number and no array", {"tmin": [0.0, 0.0, 0.0, 0.0]}),
    "text": ("tmin is no number and no array", {"tmin": "warm"}),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_change_nothing(name: str, tmp_path: Path) -> None:
    case = opened(tmp_path, MODELS["mclstm"], steps=5)
    stepper, (message, change) = case.stepper(), MISTAKES[name]
    time = change.pop("time", "2001-01-01") if "time" in change else "2001-01-01"
    inputs = {name: value for name, value in (case.inputs(0) | change).items() if value is not ...}
    with pytest.raises(DataError, match=message):
        stepper.step(inputs, time)
    assert stepper.ledger is not None
    assert stepper.ledger.steps == 0
    assert stepper.time is None


def test_a_step_follows_the_last_one(tmp_path: Path) -> None:
    case = opened(tmp_path, MODELS["mclstm"], steps=5)
    stepper = case.stepper()
    stepper.step(case.inputs(0), "2001-01-01 05:00")
    for wrong in ("2001-01-01 05:00", "2001-01-01 07:00"):
        with pytest.raises(DataError, match="Give 2001-01-01 06:00:00"):
            stepper.step(case.inputs(1), wrong)
    assert stepper.step(case.inputs(1), "2001-01-01 06:00").time == pd.Timestamp("2001-01-01 06:00")


def test_what_a_stepper_refuses(tmp_path: Path) -> None:
    case = opened(tmp_path, MODELS["lstm"], steps=5)
    with pytest.raises(ConfigError, match="has no stores"):
        case.stepper().insert(1.0)
    with pytest.raises(DataError, match="needs the attribute 'height', of no stated unit"):
        Stepper(case.model, case.sites)
    with pytest.raises(ConfigError, match="each named once"):
        Stepper(case.model, ["A", "A", "B"], case.attributes)
    case = opened(tmp_path, MODELS["mclstm"], steps=20, antecedent=[3])
    with pytest.raises(ConfigError, match="sees means of earlier steps"):
        case.stepper()
    case = opened(tmp_path, MODELS["mclstm"], steps=5)
    stepper = case.stepper()
    for message, call in {
        "needs an ensemble": lambda: stepper.assimilate("flow", 1.0, 0.1),
        "one amount for each site, 3 here": lambda: stepper.insert([1.0, 2.0]),
        "negative or infinite": lambda: stepper.insert(-1.0),
        "cells is .*Choose some of the cells 0 to 7": lambda: stepper.insert(1.0, cells=[8]),
        "finite numbers of torch.float32, of shape": lambda: stepper.insert(1e300),
        "A store cannot hold -1": lambda: stepper.set_stores(stepper.stores - 1.0),
        "No step has predicted flow": lambda: case.stepper(realisations=2).assimilate("flow", 1.0, 0.1),
        "'snow' is not predicted. Choose 'flow', 'storage'": lambda: case.stepper(realisations=2).assimilate(
            "snow", 1.0, 0.1
        ),
    }.items():
        with pytest.raises((ConfigError, DataError), match=message):
            call()


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "operation.md").read_text()
    run_folder = trained(tmp_path / "run", {"name": "mclstm", "hidden_size": 3}, updates=1)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    assert main(["export", str(run_folder), "--out", "EXPORT"]) == 0
    for block in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL):
        exec(block.replace('"RUN"', repr(str(run_folder))), names)
    assert len(names["week"]) == 7
    assert names["stepper"].ledger.corrected.any()
    two = mclstm.Stepper(run_folder, dtype=torch.float32)
    two.step({"rain": 3.0, "temperature": 11.5}, time="2026-01-01")
    np.testing.assert_allclose(
        names["results"]["prediction"], two.step({"rain": 0.0, "temperature": 12.0}).mean, rtol=1e-5
    )
