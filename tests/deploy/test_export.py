"""Exported files compute what the model computes, close their mass, and hold no code to run."""

import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch

from mclstm.cli.main import main
from mclstm.deploy import export_parity
from mclstm.deploy.export import Exported, export_model
from mclstm.deploy.export_parity import difference, random_values, require_parity, simulated
from mclstm.deploy.running_ledger import RunningLedger
from mclstm.deploy.stepper import Stepper
from mclstm.errors import ConfigError
from support.opened_model import Opened, opened

K = 4
MASK = [
    [True, False, True, True],
    [True, True, False, True],
    [True, True, True, True],
    [False, True, True, True],
]
# Every option of a model that changes its step. Forms of one group are members of one exported model: they
# have states of the same shapes.
GROUPS: dict[str, list[dict[str, Any]]] = {
    "layers": [
        {"initial_state": "learned", "redistribution_norm": "relu", "trash_budget": 0.3, "head": "mcfc",
         "input_scaling": True, "gates_see": ["aux"]},
        {"redistribution": "static", "redistribution_norm": "sigmoid", "input_norm": "sigmoid", "mask": MASK,
         "head": "linear", "evapotranspiration": True},
        {"redistribution": "outer", "redistribution_norm": "relu", "input_norm": "relu", "head": "mcfc",
         "head_gate": True, "gates_see": ["aux", "state", "mass"]},
        {"redistribution": "identity", "outlet": "constant", "head": "scaled", "state_norm": "none",
         "initial_state": 5.0},
    ],
    "signed": [
        {"allow_negative_mass": True, "trash_cell": False,
         "not_conserving": ["input", "redistribution", "output"]},
    ],
    "memories": [
        {"name": "hybrid", "memory_size": 6, "memory_outputs": 3, "guided": {"tmin": 1}},
        {"aux_memory": 6, "guided": {"tmin": 2}},
    ],
    "lstm": [{"name": "lstm", "balance_penalty": 0.1}],
}  # fmt: skip
DATA: dict[str, dict[str, Any]] = {
    "memories": {"aux": ["tmax"], "target": ["flow", "tmin"], "static": [], "day_of_year": True},
    "signed": {"aux": ["tmax"]},
}


def joined(folder: Path, group: str) -> Opened:
    """A model whose members are the forms of a group."""
    forms = [{"name": "mclstm", "hidden_size": K} | form for form in GROUPS[group]]
    cases = [opened(folder, form, sites=2, steps=40, **DATA.get(group, {})) for form in forms]
    members = {f"member-{at}": case.model.members[""] for at, case in enumerate(cases)}
    return cases[0]._replace(model=replace(cases[0].model, members=members))


@pytest.fixture(scope="module", params=GROUPS)
def exported(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Opened, Exported]:
    group: str = request.param
    folder = tmp_path_factory.mktemp(group)
    case = joined(folder, group)
    return group, case, export_model(case.model, group, folder / "out", torch.float32)


def session(folder: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(folder / "step.onnx"), options)


def step(run: onnxruntime.InferenceSession, values: dict[str, Any]) -> dict[str, np.ndarray]:
    names = [output.name for output in run.get_outputs()]
    return dict(zip(names, run.run(None, values), strict=True))


def test_files_equal_the_model_on_300_random_inputs(exported: tuple[str, Opened, Exported]) -> None:
    """Other inputs than `export` checked, read from the files; a quarter has neither mass nor state."""
    group, case, files = exported
    values = random_values(case.model, torch.float32, 30, 10, np.random.default_rng(7))
    assert not values["mass"][:, ::2].any()
    assert not values["cells"][:, :2].any()
    loaded = torch.export.load(str(files.folder / "sequence.pt2")).module()
    whole = loaded(values={name: torch.from_numpy(value.copy()) for name, value in values.items()})
    wanted = simulated(case.model, values, torch.float32)
    assert difference({name: value.numpy() for name, value in whole.items()}, wanted) < 5e-6
    run, states = session(files.folder), {name: values[name] for name in wanted if name in values}
    for at in range(30):
        timed = {name: values[name][at] for name in ("mass", "aux")}
        fixed = {"static": values["static"]} if "static" in values else {}
        results = step(run, {**timed, **fixed, **states})
        states = {name: results[f"{name}_after"] for name in states}
        assert (
            difference({"prediction": results["prediction"]}, {"prediction": wanted["prediction"][at]}) < 5e-6
        )
        if group != "lstm":
            empty = ~(values["cells"].any((0, 2)) | values["mass"].any((0, 2)))
            assert empty.any()
            assert not results["outflow"][:, empty].any()
    assert difference(states, {name: wanted[name] for name in states}) < 5e-6
    assert max(files.step, files.sequence) < 5e-6


def test_no_pickle_is_written(exported: tuple[str, Opened, Exported]) -> None:
    with zipfile.ZipFile(exported[2].folder / "sequence.pt2") as archive:
        for entry in archive.infolist():
            content = archive.read(entry)
            # The first two bytes of a pickle are its mark and its protocol, its last one is a stop.
            assert content[:1] != b"\x80" or content[1] > 5 or content[-1:] != b".", entry.filename
            assert content[:2] != b"PK", entry.filename


@pytest.mark.parametrize("exported", ["memories"], indirect=True)
def test_ten_years_of_onnx_steps_close_their_mass(exported: tuple[str, Opened, Exported]) -> None:
    _, case, files = exported
    about, run = json.loads((files.folder / "export.json").read_text()), session(files.folder)
    source = np.random.default_rng(3)
    states = {name: np.array(value, np.float32)[:, np.newaxis] for name, value in about["initial"].items()}
    ledger = RunningLedger.begun(states["cells"].astype(np.float64).sum(-1))
    mean, std = case.model.moments["tmax"]
    for day in range(3653):
        season = 2 * np.pi * (day + 1) / 365.25
        rain = source.gamma(0.5, 8.0, (1, 1)) * (source.random() < 0.3)
        aux = np.array([[mean + std * source.standard_normal(), np.sin(season), np.cos(season)]])
        results = step(run, {"mass": rain, "aux": aux, **states})
        states = {name: results[f"{name}_after"] for name in states}
        inflow, outflow = (results[name].astype(np.float64).sum(-1) for name in ("entered", "outflow"))
        ledger.step(inflow, outflow, states["cells"].astype(np.float64).sum(-1))
    assert (np.abs(ledger.residual) <= ledger.promised(K, torch.float32)).all()
    # Far below the promise, because every step gives back what its rounding lost.
    assert (np.abs(ledger.residual) <= 1e-6 * ledger.turnover).all()
    assert (ledger.outflow > 0.5 * ledger.turnover).all()


def test_the_step_is_that_of_the_stepper_and_the_file_tells_how(
    exported: tuple[str, Opened, Exported],
) -> None:
    """Columns in the order of export.json, in their units, with season computed as it says."""
    _, case, files = exported
    about, run = json.loads((files.folder / "export.json").read_text()), session(files.folder)
    stepper = case.stepper()
    states = {
        name: np.repeat(np.array(value, np.float32)[:, np.newaxis], 2, 1)
        for name, value in about["initial"].items()
    }
    for at in range(3):
        angle = 2 * np.pi * (1 + at / 24) / 365.25  # hours of the first of January
        inputs = case.inputs(at) | {
            "season_sine": np.full(2, np.sin(angle)),
            "season_cosine": np.full(2, np.cos(angle)),
        }
        inputs |= {name: np.array(value) for name, value in case.attributes.items()}
        columns = {
            role: np.stack([inputs[column["name"]] for column in parts], -1)
            for role, parts in about["inputs"].items()
        }
        results = step(run, {**columns, **states})
        states = {name: results[f"{name}_after"] for name in states}
        known = {name: inputs[name] for name in case.columns}
        expected = stepper.step(known, "2001-01-01" if at == 0 else None)
        np.testing.assert_allclose(results["members"], expected.values[:, 0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(results["prediction"], expected.mean, rtol=1e-5, atol=1e-6)
    assert [column["name"] for column in about["outputs"]["prediction"]] == case.model.config.data.target
    assert about["inputs"]["mass"] == [{"name": "rain", "unit": "mm/h"}]


def test_a_program_that_differs_or_loses_mass_is_refused(tmp_path: Path) -> None:
    case = opened(tmp_path, {"name": "mclstm", "hidden_size": K}, sites=2, steps=40)

    def wrong(values: Any) -> Any:
        results = simulated(case.model, values, torch.float32)
        return results | {"prediction": results["prediction"] * 1.001}

    def leaking(values: Any) -> Any:
        results = simulated(case.model, values, torch.float32)
        return results | {"outflow": results["outflow"] + 1e-30}

    with pytest.raises(
        ConfigError, match=r"The step differs from the model by 1.0e-03 .* nothing was written"
    ):
        require_parity(case.model, torch.float32, wrong, "The step", 1, 20)
    with pytest.raises(ConfigError, match=r"The step loses .* of mass"):
        require_parity(case.model, torch.float32, leaking, "The step", 1, 20)


def test_nothing_is_written_where_parity_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_parity, "MOST", 0.0)
    case = opened(tmp_path, {"name": "lstm", "hidden_size": 3}, sites=2, steps=40)
    with pytest.raises(ConfigError, match="The ONNX step differs from the model"):
        export_model(case.model, "the model", tmp_path / "out", torch.float32)
    assert not list(tmp_path.glob("*out*"))


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "batch": ({"state_norm": "batch"}, {}, r"the model has model.state_norm: batch, .* cannot be exported"),
    "means": ({}, {"antecedent": [3]}, r"the model sees means of earlier steps .* cannot be exported"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_forms_that_cannot_be_exported(name: str, tmp_path: Path) -> None:
    form, data, message = REFUSED[name]
    case = opened(tmp_path, {"name": "mclstm", "hidden_size": K} | form, sites=2, steps=40, **data)
    with pytest.raises(ConfigError, match=message):
        export_model(case.model, "the model", tmp_path / "out", torch.float32)
    assert not (tmp_path / "out").exists()


def test_the_command(runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A trained run from its folder; refusals have one sentence and exit code 2."""
    out = tmp_path / "files"
    assert main(["export", str(runs[0]), "--out", str(out), "--precision", "float64"]) == 0
    assert "one step, within" in capsys.readouterr().out
    assert {file.name for file in out.iterdir()} == {"step.onnx", "sequence.pt2", "export.json"}
    assert json.loads((out / "export.json").read_text())["precision"] == "float64"
    assert main(["export", str(runs[0]), "--out", str(out)]) == 2
    assert main(["export", str(runs[0]), "--out", str(tmp_path / "o"), "--precision", "half"]) == 2
    assert "--precision half: there are float32 and float64. Choose one." in capsys.readouterr().err


def test_a_missing_extra_is_named_in_one_sentence(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert main(["export", str(runs[0]), "--out", str(tmp_path / "o")]) == 2
    shown = capsys.readouterr().err
    assert shown == (
        'mclstm export: the package onnxruntime is missing. Install it with: pip install "mclstm[export]"\n'
    )


def test_nothing_of_it_is_imported_without_a_call() -> None:
    code = (
        "import sys, mclstm.deploy.export, mclstm.deploy.predict, mclstm.cli.export; "
        "print([name for name in sys.modules if name.startswith('onnx')])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


PROGRAM = Path(__file__).parents[2] / "examples" / "onnx" / "step.mjs"


@pytest.mark.skipif(
    not (PROGRAM.parent / "node_modules").exists() and os.environ.get("MCLSTM_NODE") != "required",
    reason="npm install --prefix examples/onnx onnxruntime-node",
)
@pytest.mark.parametrize("exported", ["layers"], indirect=True)
def test_the_program_in_javascript(exported: tuple[str, Opened, Exported]) -> None:
    _, case, files = exported
    rows = {name: case.columns[name][0] for name in case.columns} | {"height": np.full(40, 100.0)}
    table = "\n".join(
        [",".join(rows), *(",".join(map(str, row)) for row in zip(*rows.values(), strict=True))]
    )
    line = ["node", str(PROGRAM), str(files.folder)]
    shown = subprocess.run(line, input=table, capture_output=True, text=True, check=True)
    header, *lines = shown.stdout.split()
    assert header == "flow,stored"
    stepper = Stepper(case.model, ["site 0"], {name: value[:1] for name, value in case.attributes.items()})
    for at, values in enumerate(lines):
        mean = stepper.step(
            {name: case.columns[name][:1, at] for name in case.columns}, "2001-01-01" if at == 0 else None
        ).mean
        flow, stored = map(float, values.split(","))
        assert flow == pytest.approx(mean.item(), rel=1e-5)
        assert stored == pytest.approx(stepper.stores.sum(-1).mean(), rel=1e-5)
    assert len(lines) == 40
