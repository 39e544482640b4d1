"""A trained model for programs without mclstm: one step as ONNX, a sequence of any length as .pt2.

Nothing is written unless both compute what the model computes.
"""

import io
import json
import logging
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.export import Dim, ExportedProgram

from mclstm import __version__
from mclstm.data.features import PET, SEASON, clock_names
from mclstm.deploy.export_parity import Arrays, random_values, require_parity
from mclstm.deploy.export_program import (
    INPUTS,
    MEMBERS,
    PREDICTION,
    SequenceProgram,
    StepProgram,
    result_names,
)
from mclstm.deploy.saved_states import empty_states
from mclstm.deploy.trained_model import TrainedModel, in_dtype, model_folders, open_model
from mclstm.errors import ConfigError
from mclstm.series_from_config import inputs
from mclstm.training.atomic import new_folder, write_bytes_atomic, write_text_atomic

__all__ = ["ABOUT", "SEQUENCE", "STEP", "Exported", "export", "export_model"]

STEP, SEQUENCE, ABOUT = "step.onnx", "sequence.pt2", "export.json"
DTYPES = {"float32": torch.float32, "float64": torch.float64}
ROWS = 300  # samples of the check of a step
LENGTHS = (1, 40)  # steps of the checks of sequences
COMPUTED = {
    SEASON[0]: "sin(2 pi d / 365.25), d: day of the year, of which January 1 is 1, plus whole hours / 24",
    SEASON[1]: "cos(2 pi d / 365.25), d: day of the year, of which January 1 is 1, plus whole hours / 24",
    PET: "evapotranspiration by Hargreaves and Samani from tmax and tmin, mm/day",
}
CLOCK = (
    "P_sine_N: sin(2 pi N t / P), P_cosine_N: cos of it, P: a day or a week, t: since its start, midnight or "
    "that of Monday; weekend: 1 on Saturday and Sunday, else 0"
)


class Exported(NamedTuple):
    """A folder of exported files, and the largest differences from the model, relative."""

    folder: Path
    step: float
    sequence: float


def export(path: Path, out: Path, precision: str = "float32") -> Exported:
    """Export a run or packed model into a new folder, which appears whole or not at all."""
    import onnxruntime  # noqa: F401  # a missing extra is told before the work begins
    import onnxscript  # noqa: F401

    if precision not in DTYPES:
        raise ConfigError(f"--precision {precision}: there are {' and '.join(DTYPES)}. Choose one.")
    folders = model_folders(path)
    if len(folders) > 1:
        raise ConfigError(f"{path} holds several models, which have no common step. Export one of them.")
    return export_model(open_model(folders[0]), str(path), out, DTYPES[precision])


def export_model(model: TrainedModel, name: str, out: Path, dtype: torch.dtype) -> Exported:
    """As `export`, for a model that is open; name: what messages call it."""
    _require_exportable(model, name)
    model = in_dtype(model, dtype)
    with new_folder(out) as folder, torch.no_grad(), _quiet():
        step = _step(model, dtype)
        content = _onnx(step)
        gap = require_parity(model, dtype, _session(content), "The ONNX step", 1, ROWS)
        sequence = _sequence(step, model, dtype)
        loaded = torch.export.load(io.BytesIO(sequence)).module()
        run = lambda values: _arrays(loaded(values=_tensors(values)))  # noqa: E731
        gaps = [require_parity(model, dtype, run, "The .pt2 sequence", steps, 8) for steps in LENGTHS]
        write_bytes_atomic(folder / STEP, content)
        write_bytes_atomic(folder / SEQUENCE, sequence)
        result = Exported(out, gap, max(gaps))
        write_text_atomic(folder / ABOUT, json.dumps(_about(model, dtype, result), indent=1) + "\n")
    return result


def _require_exportable(model: TrainedModel, name: str) -> None:
    """Refuse what one step of one sample cannot be."""
    if getattr(model.config.model, "state_norm", "") == "batch":
        raise ConfigError(
            f"{name} has model.state_norm: batch, where the samples of a batch change each other's results, "
            "so it cannot be exported. Train with state_norm: sample."
        )
    if model.config.data.antecedent:
        raise ConfigError(
            f"{name} sees means of earlier steps (data.antecedent), which a single step does not have, so it "
            "cannot be exported. Train without them."
        )


def _step(model: TrainedModel, dtype: torch.dtype) -> ExportedProgram:
    values = random_values(model, dtype, 1, 3, np.random.default_rng(0))
    one = _tensors({name: value[0] if name in ("mass", "aux") else value for name, value in values.items()})
    program = StepProgram(model, dtype).train(False)
    return torch.export.export(program, (), {"values": one}, dynamic_shapes=_shapes(one, {0: _BATCH}))


def _sequence(step: ExportedProgram, model: TrainedModel, dtype: torch.dtype) -> bytes:
    values = _tensors(random_values(model, dtype, 5, 3, np.random.default_rng(0)))
    program = SequenceProgram(step)
    shapes = _shapes(values, {0: _TIME, 1: _BATCH})
    exported = torch.export.export(program, (), {"values": values}, dynamic_shapes=shapes)
    archive = io.BytesIO()
    torch.export.save(exported, archive)
    return _without_samples(archive)


_BATCH, _TIME = Dim("B"), Dim("T")


def _shapes(values: Mapping[str, Tensor], timed: dict[int, Any]) -> dict[str, Any]:
    """Which dimensions of every input may differ; timed: those of mass and aux."""
    named = {"mass": timed, "aux": timed, "static": {0: _BATCH}}
    return {"values": {name: named.get(name, {1: _BATCH}) for name in values}}


def _without_samples(archive: io.BytesIO) -> bytes:
    """The archive without the inputs it was traced with, which torch stores as Python objects."""
    result = io.BytesIO()
    with zipfile.ZipFile(archive) as source, zipfile.ZipFile(result, "w", zipfile.ZIP_STORED) as target:
        for entry in source.infolist():
            sample = "/sample_inputs/" in entry.filename
            target.writestr(entry.filename, b"" if sample else source.read(entry))
    return result.getvalue()


def _onnx(step: ExportedProgram) -> bytes:
    """The step as ONNX; a state that comes in as `cells` goes out as `cells_after`."""
    names = list(step.example_inputs[1]["values"])
    program = torch.onnx.export(
        step, dynamo=True, verbose=False, external_data=False, input_names=names,
        output_names=[_after(name) if name in names else name for name in result_names(step)],
    )  # fmt: skip
    assert program is not None
    content: bytes = program.model_proto.SerializeToString()
    return content


def _after(state: str) -> str:
    return f"{state}_after"


def _session(content: bytes) -> Any:
    """A function that makes the one step of sequences of length one."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]

    def run(values: Arrays) -> Arrays:
        timed = {name: value[0] for name, value in values.items() if name in ("mass", "aux")}
        results = dict(zip(names, session.run(None, {**values, **timed}), strict=True))
        states = {name: results.pop(_after(name)) for name in values if _after(name) in results}
        return {name: value[np.newaxis] for name, value in results.items()} | states

    return run


def _about(model: TrainedModel, dtype: torch.dtype, result: Exported) -> dict[str, Any]:
    """The content of export.json: columns and units in their order, the first state, what was checked."""
    columns = inputs(model.config)
    static = torch.zeros(1, len(columns["static"]), dtype=dtype)
    by_member = list(empty_states(model, static).values())
    initial = {name: [state[name][0].tolist() for state in by_member] for name in by_member[0]}
    described = {role: [_column(model, name) for name in columns[role]] for role in (*INPUTS, "target")}
    return {
        "mclstm": __version__,
        "model_hash": model.model_hash,
        "step": model.step,
        "precision": str(dtype).removeprefix("torch."),
        "members": len(model.members),
        "inputs": {role: described[role] for role in INPUTS if described[role]},
        "outputs": {PREDICTION: described["target"], MEMBERS: described["target"]},
        "initial": initial,
        "largest_difference": {"step": result.step, "sequence": result.sequence, "samples": ROWS},
    }


def _column(model: TrainedModel, name: str) -> dict[str, str]:
    data = model.config.data
    waves = clock_names(data.time_of_day, data.time_of_week, data.weekend)
    formulas = COMPUTED | dict.fromkeys(waves, CLOCK)
    computed = {"computed": formulas[name]} if name in formulas and name not in data.aux else {}
    return {"name": name, "unit": model.units.get(name, "")} | computed


def _tensors(values: Arrays) -> dict[str, Tensor]:
    return {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in values.items()}


def _arrays(values: Mapping[str, Tensor]) -> Arrays:
    return {name: value.numpy() for name, value in values.items()}


@contextmanager
def _quiet() -> Iterator[None]:
    """Without torch's remarks on what it does inside an export: they are no mistakes of the user."""
    level = logging.getLogger("torch.onnx").level
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.getLogger("torch.onnx").setLevel(level)
