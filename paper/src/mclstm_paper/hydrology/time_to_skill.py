"""How much training a validation NSE of 0.72 costs, beside neuralhydrology's own training on this machine.

Everybody has the same basins, forcings, attributes and periods, and is scored alike: the whole validation
period in one piece. CPU time is that of updates alone, without reading and without validation.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import torch
import yaml

from mclstm import pipeline
from mclstm.config import check_config
from mclstm.errors import ConfigError, DataError, Interrupted
from mclstm.jobs.job import Job, Result, Work
from mclstm.jobs.monitor import JobMonitor
from mclstm.report.markdown import text_table
from mclstm.training import journal
from mclstm.training.atomic import write_text_atomic
from mclstm.training.folder import RunFolder
from mclstm.training.progress import Show
from mclstm_paper.experiment import Experiment
from mclstm_paper.hydrology import nh_skill
from mclstm_paper.hydrology.models import basins_of, config_of, require_stated
from mclstm_paper.hydrology.nh_configs import THEIRS, nh_config
from mclstm_paper.hydrology.page import not_measured, read
from mclstm_paper.options import Options, Plan, chosen_models
from mclstm_paper.results import Row, interval_row
from mclstm_paper.statistics import Interval

__all__ = ["EXPERIMENT"]

NAME, FILE = "hydrology-time", "time_to_skill.json"
TARGET = 0.72  # median NSE of the validation years
SECONDS = {"quick": 60, "paper": 1800}  # of CPU time, the most that a training may take
EVERY = {"quick": 10, "paper": 100}  # updates between two scores of neuralhydrology
TICK = 1.0
WARMUP = 274  # days of forcing before the validation years
# Ours, with the epochs between two validations: about 125 updates.
OURS = {"hybrid": 1, "mclstm-tuned": 4, "lstm-steered": 1}
LABELS = {
    "hybrid": "Hybrid",
    "mclstm-tuned": "MC-LSTM tuned",
    "lstm-steered": "LSTM",
    "nh-mclstm": "neuralhydrology's MC-LSTM, last days",
    "nh-mclstm-sequences": "neuralhydrology's MC-LSTM, 180 days scored",
    "nh-lstm": "neuralhydrology's LSTM, last days",
    "nh-lstm-sequences": "neuralhydrology's LSTM, 180 days scored",
}
Curve = list[dict[str, float]]


def learn_ours(folder: Path, monitor: JobMonitor, goal: int, config: dict[str, Any]) -> Result:
    """Train a model of ours until its validation score is enough, or its time is over; begins anew."""
    run, marks = RunFolder(folder / "run"), [time.process_time()]
    shutil.rmtree(run.path, ignore_errors=True)

    @contextmanager
    def display(total: int, title: str) -> Iterator[Show]:
        def show(done: int, loss: float, error: float | None) -> None:
            marks.append(time.process_time())
            monitor.show(done, total, f"loss {loss:.4g}")

        yield show

    def stop() -> int | None:
        known = curve_of(run, marks)
        enough = known and (known[-1]["nse"] >= TARGET or known[-1]["cpu_seconds"] >= goal)
        return signal.SIGTERM if enough else monitor.stopped()

    try:
        pipeline.train_or_resume(run.path, check_config(config), display, stop)
    except Interrupted:
        if (signum := monitor.stopped()) is not None:
            raise Interrupted(signum, "") from None
    return outcome(curve_of(run, marks), goal)


def curve_of(run: RunFolder, marks: Sequence[float]) -> Curve:
    """The validations of a run, with the CPU time of all updates before; marks (1 + updates,).

    The update after a validation counts as the median one, because its mark includes the scoring.
    """
    lines = [line for line in journal.read(run.journal) if line.get("validation_nse") is not None]
    spent = [after - before for before, after in pairwise(marks)]
    for line in lines:
        if line["update"] < len(spent):
            spent[line["update"]] = median(spent)
    return [
        {"update": line["update"], "cpu_seconds": sum(spent[: line["update"]]), "nse": line["validation_nse"]}
        for line in lines
    ]


def learn_theirs(
    folder: Path,
    monitor: JobMonitor,
    goal: int,
    config: dict[str, Any],
    basins: list[str],
    every: int,
    data: str,
) -> Result:
    """Train a model of neuralhydrology by its own trainer in a process of its own; begins anew."""
    home, curve = folder / "nh", folder / "nh" / "curve.json"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    write_text_atomic(home / "basins.txt", "\n".join(basins) + "\n")
    files = {f"{part}_basin_file": str(home / "basins.txt") for part in ("train", "validation", "test")}
    whole = config | files | {"data_dir": data, "run_dir": str(home / "runs")}
    write_text_atomic(home / "config.yml", yaml.safe_dump(whole))
    words = [sys.executable, nh_skill.__file__, home / "config.yml", curve, every, goal, TARGET, WARMUP]
    with (home / "log.txt").open("wb") as log:
        code = wait_for([str(word) for word in words], log, monitor, curve, goal)
    if code:
        said = (home / "log.txt").read_text().splitlines()[-1:]
        raise DataError(f"neuralhydrology ended with {code}: {' '.join(said)}. See {home / 'log.txt'}.")
    return outcome(json.loads(curve.read_text()), goal)


def wait_for(words: list[str], log: Any, monitor: JobMonitor, curve: Path, goal: int) -> int:
    """The exit code of a process; it is ended where the job is to stop."""
    threads = os.environ | {"OMP_NUM_THREADS": str(torch.get_num_threads())}
    with subprocess.Popen(words, stdout=log, stderr=log, env=threads) as process:
        while process.poll() is None:
            if (signum := monitor.stopped()) is not None:
                process.kill()
                raise Interrupted(signum, "")
            known: Curve = json.loads(curve.read_text()) if curve.is_file() else []
            if known:
                monitor.show(int(known[-1]["cpu_seconds"]), goal, f"NSE {known[-1]['nse']:.3f}")
            time.sleep(TICK)
        return process.returncode


def outcome(curve: Curve, goal: int) -> Result:
    """Where a curve of scores first is high enough; None if that was not within the limit."""
    reached = next((point for point in curve if point["nse"] >= TARGET), None)
    within = reached is not None and reached["cpu_seconds"] <= goal
    return {"reached": reached if within else None, "curve": curve, "limit": goal}


WORKS = {"ours": Work("hydrology, time to a skill", learn_ours), "theirs": Work("time, others", learn_theirs)}


def jobs(plan: Plan) -> list[Job]:
    """One job per model."""
    options = plan.options
    require_stated(NAME, options)
    basins, goal = basins_of(options), SECONDS[options.profile]
    if options.data is None or not basins:
        raise ConfigError(f"{NAME} needs --data, the folder of CAMELS-US, and --basins, one per line.")
    chosen = chosen_models(NAME, (*OURS, *THEIRS), (), options)
    return [
        Job(model, WORKS["ours"], {"config": ours(model, options)}, goal)
        if model in OURS
        else Job(model, WORKS["theirs"], theirs(model, options), goal, {"data": str(options.data.resolve())})
        for model in chosen
    ]


def ours(model: str, options: Options) -> dict[str, Any]:
    config = config_of(model, options, 0)
    return config | {"training": config["training"] | {"validate_every": OURS[model]}}


def theirs(model: str, options: Options) -> dict[str, Any]:
    config = nh_config(model, options.cells)
    return {"config": config, "basins": list(basins_of(options)), "every": EVERY[options.profile]}


def rows(plan: Plan, results: Mapping[str, Result]) -> list[Row]:
    """CPU minutes of each model, none where the score was not reached; with the curve of its scores."""
    table = []
    for job in (job for job in jobs(plan) if job.name in results):
        result = results[job.name]
        reached, last = result["reached"], result["curve"][-1]
        minutes = reached["cpu_seconds"] / 60 if reached else float("nan")
        more = {
            "limit": result["limit"] / 60,
            "updates": (reached or last)["update"],
            "seconds_per_update": last["cpu_seconds"] / last["update"],
            "best": max(point["nse"] for point in result["curve"]),
            "curve": [[point["update"], round(point["nse"], 4)] for point in result["curve"]],
        }
        interval = Interval(minutes, minutes, minutes, 1)
        setting = f"{len(basins_of(plan.options))} basins, validation"
        table.append(interval_row(setting, job.name, f"cpu-minutes to {TARGET}", interval, [minutes], **more))
    return table


def table(rows: Sequence[Row]) -> str:
    """One line per model, the fastest first; of the others how far they came."""
    order = sorted(rows, key=lambda row: (row["value"] is None, row["value"] or 0.0, -row["best"]))
    lines = [
        [
            LABELS[row["model"]],
            f"not within {row['limit']:.0f}" if row["value"] is None else f"{row['value']:.1f}",
            f"{row['updates']:,}",
            f"{row['seconds_per_update']:.2f}",
            f"{row['best']:.3f}",
        ]
        for row in order
    ]
    return text_table(["", f"CPU minutes to {TARGET}", "updates", "seconds per update", "best NSE"], lines)


def block(root: Path) -> str:
    """What a score costs in training, beside neuralhydrology."""
    rows = read(root, FILE)["rows"]
    return table(rows) if rows else not_measured(FILE)


EXPERIMENT = Experiment(
    name=NAME,
    protocols=("stated",),
    models=(*OURS, *THEIRS),
    variants=(),
    jobs=jobs,
    rows=rows,
    table=table,
    accepts=("data", "basins", "cells"),
    file=f"hydrology/{FILE}",
    saves_each_job=True,
    without_rate=(*OURS, *THEIRS),
    blocks={NAME: block},
)
