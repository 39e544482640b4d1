"""Where the protocols differ, page by page: the switches that concern a task, with their reasons."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pandas as pd

from mclstm.report.tables import markdown
from mclstm_paper.protocols import SWITCHES

__all__ = ["DIFFERENCES"]

# Which switches concern a page, by how their names begin or end.
CONCERNED: dict[str, tuple[tuple[str, ...], str]] = {
    "addition": (("addition: ", "mclstm: ", "lstm: ", "ln-lstm: ", "urnn: "), "in the addition problem"),
    "recurrent-arithmetic": (("recurrent arithmetic: ", "mclstm: ", "thresholds: "), "recurrent arithmetic"),
    "static-arithmetic": (("thresholds: ",), "static arithmetic"),
    "mnist-sum": (("mnist sum: ",), "mnist sum"),
    "hydrology": (("hydrology: ",), "hydrology"),
}


def differences(root: Path, task: str) -> str:
    """The switches between the protocols that concern a task; `root` is what every block takes."""
    begin, end = CONCERNED[task]
    concerned = {n: why for n, why in SWITCHES.items() if n.startswith(begin) or n.endswith(end)}
    shown = {
        "switch": list(concerned),
        "when it is on, as in the published code": list(concerned.values()),
    }
    return markdown(pd.DataFrame(shown))


DIFFERENCES: dict[str, Callable[[Path], str]] = {
    f"{task}-differences": partial(differences, task=task) for task in CONCERNED
}
