"""The speed of a model in operation, and the balance of a million steps of BMI: `make record-operation`.

Every candidate makes the same steps with a trained model of the repository, interleaved, in CPU time.
"""

import argparse
import io
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
import torch
import yaml
from numpy.typing import NDArray

from mclstm.deploy.bmi import BmiMCLSTM
from mclstm.deploy.export import SEQUENCE, STEP, export
from mclstm.deploy.export_parity import Arrays, random_values, simulated
from mclstm.deploy.stepper import Stepper
from mclstm.deploy.trained_model import TrainedModel, open_model
from mclstm_paper.bench.timed_rounds import interleaved
from mclstm_paper.results import Row, row, save_results

__all__ = ["ONE_CALL", "STEPS_PER_SECOND", "balance_rows", "candidates", "million", "speeds"]

MODEL = Path("weights/mclstm-mixed/small-batches")  # K = 32, 5 inputs, 27 attributes, one member
SITES = (1, 100, 10_000)
SITES_OF_BMI = 1000  # at the most: those that a BMI config may name
LENGTH = 20  # steps of a call over a sequence
STEPS_PER_SECOND, RATIO = "steps per second", "share of one call"
ONE_CALL = "one call"
BOOKED, SAVED = 1000, 20_000  # steps between two looks at the masses, and between two files
MASSES = ("in", "out", "stored", "leaked")


def speeds(root: Path, sites: int, rounds: int) -> list[Row]:
    """Steps per second of every candidate, and as a share of one call over a sequence, round by round."""
    with tempfile.TemporaryDirectory() as folder:
        calls = candidates(root, sites, Path(folder))
        seconds = interleaved(calls, rounds, time.process_time, shortest=0.02)
    seconds = {
        name: [value / (LENGTH if name in (ONE_CALL, SEQUENCE) else 1) for value in values]
        for name, values in seconds.items()
    }
    setting, rows = f"{sites} sites", []
    for name, values in seconds.items():
        shares = [one / own for one, own in zip(seconds[ONE_CALL], values, strict=True)]
        rows.append(row(setting, name, STEPS_PER_SECOND, [1 / value for value in values], spread="quartiles"))
        rows.append(row(setting, name, RATIO, shares, spread="quartiles"))
    return rows


def candidates(root: Path, sites: int, folder: Path) -> dict[str, Callable[[], object]]:
    """A call over a sequence, and one step of each of the others that take so many sites."""
    model = open_model(root / MODEL)
    values = random_values(model, torch.float32, LENGTH, sites, np.random.default_rng(0))
    export(root / MODEL, folder / "files")
    loaded = torch.export.load(io.BytesIO((folder / "files" / SEQUENCE).read_bytes())).module()
    tensors = {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in values.items()}
    calls = {
        ONE_CALL: lambda: simulated(model, values, torch.float32),
        SEQUENCE: torch.no_grad()(lambda: loaded(values=tensors)),
        STEP: onnx_step(folder / "files" / STEP, values),
        "Stepper": one_step(model, values),
    }
    if sites > SITES_OF_BMI:
        return calls
    return calls | {"BMI": bmi(root, model, values, folder, "float32").update}


def onnx_step(file: Path, values: Arrays) -> Callable[[], object]:
    """A step of ONNX Runtime on one thread, each from the state before."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(file), options)
    names = [output.name for output in session.get_outputs()]
    current = values | {name: values[name][0] for name in ("mass", "aux")}

    def step() -> None:
        results = dict(zip(names, session.run(None, current), strict=True))
        current.update(cells=results["cells_after"])

    return step


def one_step(model: TrainedModel, values: Arrays) -> Callable[[], object]:
    """A step of the Stepper, with the first inputs again and again."""
    stepper = Stepper(model, names_of(values), attributes_of(model, values))
    data = model.config.data
    inputs = {name: values["mass"][0, :, at] for at, name in enumerate(data.mass)}
    inputs |= {name: values["aux"][0, :, at] for at, name in enumerate(data.aux)}
    stepper.step(inputs, "2001-01-01")
    return lambda: stepper.step(inputs)


def bmi(root: Path, model: TrainedModel, values: Arrays, folder: Path, precision: str) -> BmiMCLSTM:
    """The model behind the Basic Model Interface, with the first inputs set."""
    static = {name: float(column[0]) for name, column in attributes_of(model, values).items()}  # of all sites
    content = {"model": str((root / MODEL).resolve()), "start": "2001-01-01", "precision": precision}
    (folder / "bmi.yaml").write_text(
        yaml.safe_dump(content | {"sites": names_of(values), "attributes": static})
    )
    opened = BmiMCLSTM()
    opened.initialize(str(folder / "bmi.yaml"))
    data = model.config.data
    order = [("mass", at) for at in range(len(data.mass))] + [("aux", at) for at in range(len(data.aux))]
    for name, (role, at) in zip(opened.get_input_var_names(), order, strict=True):
        opened.set_value(name, np.ascontiguousarray(values[role][0, :, at]))
    return opened


def names_of(values: Arrays) -> list[str]:
    return [f"site {at}" for at in range(values["mass"].shape[1])]


def attributes_of(model: TrainedModel, values: Arrays) -> dict[str, np.ndarray]:
    return {name: values["static"][:, at] for at, name in enumerate(model.config.data.static)}


def million(root: Path, steps: int, save: Callable[[list[Row]], object]) -> None:
    """The balance of so many BMI steps in float64 with rain of every day its own, time and memory.

    save: called with the rows so far every `SAVED` steps, so that a killed record is worth what it measured
    """
    model = open_model(root / MODEL)
    values = random_values(model, torch.float32, BOOKED, 1, np.random.default_rng(1))
    rain = np.maximum(values["mass"][:, 0, 0], 0.0) + np.random.default_rng(2).gamma(0.5, 6.0, BOOKED)
    with tempfile.TemporaryDirectory() as folder:
        opened = bmi(root, model, values, Path(folder), "float64")
    pointer = opened.get_value_ptr(opened.get_input_var_names()[0])
    started, memory, books = time.process_time(), 0.0, []
    for done in range(1, steps + 1):
        pointer[0] = rain[done % BOOKED]
        opened.update()
        if done % BOOKED == 0:
            books.append([float(opened.get_value_ptr(f"ngen::mass_{word}")[0]) for word in MASSES])
            memory = memory or peak_megabytes()  # after the first steps, which load libraries
        if done % SAVED == 0 or done == steps:
            save(balance_rows(done, np.array(books), time.process_time() - started, memory))


def balance_rows(steps: int, books: NDArray[np.float64], seconds: float, memory: float) -> list[Row]:
    """books: mass in, out, stored and leaked, (times, 4)"""
    come, gone, stored, leaked = books.T
    shares = np.abs(leaked) / come
    numbers = {
        "largest balance of the protocol": float(np.abs(come - gone - stored - leaked).max()),
        "largest leak, of the mass": float(shares.max()),
        "leak at the end, of the mass": float(shares[-1]),
        STEPS_PER_SECOND: steps / seconds,
        "growth of memory in MB": peak_megabytes() - memory,
    }
    return [row(f"{steps:,} steps of BMI", "BMI", metric, [value]) for metric, value in numbers.items()]


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["speed", "million"])
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out", type=Path, default=Path("results/operation"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    started, file = time.monotonic(), options.out / f"{options.part}.json"

    def save(rows: list[Row]) -> None:
        save_results(file, "operation", options.part, rows, time.monotonic() - started)

    if options.part == "million":
        million(Path(), options.steps, save)
    else:
        rows: list[Row] = []
        for sites in SITES:
            rows += speeds(Path(), sites, options.rounds)
            save(rows)


if __name__ == "__main__":
    main()
