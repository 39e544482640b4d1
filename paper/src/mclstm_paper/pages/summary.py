"""The results next to the paper's, a line each: the table of the README."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from mclstm.report.results import Row, read_results
from mclstm.report.tables import NOTHING, markdown
from mclstm_paper.arithmetic.entries import updates
from mclstm_paper.arithmetic.printed import RECURRENT, STATIC

__all__ = ["Line", "summary"]

PROTOCOLS = ("stated", "published")
NOT_RUN = "not run"
SAME_RUNS = "static-arithmetic"  # whose protocols differ in the threshold and in nothing that is trained
FIGURE = "mnist-sum"  # which the paper shows without a number: only its lines can say that it was not run
PAPER = {"recurrent-arithmetic": RECURRENT, "static-arithmetic": STATIC}


class Line(NamedTuple):
    """What is compared: one row of a result file, by its model, setting and metric."""

    text: str
    experiment: str
    setting: str
    model: str
    metric: str
    show: Callable[[float], str]
    protocols: tuple[str, ...] = PROTOCOLS  # under which there is such a model


def plain(value: float) -> str:
    return f"{value:.2g}"


def percent(value: float) -> str:
    return f"{100 * value:.0f} %"


def exact(value: float) -> str:
    return f"{value:.3f}"


LINES = (
    *(
        Line(f"addition problem, {where}: error of {model}", "addition", where, model, "mse", plain)
        for where in ("seq length", "combo")
        for model in ("mclstm", "lstm", "constant")
    ),
    *(
        Line(f"recurrent {name}: solved by {model}", "recurrent-arithmetic", name, model, "success", percent)
        for name, rival in (("addition", "nau"), ("subtraction", "nau"), ("multiplication", "nmu"))
        for model in ("mclstm", "mclstm-tuned", rival)
    ),
    *(
        Line(f"static {name}: solved by mcfc", "static-arithmetic", name, "mcfc", "success", percent)
        for name in ("addition", "subtraction", "multiplication")
    ),
    *(
        Line(
            f"sum of {n} MNIST digits: solved by {model}",
            "mnist-sum",
            f"length {n}",
            model,
            "success",
            percent,
            ("stated",) if model == "mclstm-tuned" else PROTOCOLS,
        )
        for n in (10, 1000)
        for model in ("mclstm", "mclstm-tuned", "nau")
    ),
    *(
        Line(f"447 basins, median NSE: {model}", "hydrology", "447 basins", model, "nse", exact)
        for kind in (
            *("mclstm", "mclstm-tuned", "mclstm-small-batches", "mclstm-antecedent", "mclstm-mixed"),
            *("lstm", "lstm-tuned"),
        )
        for model in (kind, f"{kind}-ensemble")
    ),
)


def summary(root: Path) -> str:
    """The paper's number and ours by protocol: every line that was run, or misses in what was.

    Lines of the paper's figure are there as soon as anything was run: else they would be hidden until then.
    """
    files = {
        (name, protocol): read(root / "results" / name, protocol)
        for name in dict.fromkeys(line.experiment for line in LINES)
        for protocol in PROTOCOLS
    }
    anything = any(row["value"] is not None for rows in files.values() for row in rows)
    shown: dict[str, list[str]] = {"": [], "paper": [], **{name: [] for name in PROTOCOLS}}
    for line in LINES:
        rows = {protocol: of_protocol(files, line, protocol) for protocol in PROTOCOLS}
        there = [row["paper"] for row in rows.values() if row is not None]
        begun = any(files[line.experiment, protocol] for protocol in PROTOCOLS)
        paper = there[0] if there else printed(line) if begun else None
        drawn = line.experiment == FIGURE and line.protocols == PROTOCOLS  # the others are our own
        if not there and paper is None and not (anything and drawn):
            continue
        shown[""].append(line.text)
        shown["paper"].append(NOTHING if paper is None else line.show(paper))
        for protocol, row in rows.items():
            absent = NOT_RUN if protocol in line.protocols else NOTHING
            shown[protocol].append(absent if row is None else cell(row, line))
    return markdown(pd.DataFrame(shown)) if shown[""] else "No results yet."


def of_protocol(files: Mapping[tuple[str, str], Sequence[Row]], line: Line, protocol: str) -> Row | None:
    """The row of a line; of static arithmetic, whose protocols share their runs, by the other threshold."""
    row = found(files[line.experiment, protocol], line)
    if row is None and line.experiment == SAME_RUNS:
        beside = line._replace(metric=f"{line.metric} ({protocol} threshold)")
        row = next((r for p in PROTOCOLS if (r := found(files[line.experiment, p], beside))), None)
    return row


def printed(line: Line) -> float | None:
    """The paper's number of a line that was not run."""
    models = PAPER.get(line.experiment, {})
    return models.get(line.model, {}).get(line.setting, (None, None))[0]


def read(folder: Path, protocol: str) -> list[Row]:
    """The rows of the paper's table and of the variants beside it, as far as they were run."""
    files = (read_results(folder / f"{protocol}{suffix}.json") for suffix in ("", "-variants"))
    return [row for content in files if content is not None for row in content["rows"]]


def found(rows: Sequence[Row], line: Line) -> Row | None:
    wanted = (line.setting, line.model, line.metric)
    asked = (row for row in rows if (row["setting"], row["model"], row["metric"]) == wanted)
    return next((row for row in asked if row["value"] is not None), None)


def cell(row: Row, line: Line) -> str:
    """The value with its interval where there is one, how many runs it is of, how far they were trained."""
    if row["model"] == "constant":
        return line.show(row["value"])
    bounds = [row["low"], row["high"]]
    known = all(bound is not None and math.isfinite(bound) for bound in bounds)
    span = f"{' to '.join(line.show(bound) for bound in bounds)}; " if known else ""
    counted = line.metric == "success" and row.get("trained")
    trained = f", {updates(row['trained'])} updates" if counted else ""
    return f"{line.show(row['value'])} ({span}n = {row['n']}{trained})"
