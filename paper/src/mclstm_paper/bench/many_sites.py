"""Training and prediction with more sites than memory: `make record-many-sites`.

6,830 sites, as many as Caravan has, are made of the 447 basins of CAMELS-US with noise and trained on in
parts. Beside them stand the 447 basins in memory and in parts. Each measurement has a process of its own.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr

from mclstm.config import Config, check_config
from mclstm.data.parts import PART
from mclstm.data.read import read
from mclstm.data.series import names
from mclstm.deploy.new_data import Dates, Source
from mclstm.deploy.predict_parts import predict_to_store
from mclstm.pipeline import train_or_resume
from mclstm.training.progress import Show
from mclstm_paper.bench.peak_memory import resident
from mclstm_paper.results import Row, committed_results, row, save_results

__all__ = ["copies", "main", "measure", "write_sites"]

RECIPE = Path("weights/mclstm-mixed/small-batches/model.json")  # K = 32, 5 inputs, 27 attributes
ROLES = ("mass", "aux", "static", "target")
CARAVAN = 6830
DAILY, SHARED = 0.2, 0.1  # spread of the noise of a day, and of all days of a site
DAYS = slice("1999-10-01", "2008-09-30")
PERIODS = {"train": ["1999-10-01", "2005-09-30"], "validation": None, "test": ["2005-10-01", "2008-09-30"]}
PREDICTED = Dates(end="2001-09-30")  # two years
FIRST = 10  # updates that are not timed: they load the kernel


def copies(basins: xr.Dataset, first: int, count: int) -> xr.Dataset:
    """Sites by number: the basins themselves, then basins with noise, each site with its own seed.

    Rain and flow of a site are multiplied by one factor, so that its budget stays, and rain also day by day.
    """
    numbers = np.arange(first, first + count)
    sites = basins.isel(site=numbers % basins.sizes["site"]).copy(deep=True)
    sites = sites.assign_coords(site=[f"site {number:05d}" for number in numbers])
    for at, number in enumerate(numbers):
        if number < basins.sizes["site"]:
            continue
        source = np.random.default_rng(int(number))
        shared = np.exp(SHARED * source.normal())
        for item in sites.data_vars.values():
            role, days = item.attrs["role"], item.ndim > 1
            if role == "aux":
                item.to_numpy()[at] += DAILY * source.normal(size=item.shape[1])
            elif role == "static":
                item.to_numpy()[at] *= 1 + SHARED * source.uniform(-1, 1)
            else:
                noise = DAILY * source.normal(size=item.shape[1]) if days and role == "mass" else 0.0
                item.to_numpy()[at] *= shared * np.exp(noise - (DAILY**2 / 2 if role == "mass" else 0.0))
        sites["vp"].to_numpy()[at] = np.maximum(sites["vp"].to_numpy()[at], 0.0)
    return sites


def write_sites(basins: xr.Dataset, path: Path, sites: int) -> None:
    """So many sites as zarr, in float32 as measured data have it, one chunk per part and column."""
    for first in range(0, sites, PART):
        part = copies(basins, first, min(PART, sites - first)).astype(np.float32)
        chunks = {str(name): {"chunks": (PART, *item.shape[1:])} for name, item in part.data_vars.items()}
        how: dict[str, Any] = {"mode": "a", "append_dim": "site"} if first else {"encoding": chunks}
        part.to_zarr(path, zarr_format=2, consolidated=False, **how)


def recipe(root: Path) -> dict[str, Any]:
    """The config of a trained model of the repository."""
    config: dict[str, Any] = json.loads((root / RECIPE).read_text())["config"]
    return config


def config_of(root: Path, data: Path, in_memory: bool, updates: int) -> Config:
    """The recipe on nine years, without a validation."""
    raw = recipe(root)
    raw["data"] |= {"path": str(data), "in_memory": in_memory}
    raw["periods"] = PERIODS
    raw["training"] |= {"updates": updates, "threads": 1, "checkpoint_every": 10 * updates}
    return check_config(raw)


def measure(root: Path, data: Path, in_memory: bool, updates: int, folder: Path) -> dict[str, float]:
    """Seconds of reading, updates per second of CPU time and of the clock, and the peak of memory in MB."""
    clocks: list[tuple[float, float]] = []
    peaks = [resident("VmRSS")]  # the high-water mark may fall behind what was resident before

    @contextmanager
    def display(total: int, title: str) -> Iterator[Show]:
        peaks.append(resident("VmHWM"))

        def show(done: int, loss: float, error: float | None) -> None:
            clocks.append((time.process_time(), time.monotonic()))
            peaks.append(resident("VmHWM"))

        yield show

    begun = time.process_time(), time.monotonic()
    train_or_resume(folder, config_of(root, data, in_memory, updates), display, lambda: None)
    cpu, clock = np.diff(np.array(clocks)[FIRST:], axis=0).T
    return {
        "CPU seconds before the first update": clocks[0][0] - begun[0],
        "updates per CPU second": float(1 / np.median(cpu)),
        "updates per second": float(len(clock) / clock.sum()),
        "MB before": peaks[0],
        "peak MB when read": peaks[1],
        "peak MB": max(peaks),
    }


def predict(run: Path, data: Path, out: Path, dates: Dates = PREDICTED) -> dict[str, float]:
    """CPU seconds and the peak of memory of a prediction that is streamed to zarr."""
    begun = time.process_time()
    predict_to_store(run, Source(str(data)), out, dates=dates)
    size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    return {
        "CPU seconds of a prediction": time.process_time() - begun,
        "MB of the prediction": size / 1e6,
        "peak MB of a prediction": resident("VmHWM"),
    }


def record(options: argparse.Namespace) -> None:
    """All measurements, saved after each; those that the file has are kept."""
    columns = recipe(Path())["data"]
    basins = read(options.data, "camels_us", **{role: columns[role] for role in ROLES})
    basins = basins.sel(time=DAYS).drop_vars(names(basins, "filled"))
    rows: list[Row] = committed_results(options.out)["rows"] if options.out.is_file() else []
    started, real = time.monotonic(), basins.sizes["site"]
    with tempfile.TemporaryDirectory(dir=options.scratch) as name:
        folder = Path(name)
        for sites, form in ((real, "in memory"), (real, "in parts"), (CARAVAN, "in parts")):
            data, run, setting = folder / f"{sites}.zarr", folder / f"{sites} {form}", f"{sites:,} sites"
            if any((item["setting"], item["model"]) == (setting, form) for item in rows):
                continue
            if not data.exists():
                write_sites(basins, data, sites)
            words = ["train", "--data", data, "--folder", run, "--updates", options.updates]
            commands = [[*words, *(["--in-parts"] if form == "in parts" else [])]]
            if sites == CARAVAN:
                commands.append(["predict", "--data", data, "--folder", run, "--out", folder / "p.zarr"])
            for command in commands:
                rows += [row(setting, form, *item) for item in in_a_process(command).items()]
                save_results(options.out, "operation", "sites", rows, time.monotonic() - started)


def in_a_process(words: list[Any]) -> dict[str, list[float]]:
    command = [sys.executable, "-m", "mclstm_paper.bench.many_sites", *map(str, words)]
    shown = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    numbers: dict[str, float] = json.loads(shown.stdout.splitlines()[-1])
    return {name: [value] for name, value in numbers.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["record", "train", "predict"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--updates", type=int, default=200)
    parser.add_argument("--in-parts", action="store_true")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--scratch", type=Path, help="where the sites are written: some GB")
    parser.add_argument("--out", type=Path, default=Path("results/operation/sites.json"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.part == "record":
        record(options)
    elif options.part == "train":
        print(
            json.dumps(measure(Path(), options.data, not options.in_parts, options.updates, options.folder))
        )
    else:
        print(json.dumps(predict(options.folder, options.data, options.out)))


if __name__ == "__main__":
    main()
