"""The addition problem: who sums two marked numbers of a hundred so that it holds for other sequences."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mclstm.evaluation.statistics import Interval, mean_interval, welch_test, wilcoxon_test
from mclstm.jobs.execution import Job, Result, finished_by
from mclstm.report.results import SIGNIFICANT, Claim, Row, claim, interval_row
from mclstm.training.order import batches_per_epoch
from mclstm_paper.addition.cells import draw_cells
from mclstm_paper.addition.models import MODELS, VARIANTS
from mclstm_paper.addition.task import REGIMES, SPLITS, addition, constant, exact
from mclstm_paper.addition.training import BATCH, LEARN, regimes_with
from mclstm_paper.addition.variants_table import paired
from mclstm_paper.arithmetic.printed import ADDITION, ADDITION_FAILED
from mclstm_paper.arithmetic.success import failure_rows, find, numbers, together
from mclstm_paper.arithmetic.tables import error_tables
from mclstm_paper.earlier_results import restored_errors
from mclstm_paper.experiment import (
    Drawing,
    Experiment,
    Options,
    at_rate,
    blocks,
    chosen,
    other_rate,
    scale,
)

__all__ = ["EXPERIMENT"]

NAME = "addition"
SEEDS, EPOCHS = 100, 100
PER_EPOCH = batches_per_epoch(SPLITS["train"], BATCH)
# The mean error of MC-LSTM is then below that of every baseline in every regime.
QUICK = (5, 25 * PER_EPOCH)
RATES = MODELS | VARIANTS
# How the test sets of the stated protocol differ from those the paper's numbers are of.
OTHER_SETS = {
    "reference": "though half of the paper's test samples were training samples and none of ours is",
    "seq length": "on a test set that, unlike the paper's, is not drawn from the stream of the training set",
    "input range": "on a test set that, unlike the paper's, is not drawn from the stream of the training set",
    "count": "though ours is of exactly 20 summands, the paper's of 2 to 20",
    "combo": "though ours is of exactly 10 summands, the paper's of 2 to 10",
}


def jobs(options: Options) -> list[Job]:
    """One job for every model and block of seeds."""
    seeds, updates = scale(options, QUICK, (SEEDS, EPOCHS * PER_EPOCH), PER_EPOCH)
    models = chosen(NAME, tuple(MODELS), tuple(VARIANTS), options)
    rate = {model: other_rate(options, model, RATES[model]) for model in models}
    return [
        Job(
            f"{at_rate(model, rate[model])}/seeds-{block[0]}-{block[-1]}",
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
        for block in blocks(options, seeds)
    ]


def rows(options: Options, results: Mapping[str, Result]) -> list[Row]:
    """Mean squared error with its interval for every model and regime, and how many runs failed."""
    made = []
    for (model,), members in finished_by(jobs(options), results, "model").items():
        found = together([results[job.name] for job in members])
        more = {
            "trained": members[0].goal,
            "seeds": [seed for job in members for seed in job.parameters["seeds"]],
            "learning_rate": members[0].parameters["learning_rate"] or RATES[model],
            "protocol": options.protocol,
        }
        for regime, values in found["test"].items():
            made += error_rows(model, regime, numbers(values), found["failed"], **more)
    return made


def error_rows(model: str, regime: str, values: np.ndarray, failed: Sequence[int], **more: Any) -> list[Row]:
    """Mean over the runs whose error is finite, and how many failed in training or in the test.

    failed: the update at which each run failed, -1 if none. more: further fields of every row, such as whose
    the values are, in their order.
    """
    errors = np.where(np.isfinite(values), values, math.nan)
    printed = ADDITION.get(model, {}).get(regime, (None, None))[0]
    more = {"runs": len(errors), **more}
    mean = interval_row(regime, model, "mse", mean_interval(errors), errors.tolist(), printed, **more)
    return [mean, *failure_rows(regime, model, errors, failed, ADDITION_FAILED.get(model), **more)]


def restored(job: Job, found: Sequence[Row]) -> Result | None:
    """What a file holds of a job."""
    return restored_errors(job, found, job.parameters["learning_rate"] or RATES[job.parameters["model"]])


def trivial(options: Options) -> list[Row]:
    """The best constant of the training regime, and the sum itself."""
    made = []
    for regime, (asked, samples) in regimes_with(long=True).items():
        data = addition("test", asked, protocol=options.protocol, samples=samples)
        for model, found in {"constant": constant(data), "exact": exact(data.x, data.a)}.items():
            error = float((found.double() - data.y.double()).square().mean())
            made += error_rows(model, regime, np.array([error]), [-1], trained=0)
    return made


def claims(found: Sequence[Row]) -> list[Claim]:
    """The paper's comparisons: its own errors are reached, and rivals are worse.

    With a static R in every regime, with one that depends on time wherever a regime is not that of training.
    """
    made = []
    baselines = [name for name in MODELS if not name.startswith("mclstm")]
    for regime in REGIMES:
        ours = find(found, "mclstm", regime, "mse")
        if ours is not None:
            made += [reached(ours, regime), *below(found, "mclstm", regime, list(MODELS))]
    for regime in (name for name in REGIMES if name != "reference"):
        made += below(found, "mclstm-dynamic", regime, baselines)
    return made


def below(found: Sequence[Row], model: str, regime: str, rivals: Sequence[str]) -> list[Claim]:
    """Whether a model's errors are below each rival's, of those that did not all fail."""
    by_model = {name: find(found, name, regime, "mse") for name in (model, *rivals)}
    there = {name: row for name, row in by_model.items() if row is not None and row["n"]}
    return [
        lower(there[model], row, f"{model}, {regime}: the error is below that of {name}")
        for name, row in there.items()
        if model in there and name != model
    ]


def reached(ours: Row, regime: str) -> Claim:
    """Whether our mean is at most the paper's; and if not, how surprising that is of two samples of seeds."""
    if ours["n"] == 0:
        return claim(at_most(ours, regime), "mean; every run failed", None, False)
    holds = bool(ours["value"] <= ours["paper"])
    if holds or ours["n"] < 2:
        return claim(at_most(ours, regime), "mean", None, holds)
    printed, half = ADDITION["mclstm"][regime]
    assert half is not None
    theirs = Interval(printed, printed - half, printed + half, SEEDS)
    p = welch_test(Interval(ours["value"], ours["low"], ours["high"], ours["n"]), theirs, "greater").p
    return claim(at_most(ours, regime), "mean; p of Welch's test that ours is larger", p, holds)


def at_most(ours: Row, regime: str) -> str:
    """The claim about the paper's number in words, with what the two test sets do not share."""
    text = f"mclstm, {regime}: the error is at most the paper's {ours['paper']:g}"
    return text if ours.get("protocol") == "published" else f"{text}, {OTHER_SETS[regime]}"


def lower(ours: Row, theirs: Row, text: str) -> Claim:
    """Wilcoxon's signed-rank test on the seeds both models have, as pairs."""
    first, second = paired(ours, theirs)
    p = wilcoxon_test(first, second, "less").p if first.size else math.nan  # no seed in common
    return claim(text, f"Wilcoxon test, {first.size} pairs", p, bool(p < SIGNIFICANT))


def figures(options: Options, results: Mapping[str, Result], root: Path) -> Drawing:
    """Cells over time, of the plain sum if it was asked for, else of the table's MC-LSTM."""
    by_model = {job.parameters["model"]: job for job in reversed(jobs(options)) if job.name in results}
    for model in ("mclstm-sum", "mclstm"):
        if model in by_model:
            job = by_model[model]
            return draw_cells(job, results[job.name], root / job.name)
    return {}, {}


EXPERIMENT = Experiment(
    name=NAME,
    models=tuple(MODELS),
    variants=tuple(VARIANTS),
    jobs=jobs,
    rows=rows,
    restored=restored,
    trivial=trivial,
    claims=claims,
    table=error_tables,
    hears=("epochs", "block", "rates", "add"),
    figures=figures,
    every_job=True,
)
