"""Every variant of the MC-LSTM that the appendix describes, trained the same way on thirty basins."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mclstm.jobs.job import Job, Result
from mclstm.report.markdown import NOTHING, markdown
from mclstm_paper.experiment import Experiment
from mclstm_paper.hydrology.basins import THIRTY
from mclstm_paper.hydrology.models import (
    ATTRIBUTES,
    MODELS,
    PERIODS,
    Scale,
    data_of,
    require_stated,
    training_of,
)
from mclstm_paper.hydrology.page import not_measured, read
from mclstm_paper.hydrology.training import RUN
from mclstm_paper.options import Options, Plan, chosen_models
from mclstm_paper.results import Row, row

__all__ = ["EXPERIMENT", "VARIANTS", "conserving_mark", "error_cell"]

NAME = "hydrology-variants"
# name: what the appendix calls it, and how it differs from the final design, or from the LSTM of MODELS
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "mclstm": ("final design", {}),
    "mclstm-aux-memory": ("LSTM on the auxiliaries", {"aux_memory": 16}),
    "mclstm-evapotranspiration": (
        "evapotranspiration outlet, regularised",
        {"head": "linear", "evapotranspiration": True},
    ),
    "mclstm-no-trash": ("no trash cell", {"trash_cell": False}),
    "mclstm-input-scaling": ("input scaling", {"input_scaling": True}),
    "mclstm-output-scaling": ("output scaling", {"head": "scaled"}),
    "mclstm-both-scalings": ("input and output scaling", {"input_scaling": True, "head": "scaled"}),
    "mclstm-outer": ("outer-product R", {"redistribution": "outer"}),
    "mclstm-static-r": ("static R", {"redistribution": "static"}),
    "mclstm-no-rain": ("gates do not see rain", {"gates_see": ["aux", "state"]}),
    "mclstm-softmax-r": ("softmax for R", {"redistribution_norm": "softmax"}),
    "mclstm-sigmoid-r": ("normalised sigmoid for R", {"redistribution_norm": "sigmoid"}),
    "mclstm-softmax-input": ("softmax for the input gate", {"input_norm": "softmax"}),
    "mclstm-relu-input": ("normalised ReLU for the input gate", {"input_norm": "relu"}),
    "lstm": ("LSTM", {}),
}
SCALES = {
    "paper": Scale({"mclstm": 32, "lstm": 128}, 64, 800, 3, 20, 100),
    "quick": Scale({"mclstm": 8, "lstm": 16}, 32, 60, 1, 1000, 100),
}
TITLES = {
    "validation-nse": "NSE, validation",
    "nse": "NSE, test",
    "kge": "KGE, test",
    "fhv": "FHV, test",
    "flv": "FLV, test",
}
PERCENT = ("fhv", "flv")


def config_of(variant: str, options: Options, seed: int) -> dict[str, Any]:
    """The config of one variant: what the name changes, and nothing else."""
    scale, kind = SCALES[options.profile], "lstm" if variant == "lstm" else "mclstm"
    cells = {"hidden_size": options.cells or scale.cells[kind]}
    return {
        "name": variant,
        "data": data_of(options, THIRTY if options.basins is None else options.basins, ATTRIBUTES),
        "periods": PERIODS,
        "model": MODELS[kind] | cells | VARIANTS[variant][1],
        "training": training_of(options, scale) | {"seed": seed},
    }


def jobs(plan: Plan) -> list[Job]:
    """One job per variant and seed, seed by seed."""
    options = plan.options
    require_stated(NAME, options)
    count = options.seeds or SCALES[options.profile].members
    variants = chosen_models(NAME, tuple(VARIANTS), (), options)
    return [
        Job(f"{variant}-{seed}", RUN, {"config": config_of(variant, options, seed)}, goal=1)
        for seed in range(options.first_seed, options.first_seed + count)
        for variant in variants
    ]


def rows(plan: Plan, results: Mapping[str, Result]) -> list[Row]:
    """For each variant, by seed: medians over basins, and the largest error of a basin's mass balance."""
    options = plan.options
    table: list[Row] = []
    for variant in chosen_models(NAME, tuple(VARIANTS), (), options):
        finished = [job for job in jobs(plan) if job.name in results and of_variant(job, variant)]
        if not finished:
            continue
        every = [results[job.name] for job in finished]
        setting = f"{len(every[0]['sites'])} basins"
        more = {
            "label": VARIANTS[variant][0],
            "conserving": every[0]["conserving"],
            "seeds": [job.parameters["config"]["training"]["seed"] for job in finished],
        }
        columns = {"validation-nse": [median([result["validation"]]) for result in every]}
        for metric in (name for name in TITLES if name != "validation-nse"):
            columns[metric] = [median(result["scores"][metric]) for result in every]
        if every[0]["mass_errors"] is not None:
            columns["mass-error"] = [max(result["mass_errors"]) for result in every]
        table += [row(setting, variant, metric, values) | more for metric, values in columns.items()]
    return table


def of_variant(job: Job, variant: str) -> bool:
    return bool(job.parameters["config"]["name"] == variant)


def median(scores: Sequence[float | None]) -> float:
    """The median of what is known; NaN if nothing is."""
    known = [score for score in scores if score is not None and np.isfinite(score)]
    return float(np.median(known)) if known else float("nan")


def variants_table(rows: Sequence[Row]) -> str:
    """One line per variant: validation and test scores, and whether and how well it conserves.

    >>> about = {"model": "mclstm", "label": "final design", "conserving": True, "setting": "30 basins"}
    >>> cell = about | {"n": 1, "value": 0.7, "low": 0.7, "high": 0.7}
    >>> line = variants_table([cell | {"metric": metric} for metric in TITLES]).splitlines()[2]
    >>> [part.strip() for part in line.split("|")[1:4]]
    ['final design', 'yes', '0.700']
    """
    cells = {(item["model"], item["metric"]): item for item in rows}
    lines = []
    for model in dict.fromkeys(item["model"] for item in rows):
        line = {"": cells[model, "nse"]["label"], "MC": conserving_mark(cells[model, "nse"])}
        line |= {title: spread(cells[model, metric]) for metric, title in TITLES.items()}
        lines.append(line | {"mass error": error_cell(cells.get((model, "mass-error")))})
    seeds = max(item["n"] for item in rows)
    note = f"median of {seeds} seeds, lowest and highest in brackets" if seeds > 1 else "one seed"
    return f"{markdown(pd.DataFrame(lines))}\n\n{rows[0]['setting']}; {note}."


def spread(cell: Row) -> str:
    """A value with its range; the value alone of one seed."""
    if cell["value"] is None:
        return NOTHING
    digits = 1 if cell["metric"] in PERCENT else 3
    value, low, high = (f"{cell[key]:.{digits}f}" for key in ("value", "low", "high"))
    return value if cell["n"] == 1 else f"{value} ({low} to {high})"


def conserving_mark(cell: Row) -> str:
    return "yes" if cell["conserving"] else "no"


def error_cell(cell: Row | None) -> str:
    return NOTHING if cell is None or cell["value"] is None else f"{cell['value']:.1e}"


def block(root: Path) -> str:
    """The variants of the appendix side by side."""
    rows = read(root, "variants.json")["rows"]
    return variants_table(rows) if rows else not_measured("variants.json")


EXPERIMENT = Experiment(
    name=NAME,
    protocols=("stated",),
    models=tuple(VARIANTS),
    variants=(),
    jobs=jobs,
    rows=rows,
    table=variants_table,
    accepts=("data", "basins", "scheme", "cells"),
    file="hydrology/variants.json",
    saves_each_job=True,
    blocks={NAME: block},
)
