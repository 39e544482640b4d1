"""The addition problem: who sums two marked numbers of a hundred so that it holds for other sequences."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from mclstm.evaluation.statistics import Interval, mean_interval, wilcoxon_test
from mclstm.experiments.addition_models import MODELS, VARIANTS
from mclstm.experiments.addition_training import BATCH, learn, regimes_with
from mclstm.experiments.cells import draw_cells
from mclstm.experiments.experiment import Drawing, Experiment, Options, blocks, chosen, scale
from mclstm.experiments.jobs import Job, Result
from mclstm.experiments.success import SIGNIFICANT, find, numbers, together
from mclstm.report.arithmetic import error_table
from mclstm.report.paper import ADDITION, ADDITION_FAILED
from mclstm.report.results import Claim, Row, claim, interval_row
from mclstm.tasks.addition import REGIMES, SPLITS, addition, constant, exact
from mclstm.training.order import batches_per_epoch

__all__ = ["EXPERIMENT"]

NAME = "addition"
SEEDS, EPOCHS = 100, 100
PER_EPOCH = batches_per_epoch(SPLITS["train"], BATCH)
QUICK = (4, 8 * PER_EPOCH)
EXTRAPOLATIONS = [regime for regime in REGIMES if regime != "reference"]


def jobs(options: Options) -> list[Job]:
    """One job for every model and block of seeds."""
    seeds, updates = scale(options, QUICK, (SEEDS, EPOCHS * PER_EPOCH), PER_EPOCH)
    return [
        Job(
            f"{model}/seeds-{block[0]}-{block[-1]}",
            learn,
            {
                "model": model,
                "protocol": options.protocol,
                "seeds": block,
                "learning_rate": options.rates.get(model),
                "evaluate_every": 10 * PER_EPOCH,
                "samples": dict(SPLITS),
            },
            updates,
        )
        for model in chosen(NAME, tuple(MODELS), tuple(VARIANTS), options)
        for block in blocks(options, seeds)
    ]


def rows(options: Options, results: Mapping[str, Result]) -> list[Row]:
    """Mean squared error with its interval for every model and regime, and how many runs failed."""
    groups: dict[str, list[Job]] = {}
    for job in jobs(options):
        if job.name in results:
            groups.setdefault(job.parameters["model"], []).append(job)
    made = []
    for model, members in groups.items():
        found = together([results[job.name] for job in members])
        seeds = [seed for job in members for seed in job.parameters["seeds"]]
        for regime, values in found["test"].items():
            made += error_rows(model, regime, numbers(values), members[0].goal, seeds)
    return made


def error_rows(
    model: str, regime: str, values: np.ndarray, trained: int, seeds: Sequence[int] = ()
) -> list[Row]:
    """Mean over the runs that converged, and how many did not; seeds: whose the values are, in order."""
    errors = np.where(np.isfinite(values), values, math.nan)
    printed = ADDITION.get(model, {}).get(regime, (None, None))[0]
    failed = float(np.isnan(errors).sum())
    more = {"trained": trained, "runs": len(errors), "seeds": list(seeds)}
    none = Interval(failed, math.nan, math.nan, len(errors))
    return [
        interval_row(regime, model, "mse", mean_interval(errors), errors.tolist(), printed, **more),
        interval_row(regime, model, "nan", none, [], ADDITION_FAILED.get(model), **more),
    ]


def trivial(options: Options) -> list[Row]:
    """The best constant of the training regime, and the sum itself."""
    made = []
    for regime, (asked, samples) in regimes_with(long=True).items():
        data = addition("test", asked, protocol=options.protocol, samples=samples)
        for model, found in {"constant": constant(data), "exact": exact(data.x, data.a)}.items():
            error = float((found.double() - data.y.double()).square().mean())
            made += error_rows(model, regime, np.array([error]), 0)
    return made


def claims(found: Sequence[Row]) -> list[Claim]:
    """The paper's comparisons: its own errors are reached, and every rival is worse in every regime."""
    made = []
    for regime in REGIMES:
        ours = find(found, "mclstm", regime, "mse")
        if ours is None:
            continue
        text = f"mclstm, {regime}: the error is at most the paper's {ours['paper']:g}"
        made.append(claim(text, "mean", None, bool(ours["value"] <= ours["paper"])))
        rivals = dict.fromkeys(r["model"] for r in found if r["model"] in MODELS and r["model"] != "mclstm")
        for rival in rivals:
            theirs = find(found, rival, regime, "mse")
            assert theirs is not None
            made.append(lower(ours, theirs, f"mclstm, {regime}: the error is below that of {rival}"))
    return made


def lower(ours: Row, theirs: Row, text: str) -> Claim:
    """Wilcoxon's signed-rank test on the seeds both models have, as pairs."""
    one, two = by_seed(ours), by_seed(theirs)
    both_have = [seed for seed in one if seed in two]
    first, second = (np.array([values[seed] for seed in both_have]) for values in (one, two))
    both = np.isfinite(first) & np.isfinite(second)
    p = wilcoxon_test(first, second, "less").p if both.any() else math.nan
    return claim(text, f"Wilcoxon test, {int(both.sum())} pairs", p, bool(p < SIGNIFICANT))


def by_seed(row: Row) -> dict[int, float]:
    """The errors of a row by seed; by position where nobody said whose they are."""
    values = numbers(row["values"])
    return dict(zip(row["seeds"] or range(len(values)), values.tolist(), strict=True))


def figures(options: Options, results: Mapping[str, Result], root: Path) -> Drawing:
    """Cells over time, of the plain sum if it was asked for, else of the table's MC-LSTM."""
    by_model = {job.parameters["model"]: job for job in reversed(jobs(options))}
    for model in ("mclstm-sum", "mclstm"):
        if model in by_model:
            job = by_model[model]
            return draw_cells(job, results[job.name], root / job.name)
    return {}, {}


EXPERIMENT = Experiment(
    name=NAME,
    about="the sum of two marked numbers of a hundred; longer sequences, larger numbers, more summands",
    models=tuple(MODELS),
    variants=tuple(VARIANTS),
    jobs=jobs,
    rows=rows,
    trivial=trivial,
    claims=claims,
    table=error_table,
    figures=figures,
    every_job=True,
)
