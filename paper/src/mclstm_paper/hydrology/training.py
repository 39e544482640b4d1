"""One job = one run of the pipeline in the job's own folder: trained, then scored on the test period once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import xarray as xr

from mclstm import pipeline
from mclstm.config import Config, check_config, load_config
from mclstm.config.members import conserving, difference, essence
from mclstm.errors import ConfigError, TrainingError
from mclstm.evaluation.metrics import score
from mclstm.evaluation.score_tables import read_table
from mclstm.jobs.execution import Result, Work
from mclstm.jobs.monitor import Watch
from mclstm.training.folder import RunFolder
from mclstm.training.progress import Show
from mclstm.training.state import read_progress

__all__ = ["RUN", "learn", "mass_errors"]


def learn(folder: Path, watch: Watch, goal: int, config: dict[str, Any], may_fail: bool = False) -> Result:
    """Train and score one run; `goal` is 1, a whole run. A run that is there already is gone on with.

    may_fail: a training that goes to NaN is a result too, as in the paper's ablation.
    """
    # As many threads as this process has been given: fixed in the run, so that it repeats bit by bit.
    section = {**config["training"], "threads": torch.get_num_threads()}
    wanted = check_config({**config, "training": section})
    run = RunFolder(folder)
    require_same(run, wanted)
    try:
        if not finished(run):
            pipeline.train_at(folder, wanted, shown(watch), watch.stopped)
    except TrainingError as error:
        if not may_fail:
            raise
        run.note(f"given up: {error}")
        return {"failed": str(error)}
    if not run.is_scored("test"):
        pipeline.evaluate(folder, "test", figures=False)
    return outcome(run)


def require_same(run: RunFolder, wanted: Config) -> None:
    """Refuse a run that was put here but is another one; name, threads and savings may differ."""
    if not run.config.is_file():
        return
    found = load_config(run.config)
    seeds = found.training.seed, wanted.training.seed
    if essence(found) != essence(wanted) or seeds[0] != seeds[1]:
        where = difference(found, wanted) if seeds[0] == seeds[1] else "training.seed"
        raise ConfigError(
            f"{run.path} holds a run with another {where} than this experiment asks for. "
            "Move it away, or choose another folder with --out."
        )


def finished(run: RunFolder) -> bool:
    """Whether a run has come to its end."""
    last = run.checkpoints / "last.safetensors"
    return last.is_file() and read_progress(last).finished


def shown(watch: Watch) -> Callable[[int, str], Any]:
    """Progress of a run as progress of a job."""

    @contextmanager
    def showing(total: int, title: str) -> Iterator[Show]:
        yield lambda done, loss, error: watch.show(done, total, f"loss {loss:.4g}")

    return showing


def outcome(run: RunFolder) -> Result:
    """What the run's files say: validation score, scores by site, error of the mass balance by site."""
    config, files = load_config(run.config), run.evaluation("test")
    scores, balance = (read_table(files / name) for name in ("metrics.csv", "mass_balance.csv"))
    weights = run.weights()
    progress = read_progress(weights)
    return {
        "conserving": conserving(config),
        "updates": progress.update,
        "validation": progress.best,
        "sites": scores["site"].tolist(),
        "scores": {name: scores[name].tolist() for name in scores.columns if name != "site"},
        "mass_errors": mass_errors(balance),
        "continuous": None if config.evaluation.restart is None else continuous(files / "predictions.nc"),
    }


def continuous(path: Path) -> list[float]:
    """NSE by site of a run straight through the period, where `simulated` began afresh now and then."""
    with xr.open_dataset(path, engine="h5netcdf", decode_timedelta=False) as file:
        pair = file["continuous"].to_numpy(), file["observed"].to_numpy()
    return [score(s, o, ["nse"])["nse"] for s, o in zip(*pair, strict=True)]


def mass_errors(balance: pd.DataFrame) -> list[float] | None:
    """|measured inflow + stored before - outflow - stored after| / (inflow + stored before) by site.

    What input scaling adds was never measured, and counts as error. None of a model without stores.

    >>> books = pd.DataFrame({"inflow": [10.0], "storage before": [0.0], "residual": [0.0]})
    >>> mass_errors(books.assign(**{"added by input scaling": [1.0]}))
    [0.1]
    """
    if "residual" not in balance:
        return None
    added = balance.get("added by input scaling", 0.0)
    available = balance["inflow"] + balance["storage before"]
    errors = (balance["residual"] - added).abs() / available.where(available > 0, 1.0)
    return [float(error) for error in errors]


RUN = Work("hydrology run", learn, formerly=("mclstm.experiments.hydrology.member.learn",))
