"""A run in a process of its own, which SIGKILL can end at a chosen instant."""

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
    "finished_trainings",
    "kill_during",
    "last_save",
    "phase",
    "run_below",
    "saved_update",
    "start_process",
    "start_run",
    "start_server",
    "unfinished_files",
    "wait_for",
]

# Imported once, by the server from which every process is forked: so a kill takes one second, not ten.
PRELOAD = ["mclstm.pipeline", "xarray.backends.h5netcdf_", "h5netcdf", "torch._dynamo"]
PAUSE = 0.0003  # seconds between two looks at the folder, much less than a save takes


def start_server() -> None:
    """Start the server that forks all processes, so that the first process starts as fast as the others."""
    multiprocessing.get_context("forkserver").set_forkserver_preload(PRELOAD)
    start_process(int).join()


def start_run(raw: dict[str, Any], root: Path) -> BaseProcess:
    """Start a process that trains a run below `root`, or resumes the one that is there, and evaluates it."""
    return start_process(train_and_evaluate, raw, root)


def start_process(target: Callable[..., object], *arguments: object) -> BaseProcess:
    """Start a process that calls a function; the server forks it with everything imported."""
    process = multiprocessing.get_context("forkserver").Process(target=target, args=arguments)
    process.start()
    return process


def train_and_evaluate(raw: dict[str, Any], root: Path) -> None:
    path = run_below(root)
    if path is None:
        run = pipeline.train(check_config(raw), root, quiet=True)
    else:
        run = pipeline.resume(path, quiet=True)
    pipeline.evaluate(run, figures=False)


def run_below(root: Path) -> Path | None:
    """The folder of the run below a root, None before its config exists, which is written last."""
    return next((path.parent for path in root.glob("*/*/config.yaml")), None)


def kill_during(process: BaseProcess, root: Path, aim: str, delay: float) -> bool:
    """Kill the process `delay` seconds after the phase `aim` began; False if the process ended before."""
    saved, finished, old = last_save(root), finished_trainings(root), unfinished_files(root)
    if aim in ("training", "saving"):
        wait_for(process, lambda: last_save(root) != saved)
    elif aim == "evaluating":
        wait_for(process, lambda: finished_trainings(root) > finished)
    due = time.monotonic() + delay
    wait_for(process, lambda: time.monotonic() >= due)
    if aim == "saving":
        wait_for(process, lambda: caught_saving(process, root, old))
    process.kill()
    process.join()
    return process.exitcode == -signal.SIGKILL


def wait_for(process: BaseProcess, happened: Callable[[], bool]) -> bool:
    """Wait until `happened()` is true; False if the process ended before."""
    while process.is_alive():
        if happened():
            return True
        time.sleep(PAUSE)
    return False


def caught_saving(process: BaseProcess, root: Path, old: set[str]) -> bool:
    """Whether the process is now halted in the middle of a save; `old` files are from earlier kills."""
    if unfinished_files(root) <= old or process.pid is None:
        return False
    os.kill(process.pid, signal.SIGSTOP)
    if not unfinished_files(root) <= old:
        return True
    os.kill(process.pid, signal.SIGCONT)
    return False


def unfinished_files(root: Path) -> set[str]:
    """The names of temporary files: their writers are at work, or were killed."""
    return {path.name for path in root.rglob(".*.tmp")}


def last_save(root: Path) -> int:
    times = [path.stat().st_mtime_ns for path in root.glob("*/*/checkpoints/last.safetensors")]
    return max(times, default=0)


def finished_trainings(root: Path) -> int:
    """How often a training below this root was finished."""
    return sum(path.read_text().count("finished after") for path in root.glob("*/*/log.txt"))


def saved_update(run: Path) -> int:
    """The update of a run's last checkpoint; raises CheckpointError if any file of the run is damaged."""
    metadata = {path.name: checkpoint.load(path)[1] for path in (run / "checkpoints").glob("*.safetensors")}
    journal.read(run / "metrics.jsonl")
    last = metadata.get("last.safetensors")
    return 0 if last is None else int(last["progress"]["update"])


def phase(root: Path, left: set[str]) -> str:
    """What a killed process was doing, by its checkpoint and the unfinished files it left."""
    run = run_below(root)
    if run is None:
        return "starting"
    last = run / "checkpoints" / "last.safetensors"
    try:
        finished = last.exists() and checkpoint.load(last)[1]["progress"]["finished"]
    except CheckpointError:
        return "saving"
    if finished:
        return "evaluating"
    return "saving" if left else "training"
