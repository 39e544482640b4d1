"""A bench on the terminal, and its blocks in docs/runtime.md."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from mclstm.report.results import read_results
from mclstm.report.style import rendered
from mclstm_paper.bench.figure import draw
from mclstm_paper.bench.rows import every
from mclstm_paper.bench.tables import TABLES, judged

__all__ = ["BLOCKS", "RECORD", "drawn", "whole"]

RECORD = Path("results/runtime/stated.json")
NO_RECORD = "No record yet: `make record-runtime`."

# In the order of the terminal; the groups of rows have the same names.
TITLES = {
    "paper": "The paper's configuration, hydrology gates",
    "table": "The paper's runtime table",
    "small": "Small models: one update with Adam, a seed",
    "single": "One sequence at a time",
    "memory": "Peak memory of forward and backward",
    "growth": "How cost grows",
}


def whole(found: dict[str, Any]) -> str:
    """Everything that was measured, for a terminal."""
    parts = [TABLES["machine"](found)]
    for group, title in TITLES.items():
        if every(found["rows"], group=group):
            parts.append(f"## {title}\n\n{TABLES[group](found)}")
    if found["profile"] == "paper":
        parts.append(f"## Targets\n\n{judged(found, only_measured=True)}")
    return "\n\n".join([*parts, TABLES["missing"](found)])


def block(root: Path, name: str) -> str:
    """One table of the record in results/."""
    found = read_results(root / RECORD)
    return NO_RECORD if found is None else TABLES[name](found)


def drawn(root: Path) -> bytes | None:
    """The figure of the record; None as long as there is none."""
    found = read_results(root / RECORD)
    return None if found is None else rendered(draw(found), "svg")


def figure(root: Path) -> str:
    """Where the page shows the figure of the record."""
    if not (root / RECORD).exists():
        return NO_RECORD
    return "![Times of all candidates against the limit, and how cost grows](figures/runtime.svg)"


BLOCKS: dict[str, Callable[[Path], str]] = {
    "runtime-figure": figure,
    **{f"runtime-{name}": partial(block, name=name) for name in TABLES},
}
