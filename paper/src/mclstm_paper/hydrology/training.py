"""One job is one run of the pipeline in the job's folder: trained, then scored once on one period."""

from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from mclstm import pipeline
from mclstm.config import load_config
from mclstm.config.same_model import conserving
from mclstm.errors import TrainingError
from mclstm.evaluation.metrics import score
from mclstm.evaluation.score_tables import read_table
from mclstm.jobs.job import Result, Work
from mclstm.jobs.monitor import JobMonitor
from mclstm.training.folder import RunFolder
from mclstm.training.state import read_progress
from mclstm.training_job import train_as_job

__all__ = ["RUN", "learn", "mass_errors"]


def learn(
    folder: Path,
    monitor: JobMonitor,
    goal: int,
    config: dict[str, Any],
    may_fail: bool = False,
    split: str = "test",
) -> Result:
    """Train and score one run; `goal` is 1, a whole run. A run that is already there is continued.

    may_fail: a training that goes to NaN is a result, too, as in the paper's ablation.
    split: the period to score
    """
    run = RunFolder(folder)
    try:
        trained = train_as_job(run, monitor, config)
    except TrainingError as error:
        if not may_fail:
            raise
        run.note(f"given up: {error}")
        return {"failed": str(error)}
    if not run.is_scored(split):
        pipeline.evaluate(trained, split, figures=False)
    return outcome(run, split)


def outcome(run: RunFolder, split: str) -> Result:
    """What the run's files say: validation score, scores by site, error of the mass balance by site."""
    config, files = load_config(run.config), run.evaluation(split)
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
    """NSE by site of a simulation through the whole period; `simulated` restarts now and then."""
    with xr.open_dataset(path, engine="h5netcdf", decode_timedelta=False) as file:
        pair = file["continuous"].to_numpy(), file["observed"].to_numpy()
    return [score(s, o, ["nse"])["nse"] for s, o in zip(*pair, strict=True)]


def mass_errors(balance: pd.DataFrame) -> list[float] | None:
    """|measured inflow + stored before - outflow - stored after| / (inflow + stored before) by site.

    What input scaling adds was not measured and counts as error. A model without stores has None.

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
