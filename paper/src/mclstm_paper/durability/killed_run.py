"""A run in a process of its own, killed with SIGKILL at an instant that is aimed at."""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from mclstm import pipeline
from mclstm.config import check_config
from mclstm.errors import CheckpointError
from mclstm.training import checkpoint, journal

__all__ = [
    "begin",
    "begun",
    "drafts",
    "endings",
    "forked",
    "last_save",
    "phase",
    "strike",
    "usable_update",
    "wait_for",
    "warm_up",
]

# Imported once by the server from which every process is forked: a kill takes a second, not ten.
PRELOAD = ["mclstm.pipeline", "xarray.backends.h5netcdf_", "h5netcdf", "torch._dynamo"]
PAUSE = 0.0003  # seconds between two looks at the folder: well below the time of a save


def warm_up() -> None:
    """Start the server all processes are forked from, so that the first is as quick as the others."""
    multiprocessing.get_context("forkserver").set_forkserver_preload(PRELOAD)
    forked(int).join()


def begin(raw: dict[str, Any], root: Path) -> BaseProcess:
    """Start a process that trains the config below `root`, or goes on with what is there, and evaluates."""
    return forked(live, raw, root)


def forked(target: Callable[..., object], *arguments: object) -> BaseProcess:
    """Start a process that calls a function, from the server that has everything imported."""
    process = multiprocessing.get_context("forkserver").Process(target=target, args=arguments)
    process.start()
    return process


def live(raw: dict[str, Any], root: Path) -> None:
    run = begun(root)
    folder = (
        pipeline.train(check_config(raw), root, quiet=True)
        if run is None
        else pipeline.resume(run, quiet=True)
    )
    pipeline.evaluate(folder.path, figures=False)


def begun(root: Path) -> Path | None:
    """The run below a root: one whose config is there, for that is written last."""
    return next((path.parent for path in root.glob("*/*/config.yaml")), None)


def strike(process: BaseProcess, root: Path, aim: str, delay: float) -> bool:
    """Kill the process `delay` seconds after what is aimed at began; False if it came to its end before."""
    saved, ended, old = last_save(root), endings(root), drafts(root)
    if aim in ("training", "saving"):
        wait_for(process, lambda: last_save(root) != saved)
    elif aim == "evaluating":
        wait_for(process, lambda: endings(root) > ended)
    due = time.monotonic() + delay
    wait_for(process, lambda: time.monotonic() >= due)
    if aim == "saving":
        wait_for(process, lambda: caught_saving(process, root, old))
    process.kill()
    process.join()
    return process.exitcode == -signal.SIGKILL


def wait_for(process: BaseProcess, happened: Callable[[], bool]) -> bool:
    """Look until something happened, or until the process ended."""
    while process.is_alive():
        if happened():
            return True
        time.sleep(PAUSE)
    return False


def caught_saving(process: BaseProcess, root: Path, old: set[str]) -> bool:
    """Whether the process now stands still in the middle of a save; `old` drafts are of others."""
    if drafts(root) <= old or process.pid is None:
        return False
    os.kill(process.pid, signal.SIGSTOP)
    if not drafts(root) <= old:
        return True
    os.kill(process.pid, signal.SIGCONT)
    return False


def drafts(root: Path) -> set[str]:
    """Temporary files of writers that are at work or were killed."""
    return {path.name for path in root.rglob(".*.tmp")}


def last_save(root: Path) -> int:
    times = [path.stat().st_mtime_ns for path in root.glob("*/*/checkpoints/last.safetensors")]
    return max(times, default=0)


def endings(root: Path) -> int:
    """How often a training below this root came to its end."""
    return sum(path.read_text().count("finished after") for path in root.glob("*/*/log.txt"))


def usable_update(run: Path) -> int:
    """How far the last checkpoint of a run is; raises CheckpointError if any file of it cannot be used."""
    about = {path.name: checkpoint.load(path)[1] for path in (run / "checkpoints").glob("*.safetensors")}
    journal.read(run / "metrics.jsonl")
    return int(about["last.safetensors"]["progress"]["update"]) if "last.safetensors" in about else 0


def phase(root: Path, left: set[str]) -> str:
    """In what a killed process was, by its checkpoint and the drafts it left."""
    run = begun(root)
    if run is None:
        return "starting"
    last = run / "checkpoints" / "last.safetensors"
    try:
        over = last.exists() and checkpoint.load(last)[1]["progress"]["finished"]
    except CheckpointError:
        return "saving"
    if over:
        return "evaluating"
    return "saving" if left else "training"
