"""Inbound-outbound traffic: who forecasts what leaves a city, from days of which little is observed."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mclstm.errors import ConfigError
from mclstm.evaluation.comparison import wilcoxon_test
from mclstm.jobs.job import Job, Result, read_json
from mclstm_paper.experiment import Drawing, Experiment
from mclstm_paper.options import Options, Plan, chosen_models, scale
from mclstm_paper.protocols import Protocol
from mclstm_paper.results import SIGNIFICANT, Claim, Row, claim, interval_row
from mclstm_paper.seed_rows import find, numbers
from mclstm_paper.statistics import Interval, mean_interval
from mclstm_paper.traffic.aims import AIM_BLOCKS
from mclstm_paper.traffic.days import read_city
from mclstm_paper.traffic.floors import FIT, FLOORS
from mclstm_paper.traffic.models import (
    HIDDEN,
    NETWORKS,
    Setting,
    clock_of,
    our_grid,
    our_variant,
    papers_grid,
)
from mclstm_paper.traffic.page import BLOCKS, HEADLINES, day_figure, score_tables
from mclstm_paper.traffic.printed import PRINTED, REACHED
from mclstm_paper.traffic.scoring import MIDNIGHT
from mclstm_paper.traffic.switches import INTERVAL_OF_100, SWITCHES
from mclstm_paper.traffic.task import READINGS
from mclstm_paper.traffic.training import FORECAST

__all__ = ["EXPERIMENT"]

NAME = "traffic"
FLIGHTS = "flights"
FACTOR_OF_100 = 1.984  # of a t interval with 99 degrees of freedom

SCALES = {
    "quick": (3, 120),
    # The paper has 2,000 epochs, 10,000 updates. By results/traffic/cost.json this profile stays in LIMIT.
    "paper": (50, 2_000),
}  # seeds and updates
LIMIT = 8 * 3600  # s of one core
SIZES = HIDDEN[:1]  # of the paper's grid; `--cells` runs another
GRID_SHARE = 4  # a setting of the grid is trained for a quarter of a run's updates, with one seed
PAPERS = {"mclstm", "lstm"}
NOT_BLIND = ("mclstm-timeless",)  # added after test scores of others were known


def jobs(plan: Plan) -> list[Job]:
    """One job for every reading and model: a network's job chooses its settings first."""
    options = plan.options
    seeds, updates = scale(options, SCALES["quick"], SCALES["paper"])
    city = FLIGHTS if options.data is None else options.data.resolve().stem.lower()
    place = {"data": None if options.data is None else str(options.data.resolve())}
    table = []
    for reading in readings(options):
        for model in chosen_models(NAME, (*NETWORKS, *FLOORS), (), options):
            where = {"model": model, "operation": f"{city}-{reading}", "reading": reading}
            about = where | {"protocol": options.protocol, "reader": options.reader}
            name = f"{model}/{city}-{reading}"
            if model in NETWORKS:
                own = list(range(options.first_seed, options.first_seed + seeds))
                grid = [list(setting) for setting in grid_of(model, options)]
                more = {"seeds": own, "grid": grid, "grid_updates": max(1, updates // GRID_SHARE)}
                table.append(Job(f"{name}/seeds-{own[0]}-{own[-1]}", FORECAST, about | more, updates, place))
            elif reading in FLOORS[model]:
                table.append(Job(f"{name}/fit", FIT, about, 1, place))
    return table


def readings(options: Options) -> list[str]:
    """The readings that a user chose, by default all."""
    for name in options.settings or ():
        if name not in READINGS:
            raise ConfigError(f"{NAME} has no reading {name!r}. Choose from {', '.join(READINGS)}.")
    return [name for name in READINGS if options.settings is None or name in options.settings]


def grid_of(model: str, options: Options) -> list[Setting]:
    """The settings to choose from: the paper's, or those of our variants; `--cells` leaves one size."""
    if clock_of(model) != "number":
        return our_grid(model, **({} if options.cells is None else {"hidden": (options.cells,)}))
    grid = papers_grid(model, SIZES if options.cells is None else (options.cells,))
    return [one for one in grid if one.rate == 0.01][:2] if options.profile == "quick" else grid


def rows(plan: Plan, results: Mapping[str, Result]) -> list[Row]:
    """Every score of every finished job, with what its grid chose."""
    table = []
    for job in jobs(plan):
        if job.name in results:
            table += score_rows(job, results[job.name], plan.options.protocol)
    return table


def score_rows(job: Job, result: Result, protocol: Protocol) -> list[Row]:
    """The rows of one job, one per metric."""
    parameters = job.parameters
    model, setting = parameters["model"], parameters["operation"]
    city = setting.removesuffix(f"-{parameters['reading']}")
    more: dict[str, Any] = {
        "trained": job.goal if model in NETWORKS else 0,
        "choice": result["choice"],
        "trials": result["trials"],
        "scorings": result["scorings"],
        "runs": len(result["failed"]),
    }
    if "seeds" in parameters:
        more["seeds"] = parameters["seeds"]
    table = []
    for metric, values in result["test"].items():
        paper = printed(city, model, metric) if parameters["reading"] != "dense" else None
        finite = numbers(values)
        table.append(
            interval_row(setting, model, metric, interval(finite, protocol), finite.tolist(), paper, **more)
        )
    return table


def printed(city: str, model: str, metric: str) -> float | None:
    """The paper's number; the RMSE that it prints of MC-LSTM is that of midnight, and stands beside no other.

    >>> printed("berlin", "mclstm", "rmse"), printed("berlin", "mclstm", "rmse midnight")
    (None, 13.6)
    """
    scores = PRINTED.get(city, {}).get(model)
    if scores is None:
        return None
    by_metric = {MIDNIGHT if model == "mclstm" else "rmse": scores.rmse, "mae": scores.mae}
    return by_metric[metric][0] if metric in by_metric else None


def interval(values: np.ndarray, protocol: Protocol) -> Interval:
    """The mean of the runs with its 95 % interval."""
    ours = mean_interval(values)
    if not INTERVAL_OF_100.on(protocol) or ours.n < 2:
        return ours
    half = FACTOR_OF_100 * float(np.nanstd(values, ddof=1)) / math.sqrt(ours.n)
    return Interval(ours.value, ours.value - half, ours.value + half, ours.n)


def claims(rows: Sequence[Row]) -> list[Claim]:
    """The paper's claim, and our aims: against every floor, in the total, and against LSTM."""
    table = []
    for setting in dict.fromkeys(row["setting"] for row in rows):
        sparse = "-sparse-" in setting
        ours = our_variant(setting)
        table += lower(rows, setting, "mclstm", "lstm", "rmse") if sparse else []
        table += lower(rows, setting, "mclstm", "lstm", "mae") if sparse else []
        for metric in ("rmse", "rmse total"):
            for rival in ("lstm-harmonics", "lstm-timeless", *FLOORS):
                table += lower(rows, setting, ours, rival, metric)
        table += lower(rows, setting, ours, "lstm", "rmse", REACHED) if sparse else []
    return table


def lower(
    rows: Sequence[Row], setting: str, model: str, rival: str, metric: str, share: float = 1.0
) -> list[Claim]:
    """Whether a model's score is below a share of its rival's: Wilcoxon's test over the seeds, as pairs."""
    ours, theirs = (find(rows, name, setting, metric) for name in (model, rival))
    if ours is None or theirs is None:
        return []
    first, second = paired_values(ours, theirs)
    text = (
        f"{setting}: {metric} of {model} is below "
        + (f"{share:g} times " if share != 1 else "")
        + f"that of {rival}"
    )
    if first.size < 2:
        return [claim(text, "one value each", None, bool(first.mean() < share * second.mean()))]
    p = wilcoxon_test(first, share * second, "less").p
    test = f"Wilcoxon test, {first.size} seeds" + (", not blind" if model in NOT_BLIND else "")
    return [claim(text, test, p, bool(p < SIGNIFICANT))]


def paired_values(ours: Row, theirs: Row) -> tuple[np.ndarray, np.ndarray]:
    """The finite values of the seeds that both have; a floor has one value for all seeds."""
    first, second = numbers(ours["values"]), numbers(theirs["values"])
    if "seeds" in theirs:
        both = sorted(set(ours["seeds"]) & set(theirs["seeds"]))
        first = first[[ours["seeds"].index(seed) for seed in both]]
        second = second[[theirs["seeds"].index(seed) for seed in both]]
    else:
        second = np.full_like(first, second[0])
    finite = np.isfinite(first) & np.isfinite(second)
    return first[finite], second[finite]


def figures(plan: Plan, results: Mapping[str, Result]) -> Drawing:
    """A test day of a reading, sparse if possible: what leaves, counted and forecast by the networks.

    All networks whose runs lie in the folder are drawn, the paper's first, whichever this command ran.
    """
    ran = [job for job in jobs(plan) if job.name in results and job.parameters["model"] in NETWORKS]
    if not ran:
        return {}, {}
    options = plan.options
    city = read_city(None if options.data is None else str(options.data), options.reader)
    by_reading = {
        job.parameters["reading"]: finished_days(plan.jobs_dir, job.parameters["operation"])
        | {job.parameters["model"]: results[job.name]["day"]}
        for job in ran
    }
    reading = min(
        by_reading,
        key=lambda name: (-len(PAPERS & set(by_reading[name])), name == "dense", READINGS.index(name)),
    )
    days = {model: by_reading[reading][model] for model in NETWORKS if model in by_reading[reading]}
    return {"day": day_figure(city.test, days, f"{city.name}, {reading}")}, {}


def finished_days(jobs_dir: Path, operation: str) -> dict[str, Any]:
    """The test day of every network that has finished a job of this city and reading, by model."""
    days = {}
    for model in NETWORKS:
        for path in sorted((jobs_dir / model / operation).glob("*/result.json")):
            days[model] = (read_json(path) or {})["result"]["day"]
    return days


def expected(protocol: str) -> dict[str, list[str]]:
    """The readings that a result file holds of each model; the published code has none of our variants."""
    networks = [model for model in NETWORKS if protocol == "stated" or model in PAPERS]
    return {
        model: [f"{FLIGHTS}-{reading}" for reading in FLOORS.get(model, READINGS)]
        for model in (*networks, *FLOORS)
    }


EXPERIMENT = Experiment(
    name=NAME,
    models=(*NETWORKS, *FLOORS),
    variants=(),
    jobs=jobs,
    rows=rows,
    table=score_tables,
    accepts=("settings", "data", "cells", "reader"),
    settings=tuple(f"{city}-{reading}" for city in (FLIGHTS, *PRINTED) for reading in READINGS),
    claims=claims,
    figures_of_jobs=figures,
    saves_each_job=True,
    without_rate=(*NETWORKS, *FLOORS),
    expected=expected,
    blocks=BLOCKS | AIM_BLOCKS,
    headlines=HEADLINES,
    switches=SWITCHES,
)
