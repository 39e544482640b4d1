"""The sum of MNIST digits: who learns from ten at a time what holds for a thousand."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from mclstm.errors import ConfigError
from mclstm.jobs.execution import Job, Result, finished_by
from mclstm.report.results import Claim, Row
from mclstm.training.order import batches_per_epoch
from mclstm_paper.earlier_results import restored_errors
from mclstm_paper.experiment import Experiment, Options, at_rate, chosen, other_rate, scale
from mclstm_paper.mnist_sum.digits import Digits, find_mnist
from mclstm_paper.mnist_sum.models import RECIPES, usual_rate
from mclstm_paper.mnist_sum.page import length_figure, length_table
from mclstm_paper.mnist_sum.success import (
    Errors,
    by_length,
    error_rows,
    judged,
    length_of,
    more_lengths,
    threshold_rows,
    thresholds,
)
from mclstm_paper.mnist_sum.task import LENGTHS, chunks, constant, exact, scored_steps
from mclstm_paper.mnist_sum.training import STEPS, SUMS, every_digit, some
from mclstm_paper.protocols import Protocol

__all__ = ["EXPERIMENT"]

NAME = "mnist-sum"
# Reference networks, as many as the paper has, however many seeds of a model are asked for: a threshold is
# the same for whoever is judged by it. Their seeds are no model's; the published runs took 0 to 9 for both.
REFERENCES, REFERENCE_SEED = 10, 2_000


class Scale(NamedTuple):
    """How much is learned from, in which batches, for how long, by how many seeds."""

    images: dict[str, int]
    batch_size: int
    seeds: int
    epochs: int

    @property
    def per_epoch(self) -> int:
        """Updates of an epoch."""
        return batches_per_epoch(self.images["train"] // STEPS, self.batch_size)


SCALES: dict[str, Scale] = {
    "quick": Scale({"train": 5_000, "validation": 1_000, "test": 10_000}, 2, 2, 4),
    "paper": Scale({"train": 55_000, "validation": 5_000, "test": 10_000}, 64, 100, 1_000),
}


def jobs(options: Options) -> list[Job]:
    """One job a model and seed, the reference networks first: without them nobody has succeeded."""
    whole = SCALES[options.profile]
    paper = (whole.seeds, whole.epochs * whole.per_epoch)
    seeds, updates = scale(options, paper, paper, whole.per_epoch)
    first = dict.fromkeys(models(options), options.first_seed) | {"reference": REFERENCE_SEED}
    count = dict.fromkeys(first, seeds) | {"reference": REFERENCES}
    rate = {model: other_rate(options, model, usual_rate(model, options.protocol)) for model in first}
    return [
        Job(
            f"{at_rate(model, rate[model])}/seed-{seed}",
            SUMS,
            {
                "model": model,
                "protocol": options.protocol,
                "seeds": [seed],
                "images": whole.images,
                "batch_size": whole.batch_size,
                "learning_rate": rate[model],
                # The schedule of NAU follows the length of the training; the others are as they are.
                "updates": updates if model == "nau" else None,
            },
            updates,
            {"data": None if options.data is None else str(options.data.resolve())},
        )
        for model in ("reference", *(name for name in first if name != "reference"))
        for seed in range(first[model], first[model] + count[model])
    ]


def models(options: Options) -> list[str]:
    """The models asked for; those that a protocol does not have are left out, or refused if asked for."""
    named = chosen(NAME, tuple(RECIPES), (), options)
    strange = [name for name in named if options.protocol not in RECIPES[name].protocols]
    if options.models is not None and strange:
        raise ConfigError(
            f"{strange[0]} has no {options.protocol} protocol. Leave it out, or choose the other protocol."
        )
    return [name for name in named if name not in strange]


def rows(options: Options, results: Mapping[str, Result]) -> list[Row]:
    """Errors and success rates by length, of the models and of those that learn nothing."""
    found_by = finished_by(jobs(options), results, "model")
    groups = {model: group for (model,), group in found_by.items()}
    errors = {model: by_length([results[job.name] for job in group]) for model, group in groups.items()}
    made = []
    for model, found in errors.items():
        trained = groups[model][0].goal
        if model == "reference":
            made += threshold_rows(thresholds(found, options.protocol), found, trained)
        seeds = [seed for job in groups[model] for seed in job.parameters["seeds"]]
        rate = groups[model][0].parameters["learning_rate"] or usual_rate(model, options.protocol)
        failed = [at for job in groups[model] for at in results[job.name]["failed"]]
        made += error_rows(model, found, trained, failed, seeds=seeds, learning_rate=rate)
    for model, found in unlearned(options).items():
        made += error_rows(model, found, 0)
    return judged(made)


def restored(job: Job, found: Sequence[Row]) -> Result | None:
    """What a file holds of a job."""
    rate = job.parameters["learning_rate"] or usual_rate(job.parameters["model"], job.parameters["protocol"])
    kept = restored_errors(job, found, rate)
    return kept and {**kept, "test": {length_of(name): values for name, values in kept["test"].items()}}


def unlearned(options: Options) -> dict[str, Errors]:
    """The mean training digit at every step, and the sum of the labels."""
    digits = some(every_digit(find_mnist(options.data)), SCALES[options.profile].images)
    mean = float(digits["train"].labels.double().mean())
    return {name: errors_of(name, digits["test"], mean, options.protocol) for name in ("constant", "exact")}


def errors_of(name: str, digits: Digits, mean: float, protocol: Protocol) -> Errors:
    made: Errors = {}
    for length in (length for length in LENGTHS if length <= len(digits.labels)):
        y = exact(digits.labels[chunks("test", len(digits.labels), length).T])
        found = constant(y, mean) if name == "constant" else y
        error = (found - y)[scored_steps(length, protocol)].double().square().mean()
        made[length] = np.array([float(error)])
    return made


def claims(found: Sequence[Row]) -> list[Claim]:
    """The paper's one comparison, and the same for our own settings."""
    return more_lengths(found, "mclstm", "nau") + more_lengths(found, "mclstm-tuned", "nau")


def redrawn(found: Sequence[Row], reading: Mapping[str, object]) -> dict[str, Figure]:
    """Success over length, of all models that were run."""
    return {"success": length_figure(found)}


EXPERIMENT = Experiment(
    name=NAME,
    models=tuple(RECIPES),
    variants=(),
    jobs=jobs,
    rows=rows,
    restored=restored,
    judged=judged,
    claims=claims,
    table=length_table,
    hears=("epochs", "rates", "data", "download", "add"),
    redrawn=redrawn,
    rateless=("reference",),
    every_job=True,
)
