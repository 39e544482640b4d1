"""What an experiment of the paper is to the command that runs it: jobs in, rows and claims out."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from matplotlib.figure import Figure

from mclstm.errors import ConfigError
from mclstm.jobs.execution import Job, Result
from mclstm.report.results import Claim, Row
from mclstm_paper.protocols import Protocol

__all__ = ["Experiment", "Options", "at_rate", "blocks", "chosen", "other_rate", "require_heard", "scale"]

Profile = Literal["quick", "paper"]
Drawing = tuple[dict[str, Figure], dict[str, Any]]  # figures by name, and what code reads in the weights


# Fields of Options that not every experiment has a use for, by the name a user gives them.
OPTIONAL = {
    "settings": "--operations", "epochs": "--epochs", "block": "--block", "rates": "--rates",
    "data": "--data", "download": "--download", "basins": "--basins", "scheme": "--scheme",
    "cells": "--cells", "add": "--add",
}  # fmt: skip


class Options(NamedTuple):
    """What a user asks of an experiment; None is what the profile says."""

    profile: Profile = "quick"
    protocol: Protocol = "stated"
    models: tuple[str, ...] | None = None
    settings: tuple[str, ...] | None = None  # operations, or whatever an experiment divides its jobs by
    seeds: int | None = None
    first_seed: int = 0
    updates: int | None = None
    epochs: int | None = None
    block: int = 100  # seeds of a job
    rates: Mapping[str, float] = {}  # learning rates by "model" or "model/setting" instead of the recipes'
    data: Path | None = None  # the folder of data that an experiment is made on
    download: bool = False  # the data first
    basins: tuple[str, ...] | None = None
    scheme: Literal["sequence", "last"] | None = None
    cells: int | None = None
    add: bool = False  # to what the result files hold: jobs that these are of are not run again
    cuts: frozenset[int] = frozenset()  # seeds that begin a job of their own, set by whoever runs them
    root: Path = Path()  # where the jobs lie, set by whoever runs them


class Experiment(NamedTuple):
    """One task of the paper."""

    name: str
    models: tuple[str, ...]  # of the paper's table, in its order
    variants: tuple[str, ...]  # others that can be asked for; kept in a file of their own
    jobs: Callable[[Options], list[Job]]
    rows: Callable[[Options, Mapping[str, Result]], list[Row]]  # of finished jobs, by name
    table: Callable[[Sequence[Row]], str]  # Markdown
    hears: tuple[str, ...]  # those of OPTIONAL that change what it does; all hear the others
    # The constant predictor and the exact solution; the paper's comparisons, on all rows there are; figures
    # of finished jobs, with the folder where these lie. By default there are none.
    trivial: Callable[[Options], list[Row]] = lambda options: []
    # What a file's rows hold of a job, None if they are not of it: it is not run again.
    restored: Callable[[Job, Sequence[Row]], Result | None] = lambda job, rows: None
    judged: Callable[[Sequence[Row]], list[Row]] = list  # all rows of a file, where some depend on others
    claims: Callable[[Sequence[Row]], list[Claim]] = lambda found: []
    figures: Callable[[Options, Mapping[str, Result], Path], Drawing] = lambda options, results, root: (
        {},
        {},
    )
    # Figures of all that its files hold, whichever commands made it: rows, and readings by name.
    redrawn: Callable[[Sequence[Row], Mapping[str, Any]], dict[str, Figure]] = lambda found, reading: {}
    file: str = ""  # of its results, where it is not <name>/<protocol>.json
    shared: bool = False  # whether other commands add rows and claims to its file: those stay
    rateless: tuple[str, ...] = ()  # models without a learning rate to choose
    every_job: bool = False  # whether rows can be made of some jobs, and are kept after each of them


def require_heard(asked: Experiment, options: Options) -> None:
    """Refuse what was asked for and would have no effect."""
    given = [name for name in OPTIONAL if getattr(options, name) != Options._field_defaults[name]]
    deaf = [OPTIONAL[name] for name in given if name not in asked.hears]
    if deaf:
        raise ConfigError(f"{asked.name} has no use for {deaf[0]}. Leave it out.")


def chosen(experiment: str, models: Sequence[str], variants: Sequence[str], options: Options) -> list[str]:
    """The models asked for, in the order of the table; by default those of the paper.

    >>> chosen("addition", ("mclstm", "lstm"), ("mclstm-sum",), Options(models=("lstm",)))
    ['lstm']
    """
    if options.models is None:
        return list(models)
    known = [*models, *variants]
    for name in options.models:
        if name not in known:
            raise ConfigError(f"{experiment} has no model {name!r}. Choose from {', '.join(known)}.")
    return [name for name in known if name in options.models]


def blocks(options: Options, seeds: int) -> list[list[int]]:
    """The seeds of each job.

    >>> blocks(Options(block=2), seeds=3), blocks(Options(cuts=frozenset({1})), seeds=3)
    ([[0, 1], [2]], [[0], [1, 2]])
    """
    every = list(range(options.first_seed, options.first_seed + seeds))
    heads = [at for at, seed in enumerate(every) if at % options.block == 0 or seed in options.cuts]
    return [every[head:end] for head, end in zip(heads, [*heads[1:], seeds], strict=True)]


def other_rate(options: Options, name: str, usual: float) -> float | None:
    """The learning rate asked for by "model" or "model/setting", None if it is the usual one of the recipe.

    >>> other_rate(Options(rates={"nau": 0.1}), "nau", usual=0.01), other_rate(Options(), "nau", usual=0.01)
    (0.1, None)
    """
    rate = options.rates.get(name)
    return None if rate == usual else rate


def at_rate(name: str, rate: float | None) -> str:
    """Where jobs of a model lie: with another rate than the usual one beside the others, not in their place.

    >>> at_rate("nau", None), at_rate("nau", 0.1)
    ('nau', 'nau/rate-0.1')
    """
    return name if rate is None else f"{name}/rate-{rate:g}"


def scale(
    options: Options, quick: tuple[int, int], paper: tuple[int, int], per_epoch: int | None = None
) -> tuple[int, int]:
    """Seeds and updates: as asked, else as the profile says; `per_epoch` is for tasks that have epochs.

    >>> scale(Options(seeds=7), quick=(5, 100), paper=(100, 1000))
    (7, 100)
    """
    seeds, updates = quick if options.profile == "quick" else paper
    if options.epochs is not None:
        assert per_epoch is not None, "an experiment that hears --epochs says how long one is"
        if options.updates is not None:
            raise ConfigError("Both --epochs and --updates are given. Give one of them.")
        updates = options.epochs * per_epoch
    return options.seeds or seeds, options.updates or updates
