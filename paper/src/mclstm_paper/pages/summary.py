"""The table of all results: ours beside the paper's, one line for each comparison."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from mclstm.report.markdown import NOTHING, markdown
from mclstm_paper.experiment import Experiment, Headline, Line
from mclstm_paper.number_format import updates
from mclstm_paper.pages.sections import read
from mclstm_paper.protocols import PROTOCOLS, Protocol, other_protocol
from mclstm_paper.registry import every_experiment
from mclstm_paper.result_files import result_file
from mclstm_paper.results import Row

__all__ = ["files_of", "row_of", "summary"]

NOT_RUN = "not run"
Files = Mapping[Protocol, Sequence[Row]]  # the rows of an experiment by protocol


def summary(root: Path) -> str:
    """The paper's number and ours by protocol.

    A line is there if one of its rows was run, or if the paper has a number for it and anything of its
    experiment was run. A line of a figure of the paper is there as soon as any experiment was run, since the
    paper has no number for it.
    """
    tasks = [(task.summary, files_of(root, task)) for task in every_experiment() if task.summary]
    anything = any(row["value"] is not None for _, files in tasks for rows in files.values() for row in rows)
    texts = [cells(line, files, anything) for lines, files in tasks for line in lines]
    table = pd.DataFrame([text for text in texts if text], columns=["", "paper", *PROTOCOLS])
    return "No results yet." if table.empty else markdown(table)


def files_of(root: Path, task: Experiment) -> Files:
    """The rows of the paper's table and of the variants; then those that the other protocol's runs give."""
    own = {protocol: rows_of(root, task, protocol) for protocol in PROTOCOLS}
    return {
        protocol: [*rows, *task.rejudge(own[other_protocol(protocol)], protocol)]
        for protocol, rows in own.items()
    }


def rows_of(root: Path, task: Experiment, protocol: Protocol) -> list[Row]:
    contents = (read(root, result_file(task, protocol, suffix)) for suffix in ("", "-variants"))
    return [row for content in contents if content is not None for row in content["rows"]]


def cells(line: Line, files: Files, anything: bool) -> list[str] | None:
    """The cells of a line, None if it is left out."""
    rows = {protocol: row_of(line, files[protocol]) for protocol in PROTOCOLS}
    run = [row["paper"] for row in rows.values() if row is not None]
    paper = run[0] if run else line.paper if any(files.values()) else None
    if not run and paper is None and not (line.in_figure and anything):
        return None
    ours = [
        cell(row, line) if row is not None else NOT_RUN if protocol in line.protocols else NOTHING
        for protocol, row in rows.items()
    ]
    return [line.text, NOTHING if paper is None else line.show(paper), *ours]


def row_of(line: Line | Headline, rows: Sequence[Row]) -> Row | None:
    """The first row of a line that has a value."""
    wanted = (line.setting, line.model, line.metric)
    rows = [row for row in rows if (row["setting"], row["model"], row["metric"]) == wanted]
    return next((row for row in rows if row["value"] is not None), None)


def cell(row: Row, line: Line) -> str:
    """The value, its interval if there is one, how many runs it is of, and how far they were trained."""
    if row["model"] == "constant":
        return line.show(row["value"])
    bounds = [row["low"], row["high"]]
    known = all(bound is not None and math.isfinite(bound) for bound in bounds)
    interval = f"{' to '.join(line.show(bound) for bound in bounds)}; " if known else ""
    counts = line.metric == "success" and row.get("trained")
    trained = f", {updates(row['trained'])} updates" if counts else ""
    return f"{line.show(row['value'])} ({interval}n = {row['n']}{trained})"
