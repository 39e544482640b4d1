"""The toy experiment: jobs, rows, claims, and its entry for the registry."""

from collections.abc import Mapping, Sequence

from mclstm.jobs.job import Job, Result, finished_by
from mclstm_paper.experiment import Experiment
from mclstm_paper.options import Plan, chosen_models, scale, seed_blocks
from mclstm_paper.results import Claim, Row, claim, row
from toy.page import BLOCKS, DRAWINGS, SUMMARY
from toy.switches import SWITCHES
from toy.task import LEARN, MODELS

__all__ = ["EXPERIMENT"]

NAME, SETTING = "toy", "uniform"
PRINTED = {"mean": 0.25, "first": 0.5}


def jobs(plan: Plan) -> list[Job]:
    """One job for each model and block of seeds."""
    seeds, updates = scale(plan.options, quick=(2, 1), paper=(2, 1))
    return [
        Job(
            f"{model}/seeds-{block[0]}-{block[-1]}",
            LEARN,
            {"model": model, "protocol": plan.options.protocol, "seeds": block},
            updates,
        )
        for model in chosen_models(NAME, tuple(MODELS), (), plan.options)
        for block in seed_blocks(plan, seeds)
    ]


def rows(plan: Plan, results: Mapping[str, Result]) -> list[Row]:
    """The median error of each model."""
    table = []
    for (model,), group in finished_by(jobs(plan), results, "model").items():
        errors = [error for job in group for error in results[job.name]["test"]]
        seeds = [seed for job in group for seed in job.parameters["seeds"]]
        about = {"trained": group[0].goal, "seeds": seeds}
        table.append(row(SETTING, model, "mse", errors, PRINTED[model]) | about)
    return table


def claims(rows: Sequence[Row]) -> list[Claim]:
    """The mean of all numbers is a better estimate than the first of them."""
    errors = {row["model"]: row["value"] for row in rows}
    if set(errors) != set(MODELS):
        return []
    return [claim("mean is better than first", "medians", None, errors["mean"] < errors["first"])]


def table(rows: Sequence[Row]) -> str:
    lines = [f"| {row['model']} | {row['value']:.2g} |" for row in rows]
    return "\n".join(["| model | mse |", "|:--|:--|", *lines])


EXPERIMENT = Experiment(
    name=NAME,
    models=tuple(MODELS),
    variants=(),
    jobs=jobs,
    rows=rows,
    table=table,
    accepts=("block",),
    claims=claims,
    expected=lambda protocol: dict.fromkeys(MODELS, (SETTING,)),
    blocks=BLOCKS,
    drawings=DRAWINGS,
    summary=SUMMARY,
    switches=SWITCHES,
)
