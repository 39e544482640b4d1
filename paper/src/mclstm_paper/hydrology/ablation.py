"""The ablation: which of its three conserving parts an MC-LSTM needs, on five basins, each on its own.

Repetitions are jobs and no dimension of one model: the pipeline trains one model a run, whose folder resumes,
is evaluated and keeps its failure by itself, and a repetition that goes to NaN must not stop eight others.
Nine members as one layer would save a fifth of the layer's time at this size, 0.30 s for 0.38 s an update (32
cells, 32 windows, 180 steps, one thread); jobs use as many cores as there are instead.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mclstm.evaluation.statistics import Interval, wilcoxon_test
from mclstm.jobs.execution import Job, Result
from mclstm.report.results import SIGNIFICANT, Claim, Row, claim, interval_row
from mclstm_paper.experiment import Experiment, Options, chosen
from mclstm_paper.hydrology.basins import FIVE
from mclstm_paper.hydrology.models import MODELS, PERIODS, Scale, data_of, require_stated, training_of
from mclstm_paper.hydrology.training import RUN
from mclstm_paper.hydrology.variants_tables import ablation_table

__all__ = ["CONFIGURATIONS", "EXPERIMENT"]

NAME = "hydrology-ablation"
MINUS_R = "mclstm-minus-redistribution"
# name: (what the paper calls it, how it differs from the final design, the paper's NSE)
CONFIGURATIONS: dict[str, tuple[str, dict[str, Any], float]] = {
    "mclstm": ("MC-LSTM", {}, 0.635),
    "mclstm-softmax-input": ("MC-LSTM w. softmax", {"input_norm": "softmax"}, 0.650),
    "mclstm-minus-input": ("MC-LSTM - input", {"not_conserving": ["input"]}, 0.603),
    "mclstm-minus-output": ("MC-LSTM - output", {"not_conserving": ["output"]}, 0.55),
    MINUS_R: ("MC-LSTM - redis.", {"not_conserving": ["redistribution"]}, -4.229),
}
SCALES = {
    "paper": Scale({"mclstm": 32}, 32, 300, 9, 1000, 300),
    "quick": Scale({"mclstm": 8}, 16, 60, 3, 1000, 60),
}
STRIDE = 30  # one basin has few windows: they overlap, so that an epoch has several batches
RESTART = 180  # scored as trained, and as the paper: what does not let mass go fills up without end
Table = NDArray[np.float64]  # (basins, repetitions), NaN where a training failed


def config_of(name: str, basin: str, options: Options, seed: int) -> dict[str, Any]:
    """One configuration trained on one basin; what never changes there, its attributes, is left out."""
    scale = SCALES[options.profile]
    cells = {"hidden_size": options.cells or scale.cells["mclstm"]}
    return {
        "name": f"{name}-{basin}",
        "data": data_of(options, [basin], []),
        "periods": PERIODS,
        "model": MODELS["mclstm"] | cells | CONFIGURATIONS[name][1],
        "training": training_of(options, scale) | {"stride": STRIDE, "seed": seed},
        "evaluation": {"restart": RESTART},
    }


def scale_of(options: Options) -> dict[str, int]:
    """How large the models and their trainings are, which the table says."""
    scale = SCALES[options.profile]
    cells, updates = options.cells or scale.cells["mclstm"], options.updates or scale.updates
    return {"cells": cells, "updates": updates, "windows": scale.batch_size}


def basins_of(options: Options) -> Sequence[str]:
    return FIVE if options.basins is None else options.basins


def seeds_of(options: Options) -> range:
    count = options.seeds or SCALES[options.profile].members
    return range(options.first_seed, options.first_seed + count)


def job_name(name: str, basin: str, seed: int) -> str:
    return f"{name}/{basin}-{seed}"


def jobs(options: Options) -> list[Job]:
    """One job a configuration, basin and repetition; the repetitions of all grow together."""
    require_stated(NAME, options)
    return [
        Job(
            job_name(name, basin, seed),
            RUN,
            {"config": config_of(name, basin, options, seed), "may_fail": True},
            goal=1,
        )
        for seed in seeds_of(options)
        for basin in basins_of(options)
        for name in chosen(NAME, tuple(CONFIGURATIONS), (), options)
    ]


def rows(options: Options, results: Mapping[str, Result]) -> list[Row]:
    """Of each configuration the scores of every basin and repetition, and what is missing in its books."""
    made = []
    for name in chosen(NAME, tuple(CONFIGURATIONS), (), options):
        pairs = [
            [results.get(job_name(name, basin, seed)) for seed in seeds_of(options)]
            for basin in basins_of(options)
        ]
        done = [result for line in pairs for result in line if result is not None]
        if not done:
            continue
        columns = {
            "nse": [[scalar(result, "scores", "nse") for result in line] for line in pairs],
            "nse-continuous": [[scalar(result, "continuous") for result in line] for line in pairs],
            "validation-nse": [[scalar(result, "validation") for result in line] for line in pairs],
            "mass-error": [[scalar(result, "mass_errors") for result in line] for line in pairs],
        }
        more = {
            "label": CONFIGURATIONS[name][0],
            "conserving": not CONFIGURATIONS[name][1].get("not_conserving"),
            "failed": sum("failed" in result for result in done),
            "runs": len(done),
            "seeds": list(seeds_of(options)),
            "scale": scale_of(options),
        }
        for metric, values in columns.items():
            paper = CONFIGURATIONS[name][2] if metric == "nse" else None
            made.append(summary_row(name, metric, np.array(values), paper, more))
    return made


def scalar(result: Result | None, *keys: str) -> float:
    """One number of a result about one site; NaN where there is none."""
    found: Any = result
    for key in keys:
        found = None if found is None else found.get(key)
    found = found[0] if isinstance(found, list) else found
    return float("nan") if found is None else float(found)


def summary_row(name: str, metric: str, values: Table, paper: float | None, more: dict[str, Any]) -> Row:
    """The median over repetitions, then the mean over basins -+ their deviation: as in the paper's table.

    Basins in which every repetition failed are left out, as there. The values are kept basin by basin.
    """
    basins = [np.median(line[np.isfinite(line)]) for line in values if np.isfinite(line).any()]
    mean = float(np.mean(basins)) if basins else float("nan")
    deviation = float(np.std(basins, ddof=1)) if len(basins) > 1 else float("nan")
    interval = Interval(mean, mean - deviation, mean + deviation, values.shape[1])
    setting = f"{len(values)} basins"
    return interval_row(setting, name, metric, interval, values.ravel().tolist(), paper, **more)


def claims(found: Sequence[Row]) -> list[Claim]:
    """Each ablation is worse than the whole, and nothing hurts more than a redistribution that loses mass.

    Of configurations that have not run everywhere nothing is claimed.
    """
    whole_runs = [row for row in found if row["metric"] == "nse" and row["runs"] == len(row["values"])]
    scores = {row["model"]: row for row in whole_runs}
    whole, ablated = scores.get("mclstm"), [name for name in scores if "minus" in name]
    made: list[Claim] = []
    if whole is not None:
        for name in ablated:
            made += lower(scores[name], whole)
        if "mclstm-softmax-input" in scores:
            made += lower(whole, scores["mclstm-softmax-input"])
    if MINUS_R in scores:
        for name in ablated:
            made += lower(scores[MINUS_R], scores[name]) if name != MINUS_R else []
    return made


def lower(worse: Row, better: Row) -> list[Claim]:
    """Two tests of one difference, both Wilcoxon's signed-rank; a failed training counts as worst.

    Of basins: one pair a basin, the median over repetitions, which is what the table averages. Repetitions at
    one basin see the same rain and river and say nothing of other basins; as pairs of their own they would
    make five basins look like many. With five basins no p can be below 1/32.
    Of trainings: one pair a basin and seed. It says whether the difference is more than luck at these basins.
    """
    first, second = (by_basin(row) for row in (worse, better))
    # Ranks only ask which difference is larger: any number far below all others stands for a failure.
    floor = min(np.nanmin(np.concatenate([first, second, np.zeros_like(first)])), 0.0) - 1e6
    first, second = (np.where(np.isfinite(values), values, floor) for values in (first, second))
    text, (basins, seeds) = f"{worse['model']} scores lower than {better['model']}", first.shape
    ways = {
        text: (np.median(first, axis=1), np.median(second, axis=1), f"{basins} basins, medians of {seeds}"),
        f"{text} at these basins": (first.ravel(), second.ravel(), f"{first.size} pairs of basin and seed"),
    }
    return [tested(words, *about) for words, about in ways.items()]


def tested(text: str, first: Table, second: Table, pairs: str) -> Claim:
    p = wilcoxon_test(first, second, "less").p
    return claim(text, f"Wilcoxon signed-rank, one-sided, {pairs}", p, bool(p < SIGNIFICANT))


def by_basin(row: Row) -> Table:
    """The scores of a row, (basins, repetitions)."""
    values = [np.nan if value is None else value for value in row["values"]]
    return np.array(values, dtype=np.float64).reshape(-1, row["n"])


EXPERIMENT = Experiment(
    name=NAME,
    models=tuple(CONFIGURATIONS),
    variants=(),
    jobs=jobs,
    rows=rows,
    claims=claims,
    table=ablation_table,
    hears=("data", "basins", "scheme", "cells"),
    file="hydrology/ablation.json",
    every_job=True,
)
