"""Process models that run: HBV and SAC-SMA with Snow-17, calibrated at each basin on the training years.

Their rows stand beside those of published simulations, which have neither FLV nor FHV.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from mclstm.config import check_config
from mclstm.data.series import times
from mclstm.data.windows import span
from mclstm.errors import DataError
from mclstm.evaluation.comparison import COMPARED, ModelScores
from mclstm.evaluation.process_rivals import PROCESS_RIVALS, weather_of
from mclstm.evaluation.rival_scores import record_of
from mclstm.evaluation.score_tables import score_table
from mclstm.jobs.job import Job, Result, Work, finished_by
from mclstm.jobs.monitor import JobMonitor
from mclstm.series_from_config import read_series
from mclstm_paper.experiment import Experiment
from mclstm_paper.hydrology.models import PERIODS, basins_of, data_of, require_stated, split_of
from mclstm_paper.hydrology.page import comparison_table, not_measured, read
from mclstm_paper.hydrology.record import rows_of
from mclstm_paper.options import Options, Plan, chosen_models
from mclstm_paper.results import Row

__all__ = ["EXPERIMENT"]

NAME = "hydrology-process"
FILE = "process.json"
MODELS = tuple(PROCESS_RIVALS)
BASINS = 512  # of a job: many take hardly longer than one, but a stopped job begins again
# What a search counts, and how many of it each profile makes.
SEARCHES = {
    "gradient": ("updates", {"quick": 15, "paper": 100}),
    "evolution": ("generations", {"quick": 20, "paper": 300}),
}
PUBLISHED = ("hbv-upper", "sac-sma", "vic-basin", "mhm-basin", "fuse-900")
LATITUDE = "gauge_lat"


def calibrate(
    folder: Path, monitor: JobMonitor, goal: int, model: str, data: dict[str, Any], split: str
) -> Result:
    """Calibrate a model at each basin on the training years, and score it in another period."""
    # A config reads the data; nothing in it is trained.
    unused = {"model": {"name": "mclstm", "hidden_size": 2}, "training": {"updates": 1}}
    config = check_config({"name": NAME, "data": data, "periods": PERIODS, **unused})
    series = read_series(config, require_target=True)
    train = np.zeros(len(times(series)), dtype=bool)
    train[slice(*span(series, config.periods.train_pair, "train"))] = True
    record = record_of(series, np.zeros_like(train), np.ones_like(train))
    record = record._replace(weather=weather_of(series, "tmax", "tmin"))
    counted, _ = SEARCHES[search_of(model)]
    simulated = PROCESS_RIVALS[model](record, train, **{counted: goal})
    monitor.show(goal, goal)
    target = series["discharge"]
    flows = xr.Dataset({"simulated": target.copy(data=simulated[..., 0]), "observed": target})
    scores = score_table(flows.sel(time=slice(*PERIODS[split])), COMPARED)
    return {"sites": scores["site"].tolist(), "scores": {name: scores[name].tolist() for name in COMPARED}}


WORK = Work("hydrology, process models", calibrate)


def search_of(model: str) -> str:
    """How a model is calibrated, by its name.

    >>> search_of("sac-sma-evolution")
    'evolution'
    """
    return model.rpartition("-")[2]


def jobs(plan: Plan) -> list[Job]:
    """One job for each model and each portion of the basins."""
    options = plan.options
    require_stated(NAME, options)
    basins = basins_of(options)
    if not basins:
        raise DataError(f"{NAME} needs --basins, the basins to calibrate, one per line.")
    portions = [basins[first : first + BASINS] for first in range(0, len(basins), BASINS)]
    return [
        Job(
            f"{model}/basins-{at * BASINS}-{at * BASINS + len(portion) - 1}",
            WORK,
            {"model": model, "data": data_of_basins(options, portion), "split": split_of(options)},
            goal=options.updates or SEARCHES[search_of(model)][1][options.profile],
        )
        for model in chosen_models(NAME, MODELS, (), options)
        for at, portion in enumerate(portions)
    ]


def data_of_basins(options: Options, basins: Sequence[str]) -> dict[str, Any]:
    """Precipitation, temperature and potential evapotranspiration; no attribute but the latitude."""
    pet = {"tmax": "tmax", "tmin": "tmin", "latitude": LATITUDE}
    return data_of(options, basins, ()) | {"aux": ["tmax", "tmin"], "pet": pet}


def rows(plan: Plan, results: Mapping[str, Result]) -> list[Row]:
    """Scores over all basins, of the models whose portions are all finished."""
    every = finished_by(jobs(plan), {job.name: {} for job in jobs(plan)}, "model")
    split = f", {split_of(plan.options)}" if plan.options.no_test else ""
    table: list[Row] = []
    for (model,), portions in every.items():
        if all(job.name in results for job in portions):
            frames = [
                pd.DataFrame(results[job.name]["scores"], results[job.name]["sites"]) for job in portions
            ]
            whole = pd.concat(frames)
            scores = ModelScores(model, (whole,), True)
            table += rows_of([scores], f"{len(whole)} basins{split}", like_paper=False)
    return table


def block(root: Path) -> str:
    """Our calibrations beside published simulations of process models."""
    ours = [row for row in read(root, FILE)["rows"] if row["metric"] in COMPARED]
    if not ours:
        return not_measured(FILE)
    others = [
        row for row in read(root)["rows"]
        if row["model"] in PUBLISHED and row["setting"] == ours[0]["setting"] and row["metric"] in COMPARED
    ]  # fmt: skip
    return comparison_table([row | {"paper": None} for row in ours + others])


EXPERIMENT = Experiment(
    name=NAME,
    protocols=("stated",),
    models=MODELS,
    variants=(),
    jobs=jobs,
    rows=rows,
    table=comparison_table,
    accepts=("data", "basins", "no_test"),
    file=f"hydrology/{FILE}",
    saves_each_job=True,
    without_rate=MODELS,
    blocks={NAME: block},
)
