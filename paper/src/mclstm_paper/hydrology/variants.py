"""Every variant of the MC-LSTM that the appendix describes, trained the same way on thirty basins."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mclstm.jobs.execution import Job, Result
from mclstm.report.results import Row, row
from mclstm_paper.experiment import Experiment, Options, chosen
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
from mclstm_paper.hydrology.training import RUN
from mclstm_paper.hydrology.variants_tables import variants_table

__all__ = ["EXPERIMENT", "VARIANTS"]

NAME = "hydrology-variants"
# What the appendix calls it, and how it differs from the final design. MC-LSTM and LSTM as in MODELS.
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
METRICS = ("nse", "kge", "fhv", "flv")


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


def jobs(options: Options) -> list[Job]:
    """One job a variant and seed, seed by seed."""
    require_stated(NAME, options)
    count = options.seeds or SCALES[options.profile].members
    variants = chosen(NAME, tuple(VARIANTS), (), options)
    return [
        Job(f"{variant}-{seed}", RUN, {"config": config_of(variant, options, seed)}, goal=1)
        for seed in range(options.first_seed, options.first_seed + count)
        for variant in variants
    ]


def rows(options: Options, results: Mapping[str, Result]) -> list[Row]:
    """Of each variant the medians over basins, and the largest error of a basin's mass balance, by seed."""
    made = []
    for variant in chosen(NAME, tuple(VARIANTS), (), options):
        done = [job for job in jobs(options) if job.name in results and of_variant(job, variant)]
        if not done:
            continue
        every = [results[job.name] for job in done]
        setting = f"{len(every[0]['sites'])} basins"
        more = {
            "label": VARIANTS[variant][0],
            "conserving": every[0]["conserving"],
            "seeds": [job.parameters["config"]["training"]["seed"] for job in done],
        }
        columns = {"validation-nse": [median([result["validation"]]) for result in every]}
        for metric in METRICS:
            columns[metric] = [median(result["scores"][metric]) for result in every]
        if every[0]["mass_errors"] is not None:
            columns["mass-error"] = [max(result["mass_errors"]) for result in every]
        made += [row(setting, variant, metric, values) | more for metric, values in columns.items()]
    return made


def of_variant(job: Job, variant: str) -> bool:
    return bool(job.parameters["config"]["name"] == variant)


def median(scores: Sequence[float | None]) -> float:
    """Over what is known; NaN of nothing."""
    known = [score for score in scores if score is not None and np.isfinite(score)]
    return float(np.median(known)) if known else float("nan")


EXPERIMENT = Experiment(
    name=NAME,
    models=tuple(VARIANTS),
    variants=(),
    jobs=jobs,
    rows=rows,
    table=variants_table,
    hears=("data", "basins", "scheme", "cells"),
    file="hydrology/variants.json",
    every_job=True,
)
