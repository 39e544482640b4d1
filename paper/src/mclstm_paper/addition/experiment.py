"""The addition problem: which models sum marked numbers so that it holds for other sequences."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mclstm.evaluation.comparison import wilcoxon_test
from mclstm.jobs.job import Job, Result, finished_by
from mclstm.training.order import batches_per_epoch
from mclstm_paper.addition.cell_readings import draw_cells
from mclstm_paper.addition.models import MODELS, VARIANTS
from mclstm_paper.addition.page import BLOCKS, HEADLINES, SUMMARY, error_tables
from mclstm_paper.addition.printed import FAILED, PRINTED
from mclstm_paper.addition.switches import SWITCHES
from mclstm_paper.addition.task import REGIMES, SPLITS, addition, constant, exact
from mclstm_paper.addition.training import BATCH, LEARN, regimes_with
from mclstm_paper.earlier_results import restored_errors
from mclstm_paper.experiment import Drawing, Experiment
from mclstm_paper.options import Options, Plan, chosen_models, other_rate, rate_folder, scale, seed_blocks
from mclstm_paper.results import SIGNIFICANT, Claim, Row, claim, interval_row
from mclstm_paper.seed_rows import failure_rows, find, joined_results, numbers, paired
from mclstm_paper.statistics import Interval, mean_interval, welch_test

__all__ = ["EXPERIMENT"]

NAME = "addition"
SEEDS, EPOCHS = 100, 100
PER_EPOCH = batches_per_epoch(SPLITS["train"], BATCH)
# The mean error of MC-LSTM is then below that of every baseline in every regime.
QUICK = (5, 25 * PER_EPOCH)
RATES = MODELS | VARIANTS
# How the test sets of the stated protocol differ from those behind the paper's numbers.
OTHER_SETS = {
    "reference": "though half of the paper's test samples were training samples and none of ours is",
    "seq length": "on a test set that, unlike the paper's, is not drawn from the stream of the training set",
    "input range": "on a test set that, unlike the paper's, is not drawn from the stream of the training set",
    "count": "though ours is of exactly 20 summands, the paper's of 2 to 20",
    "combo": "though ours is of exactly 10 summands, the paper's of 2 to 10",
}


def jobs(plan: Plan) -> list[Job]:
    """One job for every model and block of seeds."""
    options = plan.options
    seeds, updates = scale(options, QUICK, (SEEDS, EPOCHS * PER_EPOCH), PER_EPOCH)
    models = chosen_models(NAME, tuple(MODELS), tuple(VARIANTS), options)
    rate = {model: other_rate(options, model, RATES[model]) for model in models}
    return [
        Job(
            f"{rate_folder(model, rate[model])}/seeds-{block[0]}-{block[-1]}",
            LEARN,
            {
                "model": model,
                "protocol": options.protocol,
                "seeds": block,
                "learning_rate": rate[model],
                "evaluate_every": 10 * PER_EPOCH,
                "samples": dict(SPLITS),
            },
            updates,
        )
        for model in models
        for block in seed_blocks(plan, seeds)
    ]


def rows(plan: Plan, results: Mapping[str, Result]) -> list[Row]:
    """Mean squared error with its interval for every model and regime, and how many runs failed."""
    options = plan.options
    table = []
    for (model,), members in finished_by(jobs(plan), results, "model").items():
        joined = joined_results([results[job.name] for job in members])
        more = {
            "trained": members[0].goal,
            "seeds": [seed for job in members for seed in job.parameters["seeds"]],
            "learning_rate": members[0].parameters["learning_rate"] or RATES[model],
            "protocol": options.protocol,
        }
        for regime, values in joined["test"].items():
            table += error_rows(model, regime, numbers(values), joined["failed"], **more)
    return table


def error_rows(model: str, regime: str, values: np.ndarray, failed: Sequence[int], **more: Any) -> list[Row]:
    """Mean over the runs whose error is finite, and how many failed in training or in the test.

    failed: the update at which each run failed, -1 if none. more: further fields of every row, such as the
    seeds of the values.
    """
    errors = np.where(np.isfinite(values), values, math.nan)
    printed = PRINTED.get(model, {}).get(regime, (None, None))[0]
    more = {"runs": len(errors), **more}
    mean = interval_row(regime, model, "mse", mean_interval(errors), errors.tolist(), printed, **more)
    return [mean, *failure_rows(regime, model, errors, failed, FAILED.get(model), **more)]


def result_from_rows(job: Job, rows: Sequence[Row]) -> Result | None:
    """The result of a job from the rows of a result file."""
    return restored_errors(job, rows, job.parameters["learning_rate"] or RATES[job.parameters["model"]])


def trivial(options: Options) -> list[Row]:
    """The best constant of the training regime, and the sum itself."""
    table = []
    for name, (regime, samples) in regimes_with(long=True).items():
        data = addition("test", regime, protocol=options.protocol, samples=samples)
        for model, sums in {"constant": constant(data), "exact": exact(data.x, data.a)}.items():
            error = float((sums.double() - data.y.double()).square().mean())
            table += error_rows(model, name, np.array([error]), [-1], trained=0)
    return table


def claims(rows: Sequence[Row]) -> list[Claim]:
    """The paper's comparisons: its own errors are reached, and rivals are worse.

    For a static R in every regime; for a time-dependent one in every regime but that of training.
    """
    comparisons = []
    baselines = [name for name in MODELS if not name.startswith("mclstm")]
    for regime in REGIMES:
        ours = find(rows, "mclstm", regime, "mse")
        if ours is not None:
            comparisons += [reached(ours, regime), *below(rows, "mclstm", regime, list(MODELS))]
    for regime in (name for name in REGIMES if name != "reference"):
        comparisons += below(rows, "mclstm-dynamic", regime, baselines)
    return comparisons


def below(rows: Sequence[Row], model: str, regime: str, rivals: Sequence[str]) -> list[Claim]:
    """Whether a model's errors are below each rival's, of those that did not all fail."""
    by_model = {name: find(rows, name, regime, "mse") for name in (model, *rivals)}
    with_runs = {name: row for name, row in by_model.items() if row is not None and row["n"]}
    return [
        lower(with_runs[model], row, f"{model}, {regime}: the error is below that of {name}")
        for name, row in with_runs.items()
        if model in with_runs and name != model
    ]


def reached(ours: Row, regime: str) -> Claim:
    """Whether our mean is at most the paper's; if not, Welch's test says how likely that is by chance."""
    if ours["n"] == 0:
        return claim(at_most(ours, regime), "mean; every run failed", None, False)
    holds = bool(ours["value"] <= ours["paper"])
    if holds or ours["n"] < 2:
        return claim(at_most(ours, regime), "mean", None, holds)
    printed, half = PRINTED["mclstm"][regime]
    assert half is not None
    theirs = Interval(printed, printed - half, printed + half, SEEDS)
    p = welch_test(Interval(ours["value"], ours["low"], ours["high"], ours["n"]), theirs, "greater").p
    return claim(at_most(ours, regime), "mean; p of Welch's test that ours is larger", p, holds)


def at_most(ours: Row, regime: str) -> str:
    """The claim about the paper's number in words, with the difference between the test sets."""
    text = f"mclstm, {regime}: the error is at most the paper's {ours['paper']:g}"
    return text if ours.get("protocol") == "published" else f"{text}, {OTHER_SETS[regime]}"


def lower(ours: Row, theirs: Row, text: str) -> Claim:
    """Wilcoxon's signed-rank test on the seeds both models have, as pairs."""
    first, second = paired(ours, theirs)
    p = wilcoxon_test(first, second, "less").p if first.size else math.nan  # no seed in common
    return claim(text, f"Wilcoxon test, {first.size} pairs", p, bool(p < SIGNIFICANT))


def figures(plan: Plan, results: Mapping[str, Result]) -> Drawing:
    """Cells over time, of the plain sum if it was run, else of the table's MC-LSTM."""
    by_model = {job.parameters["model"]: job for job in reversed(jobs(plan)) if job.name in results}
    for model in ("mclstm-sum", "mclstm"):
        if model in by_model:
            job = by_model[model]
            return draw_cells(job, results[job.name], plan.jobs_dir / job.name)
    return {}, {}


EXPERIMENT = Experiment(
    name=NAME,
    models=tuple(MODELS),
    variants=tuple(VARIANTS),
    jobs=jobs,
    rows=rows,
    result_from_rows=result_from_rows,
    trivial=trivial,
    claims=claims,
    table=error_tables,
    accepts=("epochs", "block", "rates", "add"),
    figures_of_jobs=figures,
    saves_each_job=True,
    expected=lambda protocol: PRINTED,
    blocks=BLOCKS,
    summary=SUMMARY,
    headlines=HEADLINES,
    switches=SWITCHES,
)
