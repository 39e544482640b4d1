"""What an experiment of the paper is: jobs, rows, claims, its part of the pages, and its switches."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from mclstm.errors import ConfigError
from mclstm.jobs.job import Job, Result
from mclstm_paper.options import OPTIONAL, Options, Plan
from mclstm_paper.protocols import PROTOCOLS, Protocol, Switch
from mclstm_paper.results import Claim, Row

__all__ = [
    "Block",
    "Drawing",
    "Experiment",
    "Headline",
    "Line",
    "percent",
    "refuse_unused_options",
    "three_decimals",
    "two_digits",
]

Drawing = tuple[dict[str, Figure], dict[str, Any]]  # figures by name, and what code reads in the weights
Block = Callable[[Path], str]  # the root of the repository -> Markdown


class Line(NamedTuple):
    """A line of the table of all results: one row of a result file, by its model, setting and metric."""

    text: str
    setting: str
    model: str
    metric: str
    show: Callable[[float], str]
    protocols: tuple[Protocol, ...] = PROTOCOLS  # those under which the model exists
    paper: float | None = None  # the paper's number, for a line that was not run
    in_figure: bool = False  # whether the paper shows it in a figure, without a number


class Headline(NamedTuple):
    """A row of the README's table: our model by setting and metric, beside the paper and the best rival."""

    task: str
    setting: str
    model: str
    metric: str
    show: Callable[[float], str]
    protocol: Protocol = "stated"
    printed: str = ""  # the model whose number in the paper stands beside it, if that has another name


class Experiment(NamedTuple):
    """One task of the paper, with everything the command and the pages need of it."""

    name: str
    models: tuple[str, ...]  # those of the paper's table, in its order
    variants: tuple[str, ...]  # further models; their rows have a file of their own
    jobs: Callable[[Plan], list[Job]]
    rows: Callable[[Plan, Mapping[str, Result]], list[Row]]  # from the results of finished jobs, by job name
    table: Callable[[Sequence[Row]], str]  # Markdown
    accepts: tuple[str, ...]  # fields of OPTIONAL that it uses; every experiment uses the other options
    settings: tuple[str, ...] = ()  # names that divide its jobs, as part of their folders
    protocols: tuple[Protocol, ...] = PROTOCOLS  # those it can follow

    # Rows of the constant predictor and of the exact solution.
    trivial: Callable[[Options], list[Row]] = lambda options: []
    # The result of a job from the rows of a result file, None if they do not hold it.
    result_from_rows: Callable[[Job, Sequence[Row]], Result | None] = lambda job, rows: None
    # All rows of a file with those that are computed from others.
    complete_rows: Callable[[Sequence[Row]], list[Row]] = list
    claims: Callable[[Sequence[Row]], list[Claim]] = lambda rows: []
    # Figures of finished jobs, and readings of their weights by name.
    figures_of_jobs: Callable[[Plan, Mapping[str, Result]], Drawing] = lambda plan, results: ({}, {})
    # Figures of everything in the result files: rows, and readings by name.
    figures_of_rows: Callable[[Sequence[Row], Mapping[str, Any]], dict[str, Figure]] = lambda rows, read: {}
    # Whether rows show that a reading, by name, is out of date.
    outdated: Callable[[str, Any, Sequence[Row]], bool] = lambda name, reading, rows: False
    # Fetches the data into a folder, or into the usual one.
    download: Callable[[Path | None], object] = lambda folder: None
    file: str = ""  # the result file, where it is not <name>/<protocol>.json; may hold {protocol}
    shares_file: bool = False  # whether other commands add rows and claims to the file; those stay
    without_rate: tuple[str, ...] = ()  # models that have no learning rate to choose
    saves_each_job: bool = False  # whether rows are saved after each job

    # The settings of each model in a whole table; a page names those that are missing.
    expected: Callable[[Protocol], Mapping[str, Iterable[str]]] = lambda protocol: {}
    # Rows of the other protocol's file by this protocol's threshold, where both protocols share their runs.
    rejudge: Callable[[Sequence[Row], Protocol], list[Row]] = lambda rows, protocol: []
    blocks: Mapping[str, Block] = {}  # marked blocks of README and docs, by the name of the mark
    drawings: Mapping[str, Callable[[Path], bytes | None]] = {}  # files of docs/figures, None without results
    summary: tuple[Line, ...] = ()  # lines of the table of all results
    headlines: tuple[Headline, ...] = ()  # rows of the README's table
    switches: tuple[Switch, ...] = ()  # where its protocols differ


def refuse_unused_options(experiment: Experiment, options: Options) -> None:
    """Refuse an option that would have no effect."""
    for name, flag in OPTIONAL.items():
        used = name in experiment.accepts or getattr(options, name) == Options._field_defaults[name]
        if not used:
            raise ConfigError(f"{experiment.name} has no use for {flag}. Leave it out.")


def two_digits(value: float) -> str:
    return f"{value:.2g}"


def percent(value: float) -> str:
    return f"{100 * value:.0f} %"


def three_decimals(value: float) -> str:
    return f"{value:.3f}"
