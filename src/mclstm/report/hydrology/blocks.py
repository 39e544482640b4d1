"""The hydrology blocks of the documentation, from results/hydrology/stated.json."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mclstm.evaluation.comparison import COMPARED
from mclstm.report.hydrology.claims import tests_table
from mclstm.report.hydrology.table import comparison_table, label

__all__ = ["HYDROLOGY"]

RESULTS = "results/hydrology/stated.json"
SETTING = "447 basins"
NONE = f"Not measured yet: `{RESULTS}` has no such rows."


def table(root: Path) -> str:
    """The paper's table with the paper's numbers beside ours."""
    rows = [row for row in read(root)["rows"] if row["setting"] == SETTING and row["metric"] in COMPARED]
    return comparison_table(rows) if any(row["value"] is not None for row in rows) else NONE


def tests(root: Path) -> str:
    """Wilcoxon's tests of our MC-LSTM against every other model, and the claims about all of them."""
    claims = read(root)["claims"]
    for subject in ("mclstm-ensemble", "mclstm"):
        if any(claim["claim"].startswith(f"{subject} is better than") for claim in claims):
            whole = [claim for claim in claims if " than every " in claim["claim"]]
            said = [f"* {c['claim']}: {'yes' if c['holds'] else 'no'}, p = {c['p']:.2g}" for c in whole]
            return "\n".join([tests_table(claims, subject), "", *said])
    return NONE


def snow(root: Path) -> str:
    """Correlation of chosen cells with snow water equivalent in the years that had no part in the choice."""
    rows = [row for row in read(root)["rows"] if row["metric"].startswith("swe-r")]
    if not rows:
        return NONE
    names = {"swe-r": "r", "swe-r-anomaly": "r of anomalies"}
    lines = ["| model | what | | held out | members | paper |", "|---|---|---|---|---|---|"]
    for row in rows:
        span = f" ({row['low']:.2f} to {row['high']:.2f})" if row["n"] > 1 else ""
        paper = "–" if row["paper"] is None else f"{row['paper']:.2f}"
        name = label(row["model"]).removesuffix(" single")
        about = f"| {name} | {row['setting']} | {names[row['metric']]}"
        lines.append(f"{about} | {row['value']:.2f}{span} | {row['n']} | {paper} |")
    return "\n".join(lines)


def read(root: Path) -> dict[str, Any]:
    """The result file, or an empty one: a block of a page must not fail because nothing was measured."""
    file = root / RESULTS
    if not file.is_file():
        return {"rows": [], "claims": []}
    content: dict[str, Any] = json.loads(file.read_text())
    return content


HYDROLOGY: dict[str, Callable[[Path], str]] = {
    "hydrology": table,
    "hydrology-tests": tests,
    "hydrology-snow": snow,
}
