"""The sum of MNIST digits: which models learn from ten digits what holds for a thousand."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from mclstm.errors import ConfigError
from mclstm.jobs.job import Job, Result, finished_by
from mclstm.training.order import batches_per_epoch
from mclstm_paper.earlier_results import restored_errors
from mclstm_paper.experiment import Experiment
from mclstm_paper.mnist_sum.digits import Digits, find_mnist, home
from mclstm_paper.mnist_sum.download import download_mnist
from mclstm_paper.mnist_sum.models import RECIPES, usual_rate
from mclstm_paper.mnist_sum.page import (
    BLOCKS,
    DRAWINGS,
    HEADLINES,
    SUMMARY,
    expected,
    length_figure,
    length_table,
)
from mclstm_paper.mnist_sum.success_by_length import (
    Errors,
    by_length,
    error_rows,
    length_of,
    more_lengths,
    threshold_rows,
    thresholds,
    with_success,
)
from mclstm_paper.mnist_sum.switches import SWITCHES
from mclstm_paper.mnist_sum.task import LENGTHS, chunks, constant, exact, scored_steps
from mclstm_paper.mnist_sum.training import STEPS, SUMS, every_digit, some
from mclstm_paper.options import Options, Plan, chosen_models, other_rate, rate_folder, scale
from mclstm_paper.protocols import Protocol
from mclstm_paper.results import Claim, Row

__all__ = ["EXPERIMENT"]

NAME = "mnist-sum"
# As many reference networks as in the paper, for any number of seeds: all models have the same threshold.
# Their seeds are no model's; the published runs took 0 to 9 for both.
REFERENCES, REFERENCE_SEED = 10, 2_000
# Ten of them for the paper's thousand epochs would take longer than all models: longer trainings than this
# are judged by the thresholds of references that stopped here.
REFERENCE_EPOCHS = 150


class Scale(NamedTuple):
    """Images, batch size, seeds and epochs of a profile."""

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


def jobs(plan: Plan) -> list[Job]:
    """One job per model and seed, the reference networks first: the thresholds come from them."""
    options = plan.options
    whole = SCALES[options.profile]
    paper = (whole.seeds, whole.epochs * whole.per_epoch)
    seeds, updates = scale(options, paper, paper, whole.per_epoch)
    first = dict.fromkeys(models(options), options.first_seed) | {"reference": REFERENCE_SEED}
    count = dict.fromkeys(first, seeds) | {"reference": REFERENCES}
    goals = dict.fromkeys(first, updates) | {"reference": min(updates, REFERENCE_EPOCHS * whole.per_epoch)}
    rate = {model: other_rate(options, model, usual_rate(model, options.protocol)) for model in first}
    return [
        Job(
            f"{rate_folder(model, rate[model])}/seed-{seed}",
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
            goals[model],
            {"data": None if options.data is None else str(options.data.resolve())},
        )
        for model in ("reference", *(name for name in first if name != "reference"))
        for seed in range(first[model], first[model] + count[model])
    ]


def models(options: Options) -> list[str]:
    """The chosen models; those that a protocol does not have are left out, or refused if named."""
    names = chosen_models(NAME, tuple(RECIPES), (), options)
    without = [name for name in names if options.protocol not in RECIPES[name].protocols]
    if options.models is not None and without:
        raise ConfigError(
            f"{without[0]} has no {options.protocol} protocol. Leave it out, or choose the other protocol."
        )
    return [name for name in names if name not in without]


def rows(plan: Plan, results: Mapping[str, Result]) -> list[Row]:
    """Errors and success rates by length, of the models and of the predictions without learning."""
    options = plan.options
    groups = {model: group for (model,), group in finished_by(jobs(plan), results, "model").items()}
    table = []
    for model, group in groups.items():
        errors, trained = by_length([results[job.name] for job in group]), group[0].goal
        if model == "reference":
            table += threshold_rows(thresholds(errors, options.protocol), errors, trained)
        seeds = [seed for job in group for seed in job.parameters["seeds"]]
        rate = group[0].parameters["learning_rate"] or usual_rate(model, options.protocol)
        failed = [at for job in group for at in results[job.name]["failed"]]
        table += error_rows(model, errors, trained, failed, seeds=seeds, learning_rate=rate)
    for model, errors in unlearned(options).items():
        table += error_rows(model, errors, 0)
    return with_success(table)


def result_from_rows(job: Job, rows: Sequence[Row]) -> Result | None:
    """The result of a job from the rows of a result file."""
    rate = job.parameters["learning_rate"] or usual_rate(job.parameters["model"], job.parameters["protocol"])
    errors = restored_errors(job, rows, rate)
    return errors and {**errors, "test": {length_of(name): v for name, v in errors["test"].items()}}


def unlearned(options: Options) -> dict[str, Errors]:
    """The mean training digit at every step, and the sum of the labels."""
    digits = some(every_digit(find_mnist(options.data)), SCALES[options.profile].images)
    mean = float(digits["train"].labels.double().mean())
    return {name: errors_of(name, digits["test"], mean, options.protocol) for name in ("constant", "exact")}


def errors_of(name: str, digits: Digits, mean: float, protocol: Protocol) -> Errors:
    by_length: Errors = {}
    for length in (length for length in LENGTHS if length <= len(digits.labels)):
        y = exact(digits.labels[chunks("test", len(digits.labels), length).T])
        sums = constant(y, mean) if name == "constant" else y
        error = (sums - y)[scored_steps(length, protocol)].double().square().mean()
        by_length[length] = np.array([float(error)])
    return by_length


def claims(rows: Sequence[Row]) -> list[Claim]:
    """The paper's one comparison, and the same for our own settings."""
    return [
        one for model in RECIPES if model.startswith("mclstm") for one in more_lengths(rows, model, "nau")
    ]


def figures(rows: Sequence[Row], readings: Mapping[str, object]) -> dict[str, Figure]:
    """Success over length, of all models that were run."""
    return {"success": length_figure(rows)}


EXPERIMENT = Experiment(
    name=NAME,
    models=tuple(RECIPES),
    variants=(),
    jobs=jobs,
    rows=rows,
    result_from_rows=result_from_rows,
    complete_rows=with_success,
    claims=claims,
    table=length_table,
    accepts=("epochs", "rates", "data", "download", "add"),
    figures_of_rows=figures,
    without_rate=("reference",),
    saves_each_job=True,
    download=lambda folder: download_mnist(folder or home()),
    expected=expected,
    blocks=BLOCKS,
    drawings=DRAWINGS,
    summary=SUMMARY,
    headlines=HEADLINES,
    switches=SWITCHES,
)
