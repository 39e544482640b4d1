"""Rain to runoff: members of an MC-LSTM and an LSTM, each a job, and the ensembles of their simulations."""

from collections.abc import Mapping, Sequence

import numpy as np

from mclstm.config import load_config
from mclstm.config.members import conserving
from mclstm.evaluation.comparison import COMPARED
from mclstm.evaluation.ensemble import read_flows, require_alike, scored
from mclstm.jobs.execution import Job, Result
from mclstm.report.comparison.costs import with_costs
from mclstm.report.comparison.paper import is_papers_setting
from mclstm.report.comparison.rows import rows_of
from mclstm.report.comparison.runs import PREFIX
from mclstm.report.comparison.score_table import comparison_table
from mclstm.report.results import Row
from mclstm_paper.experiment import Experiment, Options, chosen
from mclstm_paper.hydrology.models import EXTRA, MODELS, SCALES, config_of, scheme_of
from mclstm_paper.hydrology.training import RUN

__all__ = ["EXPERIMENT"]

NAME = "hydrology"
PREDICTIONS = "evaluation/test/predictions.nc"


def jobs(options: Options) -> list[Job]:
    """One job a member; member by member, so that an early end leaves the same of every model."""
    count = options.seeds or SCALES[options.profile].members
    members = range(options.first_seed, options.first_seed + count)
    models = chosen(NAME, tuple(MODELS), tuple(EXTRA), options)
    return [
        Job(job_name(model, member, options), RUN, {"config": config_of(model, options, member)}, goal=1)
        for member in members
        for model in models
    ]


def job_name(model: str, member: int, options: Options) -> str:
    """The folder of a member; a scheme that is not the protocol's own has a folder of its own.

    >>> job_name("mclstm", 3, Options()), job_name("mclstm", 3, Options(scheme="last"))
    ('mclstm-3', 'last/mclstm-3')
    """
    own = scheme_of(options) == scheme_of(options._replace(scheme=None))
    return f"{model}-{member}" if own else f"{scheme_of(options)}/{model}-{member}"


def rows(options: Options, results: Mapping[str, Result]) -> list[Row]:
    """The single model and its ensemble, of the members that are finished.

    The runs are read, not the results of the jobs: an ensemble is scored as the mean of simulations.
    """
    made: list[Row] = []
    for model in chosen(NAME, tuple(MODELS), tuple(EXTRA), options):
        done = [job for job in jobs(options) if job.name in results and of_model(job, model)]
        runs = [options.root / job.name for job in done]
        if not runs:
            continue
        flows = [read_flows(run / PREDICTIONS) for run in runs]
        for run, other in zip(runs[1:], flows[1:], strict=True):
            require_alike(flows[0], other, (str(runs[0]), str(run)))
        sites = [str(site) for site in flows[0]["site"].to_numpy()]
        first, last = (np.datetime_as_string(flows[0]["time"].to_numpy()[at], unit="D") for at in (0, -1))
        kept = conserving(load_config(runs[0] / "config.yaml"))
        like_paper = is_papers_setting(sites, first, last)
        found = rows_of(scored(model, flows, kept), setting(sites, options), like_paper)
        seeds = {"seeds": [job.parameters["config"]["training"]["seed"] for job in done]}
        made += [row | seeds for row in with_costs(found, runs)]
    return made


def of_model(job: Job, model: str) -> bool:
    return bool(job.parameters["config"]["name"] == PREFIX + model)


def setting(sites: Sequence[str], options: Options) -> str:
    """The basins; and the scheme, where it is not the one of the protocol.

    >>> setting(["01022500"] * 447, Options()), setting(["01022500"], Options(scheme="last"))
    ('447 basins', '1 basins, scheme last')
    """
    own = scheme_of(options) == scheme_of(options._replace(scheme=None))
    return f"{len(sites)} basins" + ("" if own else f", scheme {scheme_of(options)}")


def table(found: Sequence[Row]) -> str:
    """The scores in the shape of the paper's table, a table for each setting."""
    scores = [row for row in found if row["metric"] in COMPARED]
    settings = dict.fromkeys(row["setting"] for row in scores)
    parts = [
        f"{name}\n\n{comparison_table([row for row in scores if row['setting'] == name])}"
        for name in settings
    ]
    return "\n\n".join(parts)


def with_ensembles(models: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for model in models for name in (model, f"{model}-ensemble"))


EXPERIMENT = Experiment(
    name=NAME,
    models=with_ensembles(tuple(MODELS)),
    variants=with_ensembles(tuple(EXTRA)),
    jobs=jobs,
    rows=rows,
    table=table,
    hears=("data", "basins", "scheme", "cells"),
    shared=True,
    every_job=True,
)
