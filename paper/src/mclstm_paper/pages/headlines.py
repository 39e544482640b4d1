"""The README's short table, a row per task with the best rival, and the list of all claims that failed."""

import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from mclstm.report.markdown import NOTHING, markdown
from mclstm_paper.experiment import Experiment, Headline
from mclstm_paper.pages.sections import claims_table, read
from mclstm_paper.pages.summary import files_of, row_of
from mclstm_paper.registry import every_experiment
from mclstm_paper.result_files import result_file
from mclstm_paper.results import Row

__all__ = ["failures", "headlines"]

OURS = ("mclstm", "mcfc", "hybrid", "conserving")  # how the names of models that conserve mass begin
NO_RIVALS = ("exact", "reference", "constant")  # what a task is made of, and the answer without any model
HIGHER = ("success", "nse")  # metrics that are better when they are higher
PAIR = re.compile(r"(\S+) is better than (\S+) in \S+")


def headlines(root: Path) -> str:
    """A row per task: the paper's number, ours, and the best of all other models under the same protocol."""
    texts = [
        cells(line, files_of(root, task)[line.protocol])
        for task in every_experiment()
        for line in task.headlines
    ]
    table = pd.DataFrame([text for text in texts if text], columns=["task", "paper", "ours", "best rival"])
    return "No results yet." if table.empty else markdown(table)


def cells(line: Headline, rows: Sequence[Row]) -> list[str] | None:
    """The cells of a row, None if our model was not run."""
    ours = row_of(line, rows)
    if ours is None:
        return None
    printed = printed_number(line, rows)
    paper = NOTHING if printed is None else line.show(printed)
    rival = best_rival(line, rows)
    theirs = NOTHING if rival is None else f"{line.show(rival['value'])} ({rival['model']})"
    return [line.task, paper, f"{line.show(ours['value'])} ({line.model})", theirs]


def printed_number(line: Headline, rows: Sequence[Row]) -> float | None:
    """The paper's number for our model, or for the one that it takes the place of."""
    wanted = line.printed or line.model, line.setting, line.metric
    mine = (row["paper"] for row in rows if (row["model"], row["setting"], row["metric"]) == wanted)
    return next((paper for paper in mine if paper is not None), None)


def best_rival(line: Headline, rows: Sequence[Row]) -> Row | None:
    """The best of all models that are not ours, in the setting and metric of the headline."""
    rivals = [
        row
        for row in rows
        if (row["setting"], row["metric"]) == (line.setting, line.metric)
        and row["value"] is not None
        and row["model"] not in NO_RIVALS
        and not row["model"].startswith(OURS)
    ]
    choose = max if line.metric in HIGHER else min
    return choose(rivals, key=lambda row: float(row["value"]), default=None)


def failures(root: Path) -> str:
    """All claims of all experiments that did not hold, by protocol.

    Of the comparisons of all pairs of models only those of our headline's model with others count.
    """
    parts = []
    for task in every_experiment():
        for protocol in task.protocols:
            content = read(root, result_file(task, protocol))
            claims = content["claims"] if content else []
            failed = [claim for claim in claims if not claim["holds"] and counts(claim["claim"], task)]
            if failed:
                parts.append(f"### {task.name}, {protocol}\n\n{claims_table(failed)}")
    return "\n\n".join(parts) or "No claim failed."


def counts(claim: str, task: Experiment) -> bool:
    """Whether a failed claim says something: of two opposite claims about a pair one always fails."""
    pair = PAIR.fullmatch(claim)
    if pair is None:
        return True
    return pair[1] in [line.model for line in task.headlines] and not pair[2].startswith(OURS)
