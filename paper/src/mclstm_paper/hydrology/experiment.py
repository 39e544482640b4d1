"""Rain to runoff: every member of an MC-LSTM or an LSTM is a job; ensembles average their simulations."""

from collections.abc import Mapping, Sequence
from typing import Any

from mclstm.config import load_config
from mclstm.config.same_model import conserving
from mclstm.evaluation.comparison import COMPARED
from mclstm.evaluation.ensemble import model_scores, read_members
from mclstm.jobs.job import Job, Result
from mclstm_paper.experiment import Experiment
from mclstm_paper.hydrology.models import EXTRA, MODELS, PREFIX, SCALES, config_of, scheme_of, split_of
from mclstm_paper.hydrology.page import BLOCKS, HEADLINES, SUMMARY, comparison_table
from mclstm_paper.hydrology.printed import in_papers_setting
from mclstm_paper.hydrology.recipe_page import RECIPE_BLOCKS
from mclstm_paper.hydrology.record import rows_of, with_costs
from mclstm_paper.hydrology.switches import SWITCHES
from mclstm_paper.hydrology.training import RUN
from mclstm_paper.options import Options, Plan, chosen_models
from mclstm_paper.results import Row

__all__ = ["EXPERIMENT"]

NAME = "hydrology"


def jobs(plan: Plan) -> list[Job]:
    """One job per member, member by member, so that an early end leaves the same of every model."""
    options = plan.options
    count = options.seeds or SCALES[options.profile].members
    members = range(options.first_seed, options.first_seed + count)
    models = chosen_models(NAME, tuple(MODELS), tuple(EXTRA), options)
    return [
        Job(job_name(model, member, options), RUN, parameters(model, member, options), goal=1)
        for member in members
        for model in models
    ]


def parameters(model: str, member: int, options: Options) -> dict[str, Any]:
    """What a job is: its config; and the period it scores, where that is not the test period."""
    split = {"split": split_of(options)} if options.no_test else {}
    return {"config": config_of(model, options, member), **split}


def job_name(model: str, member: int, options: Options) -> str:
    """The folder of a member; a scheme that is not the protocol's own has a folder of its own.

    >>> job_name("mclstm", 3, Options()), job_name("mclstm", 3, Options(scheme="last"))
    ('mclstm-3', 'last/mclstm-3')
    """
    own = scheme_of(options) == scheme_of(options._replace(scheme=None))
    return f"{model}-{member}" if own else f"{scheme_of(options)}/{model}-{member}"


def rows(plan: Plan, results: Mapping[str, Result]) -> list[Row]:
    """The single model and its ensemble, of the members that are finished.

    The runs are read, not the results of the jobs: an ensemble is scored as the mean of simulations.
    """
    options = plan.options
    table: list[Row] = []
    for model in chosen_models(NAME, tuple(MODELS), tuple(EXTRA), options):
        finished = [job for job in jobs(plan) if job.name in results and of_model(job, model)]
        runs = [plan.jobs_dir / job.name for job in finished]
        if not runs:
            continue
        flows = read_members(runs, split_of(options))
        scores = model_scores(model, flows, conserving(load_config(runs[0] / "config.yaml")))
        scored = rows_of(scores, setting(flows[0].sizes["site"], options), in_papers_setting(flows[0]))
        seeds = {"seeds": [job.parameters["config"]["training"]["seed"] for job in finished]}
        table += [row | seeds for row in with_costs(scored, runs)]
    return table


def of_model(job: Job, model: str) -> bool:
    return bool(job.parameters["config"]["name"] == PREFIX + model)


def setting(basins: int, options: Options) -> str:
    """How many basins; the scheme, where it is not the protocol's; the period, where it is not the test's.

    >>> setting(447, Options()), setting(1, Options(scheme="last"))
    ('447 basins', '1 basins, scheme last')
    >>> setting(447, Options(no_test=True))
    '447 basins, validation'
    """
    own = scheme_of(options) == scheme_of(options._replace(scheme=None))
    scheme = "" if own else f", scheme {scheme_of(options)}"
    return f"{basins} basins{scheme}" + (f", {split_of(options)}" if options.no_test else "")


def table(rows: Sequence[Row]) -> str:
    """The scores in the shape of the paper's table, one table per setting."""
    scores = [row for row in rows if row["metric"] in COMPARED]
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
    accepts=("data", "basins", "scheme", "cells", "no_test"),
    shares_file=True,
    saves_each_job=True,
    blocks={**BLOCKS, **RECIPE_BLOCKS},
    summary=SUMMARY,
    headlines=HEADLINES,
    switches=SWITCHES,
)
