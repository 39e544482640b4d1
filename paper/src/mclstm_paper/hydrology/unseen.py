"""Basins never seen: a model trained on four folds of the basins is scored on the fifth, for each fold."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import xarray as xr

from mclstm.config import check_config
from mclstm.config.same_model import conserving
from mclstm.deploy.new_data import Source
from mclstm.deploy.predict import predict
from mclstm.errors import ConfigError
from mclstm.evaluation.comparison import COMPARED
from mclstm.evaluation.ensemble import model_scores
from mclstm.evaluation.prediction_dataset import as_netcdf, read_flows
from mclstm.evaluation.score_tables import score_table
from mclstm.jobs.job import Job, Result, Work
from mclstm.jobs.monitor import JobMonitor
from mclstm.report.markdown import NOTHING
from mclstm.training.atomic import write_bytes_atomic, write_text_atomic
from mclstm.training.folder import RunFolder
from mclstm.training.state import read_progress
from mclstm.training_job import train_as_job
from mclstm_paper.experiment import Experiment
from mclstm_paper.hydrology.folds import FOLDS, folds_of
from mclstm_paper.hydrology.models import EXTRA, MODELS, basins_of, config_of, require_stated, split_of
from mclstm_paper.hydrology.page import comparison_table, not_measured, read
from mclstm_paper.hydrology.process_models import FILE as PROCESS
from mclstm_paper.hydrology.record import rows_of, with_costs
from mclstm_paper.options import Options, Plan, chosen_models
from mclstm_paper.results import Row

__all__ = ["EXPERIMENT", "FLOWS", "divisions", "job_name"]

NAME = "hydrology-unseen"
TRIED = ("hybrid",)
OTHERS = tuple(name for name in (*MODELS, *EXTRA) if name not in TRIED)
FLOWS = "unseen.nc"  # what a run simulates where it was not trained
KEPT = ["simulated", "observed", "inflow"]
HBV = ("hbv-gradient", "hbv-evolution")
UNSEEN = " never seen, (random|region) folds"


def learn_elsewhere(
    folder: Path, monitor: JobMonitor, goal: int, config: dict[str, Any], unseen: list[str], split: str
) -> Result:
    """Train on the basins of the config, and simulate and score a period at those it has not seen."""
    run = RunFolder(folder)
    train_as_job(run, monitor, config)
    write_text_atomic(folder / "unseen.yaml", f"sites: {json.dumps(unseen)}\n")
    whole = predict(folder, Source(config["data"]["path"], columns=folder / "unseen.yaml"))
    flows = whole[KEPT].sel(time=slice(*config["periods"][split]))
    write_bytes_atomic(folder / FLOWS, as_netcdf(flows))
    scores = score_table(flows, COMPARED)
    progress = read_progress(run.weights())
    return {
        "conserving": conserving(check_config(config)),
        "updates": progress.update,
        "validation": progress.best,
        "sites": scores["site"].tolist(),
        "scores": {name: scores[name].tolist() for name in COMPARED},
    }


WORK = Work("hydrology, unseen basins", learn_elsewhere)


def jobs(plan: Plan) -> list[Job]:
    """One job per kind of folds, model, seed and fold; the folds of a seed come together."""
    options = plan.options
    require_stated(NAME, options)
    divided = divisions(options)
    return [
        Job(job_name(model, kind, fold, seed), WORK, parameters(model, folds, fold, seed, options), goal=1)
        for seed in seeds_of(options)
        for kind, folds in divided.items()
        for model in chosen_models(NAME, TRIED, OTHERS, options)
        for fold in range(len(folds))
    ]


def divisions(options: Options) -> dict[str, list[list[str]]]:
    """The folds of each kind that the user asks for."""
    for kind in options.settings or ():
        if kind not in FOLDS:
            raise ConfigError(f"{NAME} has no folds {kind!r}. Choose from {', '.join(FOLDS)}.")
    basins = basins_of(options)
    if options.data is None or not basins:
        raise ConfigError(f"{NAME} needs --data, the folder of CAMELS-US, and --basins, those to divide.")
    chosen = [kind for kind in FOLDS if options.settings is None or kind in options.settings]
    return {kind: folds_of(kind, basins, options.data) for kind in chosen}


def parameters(
    model: str, folds: Sequence[Sequence[str]], fold: int, seed: int, options: Options
) -> dict[str, Any]:
    others = tuple(basin for at, part in enumerate(folds) if at != fold for basin in part)
    config = config_of(model, options._replace(basins=others), seed)
    return {"config": config, "unseen": list(folds[fold]), "split": split_of(options)}


def job_name(model: str, kind: str, fold: int, seed: int) -> str:
    """The folder of a job.

    >>> job_name("hybrid", "region", 4, 0)
    'hybrid/region/fold-4-seed-0'
    """
    return f"{model}/{kind}/fold-{fold}-seed-{seed}"


def seeds_of(options: Options) -> range:
    return range(options.first_seed, options.first_seed + (options.seeds or 1))


def rows(plan: Plan, results: Mapping[str, Result]) -> list[Row]:
    """Scores over all basins, each by the run that has not seen it; of seeds whose folds are finished."""
    options = plan.options
    table: list[Row] = []
    for kind, folds in divisions(options).items():
        for model in chosen_models(NAME, TRIED, OTHERS, options):
            numbers = range(len(folds))
            every = {seed: [job_name(model, kind, at, seed) for at in numbers] for seed in seeds_of(options)}
            whole = {seed: names for seed, names in every.items() if all(name in results for name in names)}
            if whole:
                table += model_rows(plan, model, kind, whole, results)
    return table


def model_rows(
    plan: Plan, model: str, kind: str, names: Mapping[int, Sequence[str]], results: Mapping[str, Result]
) -> list[Row]:
    members = [joined([plan.jobs_dir / name for name in folds]) for folds in names.values()]
    first = next(iter(names.values()))[0]
    split = f", {split_of(plan.options)}" if plan.options.no_test else ""
    setting = f"{members[0].sizes['site']} basins never seen, {kind} folds{split}"
    scores = model_scores(model, members, results[first]["conserving"])
    scored = rows_of(scores, setting, like_paper=False)
    runs = [plan.jobs_dir / name for folds in names.values() for name in folds]
    return [row | {"seeds": list(names)} for row in with_costs(scored, runs)]


def joined(runs: Sequence[Path]) -> xr.Dataset:
    """The simulations of all folds, each of its own basins, as one."""
    return xr.concat([read_flows(run / FLOWS) for run in runs], dim="site").sortby("site")


def table(rows: Sequence[Row]) -> str:
    """The scores, one table per setting."""
    scores = [row for row in rows if row["metric"] in COMPARED]
    parts = [
        f"{name}\n\n{comparison_table([row for row in scores if row['setting'] == name])}"
        for name in dict.fromkeys(row["setting"] for row in scores)
    ]
    return "\n\n".join(parts) or NOTHING


def block(root: Path) -> str:
    """What to expect at basins that no training has seen, and what HBV gets from each basin's own flow."""
    rows = read(root, "unseen.json")["rows"]
    return table(rows + calibrated(root, rows)) if rows else not_measured("unseen.json")


def calibrated(root: Path, rows: Sequence[Row]) -> list[Row]:
    """HBV's rows at as many basins in the same period, as a setting of their own."""
    known = {re.sub(UNSEEN, "", row["setting"]) for row in rows}
    own = [row for row in read(root, PROCESS)["rows"] if row["model"] in HBV and row["setting"] in known]
    return [row | {"setting": f"{row['setting']}, calibrated at each"} for row in own]


EXPERIMENT = Experiment(
    name=NAME,
    protocols=("stated",),
    models=tuple(name for model in TRIED for name in (model, f"{model}-ensemble")),
    variants=tuple(name for model in OTHERS for name in (model, f"{model}-ensemble")),
    settings=FOLDS,
    jobs=jobs,
    rows=rows,
    table=table,
    accepts=("settings", "data", "basins", "scheme", "cells", "no_test"),
    file="hydrology/unseen.json",
    saves_each_job=True,
    blocks={NAME: block},
)
