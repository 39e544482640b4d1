"""What tracing costs: CPU time and memory for some sites, beside brute force.

    python -m mclstm_paper.tracing.trace_cost --data CAMELS_US

Brute force is one run per tag with the gates held, as the tests do it. It is timed for some tags and some
sites and multiplied. Every measurement is a process of its own; those that are compared take turns. CPU time
counts, because the machine may have other work.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr

from mclstm.data.series import times
from mclstm.data.windows import Tensors, tensors
from mclstm.deploy.new_data import Source, read_new_data
from mclstm.deploy.trained_model import open_model
from mclstm.errors import DataWarning
from mclstm.explain.mass_ages import age_classes, exits, require_conserving, trace_ages
from mclstm.models.mass_model import MassModel
from mclstm_paper.tracing.trace_file import FOLDER, save_trace

__all__ = ["brute_force", "main", "measured"]

FILE = FOLDER / "cost.json"
SITES = (1, 30, 447)
PERIOD = slice("1989-10-01", "1999-09-30")
MOST = {"a tag for every day": 30, "a tag for every day, whole record": 1}  # sites
TAGS = 8  # timed of brute force
TOGETHER = 30  # sites of brute force whose gates are held at a time


def brute_force(model: MassModel, data: Tensors, tags: int) -> float:
    """Follow the mass of so many days, one run each with the gates held; what left in all, to compare."""
    x, a = (value.transpose(0, 1) for value in (data.x, data.a))
    (part,) = held(model, x, a, data.static)
    total = 0.0
    for tag in np.linspace(0, len(x) - 1, tags).astype(int):
        cells = torch.zeros(x.shape[1], 1, part.R.shape[-1], dtype=torch.float64)
        for t in range(tag, len(x)):
            enters = part.x[t].unsqueeze(-2) @ part.i[t] if t == tag else 0.0
            mass = cells @ part.R[t] + enters
            total += float((mass * part.leaves[t].unsqueeze(1)).sum())
            cells = mass * part.stays[t].unsqueeze(1)
    return total


def held(model: MassModel, x: torch.Tensor, a: torch.Tensor, static: torch.Tensor) -> list[Any]:
    """The gates of all steps at once: x (T, B, M), a (T, B, A), static (B, S)."""
    trace = model.trace(x, a, static)
    trace.each = trace.steps
    return list(trace.parts())


def one_year_of_ages(model: MassModel, data: Tensors, series: xr.Dataset) -> None:
    trace_ages([model], data, series, age_classes(times(series)))


def every_day(model: MassModel, data: Tensors, series: xr.Dataset) -> None:
    """A tag for every day."""
    x, a = (value.transpose(0, 1) for value in (data.x, data.a))
    trace = model.trace(x, a, data.static)
    for _ in trace.forward_parts(torch.arange(trace.steps), exits(model)):
        pass


METHODS: dict[str, Callable[[MassModel, Tensors, xr.Dataset], Any]] = {
    "ages up to a year": one_year_of_ages,
    "a tag for every day": every_day,
    "a tag for every day, whole record": every_day,
    "brute force": lambda model, data, series: brute_force(model, data, TAGS),
}


def measured(pack: Path, source: Path, sites: int, method: str) -> dict[str, float]:
    """CPU seconds, wall seconds and additional memory in MB of a method in this process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model = open_model(pack)
        series = read_new_data(model, Source(str(source)))
    run = min(sites, TOGETHER) if method == "brute force" else sites
    series = series.isel(site=slice(0, run))
    series = series if method.endswith("whole record") else series.sel(time=PERIOD)
    member = require_conserving(next(iter(model.members.values())))
    data = tensors(series, model.moments, torch.float32)
    memory, cpu, wall = peak(), time.process_time(), time.perf_counter()
    METHODS[method](member, data, series)
    whole = series.sizes["time"] / TAGS * sites / run if method == "brute force" else 1.0
    return {
        "cpu": (time.process_time() - cpu) * whole, "wall": (time.perf_counter() - wall) * whole,
        "memory": peak() - memory, "days": series.sizes["time"],
    }  # fmt: skip


def peak() -> float:  # MB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(words: Sequence[str] | None = None) -> None:
    """Measure all methods in turns, or one with --only, and write or print the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--pack", type=Path, default=Path("weights/mclstm-mixed/tuned"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs=2, help="sites and method")
    parser.add_argument("--out", type=Path, default=FILE)
    options = parser.parse_args(words)
    if options.only:
        print(json.dumps(measured(options.pack, options.data, int(options.only[0]), options.only[1])))
        return
    began, rows = time.perf_counter(), []
    for sites in SITES:
        for number in range(options.rounds if sites < 447 else 1):
            for method in METHODS:
                if sites > MOST.get(method, sites):
                    continue
                command = [sys.executable, "-m", __spec__.name, "--data", str(options.data), "--only"]
                command += [str(sites), method]
                text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                rows.append({"sites": sites, "method": method, "round": number, **json.loads(text)})
                print(rows[-1], flush=True)
    save_trace(options.out, {"rows": rows, "tags": TAGS, "together": TOGETHER}, began)


if __name__ == "__main__":
    main()
