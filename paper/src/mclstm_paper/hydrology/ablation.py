"""The ablation: which of its three conserving parts an MC-LSTM needs, on five basins, each trained alone.

Every repetition is a job, not a member of one layer: a run resumes, is evaluated and fails alone, and a
repetition that goes to NaN must not stop eight others. Nine members in one layer would save a fifth of the
layer's time at this size (0.30 s instead of 0.38 s per update; 32 cells, 32 windows, 180 steps, one thread);
jobs use all cores instead.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mclstm.evaluation.comparison import wilcoxon_test
from mclstm.jobs.job import Job, Result
from mclstm.report.markdown import NOTHING, markdown
from mclstm_paper.experiment import Experiment
from mclstm_paper.hydrology.basins import FIVE
from mclstm_paper.hydrology.models import MODELS, PERIODS, Scale, data_of, training_of
from mclstm_paper.hydrology.page import not_measured, read
from mclstm_paper.hydrology.printed import ABLATION
from mclstm_paper.hydrology.switches import OUTPUT_GATE_STARTS_OPEN
from mclstm_paper.hydrology.training import RUN
from mclstm_paper.hydrology.variants import conserving_mark, error_cell
from mclstm_paper.options import Options, Plan, chosen_models
from mclstm_paper.protocols import Protocol
from mclstm_paper.results import SIGNIFICANT, Claim, Row, claim, interval_row
from mclstm_paper.statistics import Interval

__all__ = ["CONFIGURATIONS", "EXPERIMENT"]

NAME = "hydrology-ablation"
MINUS_R = "mclstm-minus-redistribution"
# name: what the paper calls it, and how it differs from the final design
CONFIGURATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "mclstm": ("MC-LSTM", {}),
    "mclstm-softmax-input": ("MC-LSTM w. softmax", {"input_norm": "softmax"}),
    "mclstm-minus-input": ("MC-LSTM - input", {"not_conserving": ["input"]}),
    "mclstm-minus-output": ("MC-LSTM - output", {"not_conserving": ["output"]}),
    MINUS_R: ("MC-LSTM - redis.", {"not_conserving": ["redistribution"]}),
}
SCALES = {
    "paper": Scale({"mclstm": 32}, 32, 300, 9, 1000, 300),
    "quick": Scale({"mclstm": 8}, 16, 60, 3, 1000, 60),
}
STRIDE = 30  # the windows of one basin overlap, so that an epoch has several batches
RESTART = 180  # scored as trained, as in the paper: a model that keeps all mass fills up without end
Table = NDArray[np.float64]  # (basins, repetitions), NaN where a training failed


def config_of(name: str, basin: str, options: Options, seed: int) -> dict[str, Any]:
    """One configuration trained on one basin, without the attributes, which are constant there.

    The published protocol starts with open output gates, as the authors' own config; all else is as stated.
    """
    scale = SCALES[options.profile]
    start = {"output_bias": 3.0} if OUTPUT_GATE_STARTS_OPEN.on(options.protocol) else {}
    cells = {"hidden_size": options.cells or scale.cells["mclstm"]}
    return {
        "name": f"{name}-{basin}",
        "data": data_of(options, [basin], []),
        "periods": PERIODS,
        "model": MODELS["mclstm"] | cells | start | CONFIGURATIONS[name][1],
        "training": training_of(options._replace(protocol="stated"), scale)
        | {"stride": STRIDE, "seed": seed},
        "evaluation": {"restart": RESTART},
    }


def scale_of(options: Options) -> dict[str, int]:
    """How large the models and their trainings are, for the note under the table."""
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


def jobs(plan: Plan) -> list[Job]:
    """One job per configuration, basin and repetition; the repetitions of all grow together."""
    options = plan.options
    return [
        Job(
            job_name(name, basin, seed),
            RUN,
            {"config": config_of(name, basin, options, seed), "may_fail": True},
            goal=1,
        )
        for seed in seeds_of(options)
        for basin in basins_of(options)
        for name in chosen_models(NAME, tuple(CONFIGURATIONS), (), options)
    ]


def rows(plan: Plan, results: Mapping[str, Result]) -> list[Row]:
    """For each configuration the scores and mass errors of every basin and repetition."""
    options = plan.options
    table = []
    for name in chosen_models(NAME, tuple(CONFIGURATIONS), (), options):
        pairs = [
            [results.get(job_name(name, basin, seed)) for seed in seeds_of(options)]
            for basin in basins_of(options)
        ]
        finished = [result for line in pairs for result in line if result is not None]
        if not finished:
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
            "failed": sum("failed" in result for result in finished),
            "runs": len(finished),
            "seeds": list(seeds_of(options)),
            "scale": scale_of(options),
        }
        for metric, values in columns.items():
            paper = ABLATION[name] if metric == "nse" else None
            table.append(summary_row(name, metric, np.array(values), paper, more))
    return table


def scalar(result: Result | None, *keys: str) -> float:
    """One number of the result of one site; NaN where there is none."""
    value: Any = result
    for key in keys:
        value = None if value is None else value.get(key)
    value = value[0] if isinstance(value, list) else value
    return float("nan") if value is None else float(value)


def summary_row(name: str, metric: str, values: Table, paper: float | None, more: dict[str, Any]) -> Row:
    """The median over repetitions, then the mean over basins ± their deviation, as in the paper's table.

    Basins in which every repetition failed are left out, as in the paper. `values` lists basin by basin.
    """
    basins = [np.median(line[np.isfinite(line)]) for line in values if np.isfinite(line).any()]
    mean = float(np.mean(basins)) if basins else float("nan")
    deviation = float(np.std(basins, ddof=1)) if len(basins) > 1 else float("nan")
    interval = Interval(mean, mean - deviation, mean + deviation, values.shape[1])
    setting = f"{len(values)} basins"
    return interval_row(setting, name, metric, interval, values.ravel().tolist(), paper, **more)


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Each ablation is worse than the whole, and a redistribution that loses mass is the worst of them.

    There are no claims about configurations that have not run everywhere.
    """
    whole_runs = [row for row in rows if row["metric"] == "nse" and row["runs"] == len(row["values"])]
    scores = {row["model"]: row for row in whole_runs}
    whole, ablated = scores.get("mclstm"), [name for name in scores if "minus" in name]
    tests: list[Claim] = []
    if whole is not None:
        for name in ablated:
            tests += lower(scores[name], whole)
        if "mclstm-softmax-input" in scores:
            tests += lower(whole, scores["mclstm-softmax-input"])
    if MINUS_R in scores:
        for name in ablated:
            tests += lower(scores[MINUS_R], scores[name]) if name != MINUS_R else []
    return tests


def lower(worse: Row, better: Row) -> list[Claim]:
    """Two tests of one difference, both Wilcoxon's signed-rank; a failed training counts as worst.

    Over basins: one pair per basin, the median over repetitions, which is what the table averages.
    Repetitions at one basin see the same rain and river and say nothing about other basins; counted as pairs
    they would make five basins look like many. With five basins no p can be below 1/32.
    Over trainings: one pair per basin and seed. This test says whether the difference is more than luck at
    these basins.
    """
    first, second = (by_basin(row) for row in (worse, better))
    # Only ranks count: any number far below all others stands for a failure.
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


def ablation_table(rows: Sequence[Row]) -> str:
    """The paper's table with the paper's numbers, the error of the mass balance, and how many went to NaN."""
    cells = {(row["model"], row["metric"]): row for row in rows}
    lines = []
    for model in dict.fromkeys(row["model"] for row in rows):
        score = cells[model, "nse"]
        lines.append(
            {
                "": score["label"],
                "MC": conserving_mark(score),
                "NSE": plus_minus(score),
                "paper": f"{score['paper']:.3f}",
                "NSE, run through": plus_minus(cells[model, "nse-continuous"]),
                "mass error": error_cell(cells[model, "mass-error"]),
                "failed": f"{score['failed']} of {score['runs']}",
            }
        )
    return f"{markdown(pd.DataFrame(lines))}\n\n{ablation_scale(rows)}"


def ablation_scale(rows: Sequence[Row]) -> str:
    """How much was trained on how much, in one sentence.

    >>> ablation_scale([{"setting": "5 basins", "n": 9, "scale": {"cells": 2, "updates": 3, "windows": 4}}])
    '5 basins, each trained alone; 9 repetitions; 2 cells, 3 updates of 4 windows.'
    """
    scale = rows[0]["scale"]
    size = f"{scale['cells']} cells, {scale['updates']} updates of {scale['windows']} windows"
    return f"{rows[0]['setting']}, each trained alone; {rows[0]['n']} repetitions; {size}."


def plus_minus(cell: Row) -> str:
    """The mean over basins with their deviation; of how many basins, where all trainings of others failed."""
    if cell["value"] is None:
        return NOTHING
    known = np.isfinite(by_basin(cell)).any(axis=1)
    few = "" if known.all() else f" ({known.sum()} basins)"
    spread = "" if cell["high"] is None else f" ± {cell['high'] - cell['value']:.3f}"
    return f"{cell['value']:.3f}{spread}{few}"


def claims_list(claims: Sequence[Claim]) -> str:
    """Claims as a list: what, whether it holds, by which test.

    >>> claims_list([{"claim": "a is worse than b", "test": "Wilcoxon", "p": 0.25, "holds": False}])
    '* a is worse than b: no (Wilcoxon, p = 0.25)'
    """
    return "\n".join(
        f"* {c['claim']}: {'yes' if c['holds'] else 'no'} ({c['test']}, p = {c['p']:.2g})"
        for c in claims
        if c["p"] is not None
    )


def block(root: Path, protocol: Protocol) -> str:
    """The ablation's table, and which of its differences are significant."""
    name = f"ablation-{protocol}.json"
    content = read(root, name)
    if not content["rows"]:
        return not_measured(name)
    return f"{ablation_table(content['rows'])}\n\n{claims_list(content['claims'])}"


EXPERIMENT = Experiment(
    name=NAME,
    models=tuple(CONFIGURATIONS),
    variants=(),
    jobs=jobs,
    rows=rows,
    claims=claims,
    table=ablation_table,
    accepts=("data", "basins", "scheme", "cells"),
    file="hydrology/ablation-{protocol}.json",
    saves_each_job=True,
    blocks={NAME: partial(block, protocol="stated"), f"{NAME}-open": partial(block, protocol="published")},
)
