"""What a user asks of an experiment, what the runner adds, and how jobs follow from both."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from mclstm.errors import ConfigError
from mclstm_paper.protocols import Protocol

__all__ = [
    "OPTIONAL",
    "Options",
    "Plan",
    "chosen_models",
    "other_rate",
    "rate_folder",
    "scale",
    "seed_blocks",
]

Profile = Literal["quick", "paper"]

# Fields of Options that only some experiments use, with the name of each on the command line.
OPTIONAL = {
    "settings": "--operations", "epochs": "--epochs", "block": "--block", "rates": "--rates",
    "data": "--data", "download": "--download", "basins": "--basins", "scheme": "--scheme",
    "cells": "--cells", "add": "--add", "reader": "--reader", "no_test": "--no-test",
    "snow": "--snow",
}  # fmt: skip


class Options(NamedTuple):
    """What a user asks of an experiment; None leaves the choice to the profile."""

    profile: Profile = "quick"
    protocol: Protocol = "stated"
    models: tuple[str, ...] | None = None
    settings: tuple[str, ...] | None = None  # operations, or whatever an experiment divides its jobs by
    seeds: int | None = None
    first_seed: int = 0
    updates: int | None = None
    epochs: int | None = None
    block: int = 100  # seeds per job
    rates: Mapping[str, float] = {}  # learning rates by "model" or "model/setting" that replace the recipes'
    data: Path | None = None  # folder of the data
    download: bool = False  # fetch the data first
    basins: tuple[str, ...] | None = None
    scheme: Literal["sequence", "last"] | None = None
    cells: int | None = None
    add: bool = False  # do not run jobs again whose results are in the result files
    reader: str = "auto"  # of the data
    no_test: bool = False  # leave the test years alone: score the validation years
    snow: Path | None = None  # snow water equivalent by basin


class Plan(NamedTuple):
    """A user's options, and what the runner decides about the jobs."""

    options: Options = Options()
    jobs_dir: Path = Path()  # each job has a folder in it
    cuts: frozenset[int] = frozenset()  # seeds at which a new job begins


def chosen_models(
    experiment: str, models: Sequence[str], variants: Sequence[str], options: Options
) -> list[str]:
    """The models a user chose, in the order of the table; by default those of the paper.

    >>> chosen_models("addition", ("mclstm", "lstm"), ("mclstm-sum",), Options(models=("lstm",)))
    ['lstm']
    """
    if options.models is None:
        return list(models)
    known = [*models, *variants]
    for name in options.models:
        if name not in known:
            raise ConfigError(f"{experiment} has no model {name!r}. Choose from {', '.join(known)}.")
    return [name for name in known if name in options.models]


def seed_blocks(plan: Plan, seeds: int) -> list[list[int]]:
    """The seeds of each job.

    >>> seed_blocks(Plan(Options(block=2)), seeds=3), seed_blocks(Plan(cuts=frozenset({1})), seeds=3)
    ([[0, 1], [2]], [[0], [1, 2]])
    """
    first, size = plan.options.first_seed, plan.options.block
    every = list(range(first, first + seeds))
    starts = [at for at, seed in enumerate(every) if at % size == 0 or seed in plan.cuts]
    return [every[start:end] for start, end in zip(starts, [*starts[1:], seeds], strict=True)]


def other_rate(options: Options, name: str, usual: float) -> float | None:
    """The learning rate a user gave for "model" or "model/setting"; None if it is the recipe's own.

    >>> other_rate(Options(rates={"nau": 0.1}), "nau", usual=0.01), other_rate(Options(), "nau", usual=0.01)
    (0.1, None)
    """
    rate = options.rates.get(name)
    return None if rate == usual else rate


def rate_folder(name: str, rate: float | None) -> str:
    """The folder of a model's jobs; jobs with another rate than the usual one get a folder inside it.

    >>> rate_folder("nau", None), rate_folder("nau", 0.1)
    ('nau', 'nau/rate-0.1')
    """
    return name if rate is None else f"{name}/rate-{rate:g}"


def scale(
    options: Options, quick: tuple[int, int], paper: tuple[int, int], per_epoch: int | None = None
) -> tuple[int, int]:
    """Seeds and updates: the user's, else the profile's; `per_epoch` counts the updates of an epoch.

    >>> scale(Options(seeds=7), quick=(5, 100), paper=(100, 1000))
    (7, 100)
    """
    seeds, updates = quick if options.profile == "quick" else paper
    if options.epochs is not None:
        assert per_epoch is not None, "an experiment that accepts --epochs gives the updates of an epoch"
        if options.updates is not None:
            raise ConfigError("Both --epochs and --updates are given. Give one of them.")
        updates = options.epochs * per_epoch
    return options.seeds or seeds, options.updates or updates
