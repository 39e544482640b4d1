"""A model that has never seen a basin, trained on with one, three or nine years of its flow.

It begins with the runs of `hydrology-unseen` with random folds, in the same folder of experiments.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from mclstm.errors import ConfigError
from mclstm.evaluation.prediction_dataset import read_flows
from mclstm.evaluation.score_tables import score_table
from mclstm.jobs.job import Job, Result
from mclstm.report.markdown import markdown
from mclstm_paper.experiment import Experiment
from mclstm_paper.hydrology import unseen
from mclstm_paper.hydrology.basins import THIRTY
from mclstm_paper.hydrology.models import PERIODS, config_of, require_stated, split_of
from mclstm_paper.hydrology.page import not_measured, read
from mclstm_paper.hydrology.training import RUN
from mclstm_paper.options import Options, Plan
from mclstm_paper.results import Row, row

__all__ = ["EXPERIMENT"]

NAME = "hydrology-fine-tuning"
MODEL = "hybrid"
YEARS = {1: "1 year", 3: "3 years", 9: "9 years"}
BEFORE = "before"
METRICS = ("nse", "kge", "fhv")
# Chosen before any score: a rate below the last of the hybrid's own training, and no validation to stop by,
# since somebody with one year of flow has no other years to choose by.
GENTLE: dict[str, Any] = {
    "batch_size": 16, "updates": 200, "learning_rate": 0.0005, "schedule": {}, "average": 0.98, "stride": 30,
    "peak": None,
}  # fmt: skip


class Place(NamedTuple):
    """A basin, and the run that has not seen it."""

    basin: str
    run: Path


def places(plan: Plan, seed: int) -> Iterator[Place]:
    """Every one of the thirty basins with its run, which must be finished; all basins are divided."""
    folder = plan.jobs_dir.parents[1].with_name("hydrology-unseen") / plan.jobs_dir.parent.name / "jobs"
    folds = unseen.divisions(plan.options._replace(settings=("random",)))["random"]
    for fold, basins in enumerate(folds):
        run = folder / unseen.job_name(MODEL, "random", fold, seed)
        if not (run / unseen.FLOWS).is_file():
            raise ConfigError(
                f"{NAME} begins with {run}, which is not finished. Run hydrology-unseen with the same "
                "options and --operations random first."
            )
        yield from (Place(basin, run) for basin in basins if basin in THIRTY)


def config(place: Place, years: int, options: Options, seed: int) -> dict[str, Any]:
    """The hybrid at one basin, from the weights that do not know it, with the last years of the training."""
    usual = config_of(MODEL, options._replace(basins=(place.basin,)), seed)
    last = pd.Timestamp(PERIODS["train"][1])
    first = last - pd.DateOffset(years=years) + pd.Timedelta(days=1)
    periods = {"train": [f"{first:%Y-%m-%d}", PERIODS["train"][1]], "test": PERIODS[split_of(options)]}
    training = usual["training"] | GENTLE | {"start": str(place.run.resolve())}
    training["updates"] = options.updates or training["updates"]
    return {**usual, "periods": periods, "training": training}


def jobs(plan: Plan) -> list[Job]:
    """One job per basin, number of years and seed."""
    options = plan.options
    require_stated(NAME, options)
    return [
        Job(job_name(place.basin, years, seed), RUN, {"config": config(place, years, options, seed)}, goal=1)
        for seed in seeds_of(options)
        for place in places(plan, seed)
        for years in YEARS
    ]


def job_name(basin: str, years: int, seed: int) -> str:
    """The folder of a job.

    >>> job_name("01022500", 3, 0)
    'hybrid/years-3/01022500-0'
    """
    return f"{MODEL}/years-{years}/{basin}-{seed}"


def seeds_of(options: Options) -> range:
    return range(options.first_seed, options.first_seed + (options.seeds or 1))


def rows(plan: Plan, results: Mapping[str, Result]) -> list[Row]:
    """By number of years, and before: the scores of all basins, means over the seeds that are finished."""
    every = {seed: list(places(plan, seed)) for seed in seeds_of(plan.options)}
    whole = {
        seed: here for seed, here in every.items() if all(name in results for name in names_of(here, seed))
    }
    if not whole:
        return []
    before = {seed: [scored_before(place) for place in here] for seed, here in whole.items()}
    scores = {BEFORE: before} | {
        span: {
            seed: [scored(results[job_name(place.basin, years, seed)]) for place in here]
            for seed, here in whole.items()
        }
        for years, span in YEARS.items()
    }
    basins = [place.basin for place in next(iter(whole.values()))]
    period = f", {split_of(plan.options)}" if plan.options.no_test else ""
    more = {"sites": basins, "seeds": list(whole), "n": len(whole)}
    return [
        row(f"{len(basins)} basins, {when}{period}", MODEL, name, means(by_seed, name), spread="quartiles")
        | more
        for when, by_seed in scores.items()
        for name in METRICS
    ]


def names_of(places: Sequence[Place], seed: int) -> list[str]:
    return [job_name(place.basin, years, seed) for place in places for years in YEARS]


def means(by_seed: Mapping[int, Sequence[Mapping[str, float]]], metric: str) -> list[float]:
    """The mean over seeds of a score of every basin."""
    return [
        float(value)
        for value in np.mean([[one[metric] for one in each] for each in by_seed.values()], axis=0)
    ]


def scored(result: Result) -> dict[str, float]:
    """The scores of the only site of a run."""
    return {name: float(result["scores"][name][0]) for name in METRICS}


def scored_before(place: Place) -> dict[str, float]:
    """The scores of a basin by the run that has not seen it, in the same period."""
    flows = read_flows(place.run / unseen.FLOWS).sel(site=[place.basin])
    scores = score_table(flows, METRICS)
    return {name: float(scores[name].iloc[0]) for name in METRICS}


def table(rows: Sequence[Row]) -> str:
    """One line per number of years.

    >>> cell = {"setting": "30 basins, before", "value": 0.5, "low": 0.25, "high": 0.75}
    >>> print(table([cell | {"metric": "nse"}]).splitlines()[-1])
    | 30 basins, before | 0.500 (0.250 to 0.750) |
    """
    lines: dict[str, dict[str, str]] = {}
    for cell in rows:
        text = f"{cell['value']:.3f} ({cell['low']:.3f} to {cell['high']:.3f})"
        lines.setdefault(cell["setting"], {"": cell["setting"]})[cell["metric"].upper()] = text
    return markdown(pd.DataFrame(list(lines.values())))


def block(root: Path) -> str:
    """What some years of a basin's own flow add to a model that has not seen it."""
    rows = read(root, "fine-tuning.json")["rows"]
    return table(rows) if rows else not_measured("fine-tuning.json")


EXPERIMENT = Experiment(
    name=NAME,
    protocols=("stated",),
    models=(MODEL,),
    variants=(),
    jobs=jobs,
    rows=rows,
    table=table,
    accepts=("data", "basins", "cells", "no_test"),
    file="hydrology/fine-tuning.json",
    saves_each_job=True,
    blocks={NAME: block},
)
