"""A training as a job: a run of the pipeline in the folder of the job, shown and stopped by its monitor."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from mclstm import pipeline
from mclstm.config import Config, check_config, load_config
from mclstm.config.same_model import difference, shared_by_members
from mclstm.errors import ConfigError
from mclstm.evaluation.score_tables import middle
from mclstm.jobs.job import Job, Result, Work
from mclstm.jobs.monitor import JobMonitor
from mclstm.run import Run, load_run
from mclstm.training.folder import RunFolder
from mclstm.training.progress import Show
from mclstm.training.state import read_progress

__all__ = ["seed_jobs", "train_as_job"]


def run_whole(folder: Path, monitor: JobMonitor, goal: int, config: dict[str, Any]) -> Result:
    """Train and evaluate a run in the folder of a job; `goal` is 1, a whole run."""
    run = train_as_job(RunFolder(folder), monitor, config)
    results = pipeline.evaluate_once(load_run(run) if isinstance(run, Path) else run, figures=False)
    return {"nse": middle(results.scores) if "nse" in results.scores else None}


RUN = Work("run", run_whole)


def seed_jobs(config: Config, runs: int) -> list[Job]:
    """The runs of an ensemble, a job for each seed from that of the config on."""
    pipeline.require_test(config)
    raw, first = config.model_dump(exclude_unset=True, exclude={"tune"}), config.training.seed
    return [
        Job(f"seed-{seed}", RUN, {"config": raw | {"training": {**raw["training"], "seed": seed}}}, goal=1)
        for seed in range(first, first + runs)
    ]


def train_as_job(
    run: RunFolder, monitor: JobMonitor, config: dict[str, Any], stop: pipeline.Stop | None = None
) -> Run | Path:
    """Train the run in a folder to its end, or find it finished: its path then stands for it.

    stop: asked after every update in place of the monitor
    """
    # The run keeps the number of threads of this process, so that it repeats bit by bit.
    section = {**config["training"], "threads": torch.get_num_threads()}
    wanted = check_config({**config, "training": section})
    require_same(run, wanted)
    if finished(run):
        return run.path
    return pipeline.train_or_resume(run.path, wanted, job_progress(monitor), stop or monitor.stopped)


def require_same(run: RunFolder, wanted: Config) -> None:
    """Refuse a run in this folder that is another one; name, threads and checkpoints may differ."""
    # A residence time became stay and output_bias when the run began.
    if not run.config.is_file() or getattr(wanted.model, "residence", None) is not None:
        return
    present = load_config(run.config)
    seeds = present.training.seed, wanted.training.seed
    if shared_by_members(present) != shared_by_members(wanted) or seeds[0] != seeds[1]:
        where = difference(present, wanted) if seeds[0] == seeds[1] else "training.seed"
        raise ConfigError(
            f"{run.path} holds a run with another {where} than is asked for. "
            "Move it away, or choose another folder with --out."
        )


def finished(run: RunFolder) -> bool:
    """Whether a run is trained to its end."""
    last = run.checkpoints / "last.safetensors"
    return last.is_file() and read_progress(last).finished


def job_progress(monitor: JobMonitor) -> Callable[[int, str], Any]:
    """Progress of a run as progress of a job."""

    @contextmanager
    def showing(total: int, title: str) -> Iterator[Show]:
        yield lambda done, loss, error: monitor.show(done, total, f"loss {loss:.4g}")

    return showing
