"""Blocks of docs/hydrology.md: the frozen recipe, looks at the test years, costs, steps without flow."""

import json
from collections.abc import Sequence
from pathlib import Path

from mclstm.report.comparison.low_flow_section import HEADS, LOW_FLOW_METRICS, low_flow_line
from mclstm.report.comparison.score_section import label
from mclstm.report.markdown import NOTHING, text_table
from mclstm_paper.experiment import Block
from mclstm_paper.hydrology.page import FOLDER, NO_ROWS, SETTING, not_measured, read
from mclstm_paper.results import Row

__all__ = ["RECIPE_BLOCKS"]

HALVES = ("half 1", "half 2")


def recipe(root: Path) -> str:
    """Every model of the recipe: NSE in the validation years, and in halves with the other's weights."""
    rows = [row for row in read(root, "recipe.json")["rows"] if row["metric"] == "nse"]
    if not rows:
        return not_measured("recipe.json")
    whole = [row for row in rows if not row["setting"].endswith(HALVES)]
    best_first = sorted(whole, key=lambda row: -row["value"])
    lines = [
        [
            label(row["model"]),
            str(row["n"]),
            f"{row['value']:.4f}",
            *(half(rows, row["model"], h) for h in HALVES),
        ]
        for row in best_first
    ]
    return text_table(["", "members", "NSE, validation", *HALVES], lines)


def half(rows: Sequence[Row], model: str, name: str) -> str:
    values = [row["value"] for row in rows if row["model"] == model and row["setting"].endswith(name)]
    return f"{values[0]:.4f}" if values else NOTHING


def scorings(root: Path) -> str:
    """How often the test years were looked at by a recipe, and when."""
    file = root / FOLDER / "scorings.json"
    looks = json.loads(file.read_text()) if file.is_file() else []
    if not looks:
        return "Not measured yet: no recipe has been scored in the test years."
    return "\n".join(
        "{number}. {date}, commit {commit}: ".format(**one) + ", ".join(one["models"]) for one in looks
    )


def costs(root: Path) -> str:
    """The CPU time and memory of a member of each model, where its runs kept a record of them."""
    rows = [row for row in read(root)["rows"] if (row["metric"], row["setting"]) == ("nse", SETTING)]
    spent = {row["model"]: row["training"] for row in rows if "training" in row}
    lines = [
        [label(model), str(len(minutes)), spread(minutes), f"{max(megabytes) / 1000:.1f}"]
        for model, training in spent.items()
        if not model.endswith("-ensemble")
        and (minutes := [seconds / 60 for seconds in training["cpu_seconds"] if seconds is not None])
        and (megabytes := [peak for peak in training["peak_mb"] if peak is not None])
    ]
    return text_table(["", "members", "CPU minutes", "GB at most"], lines) if lines else NO_ROWS


def spread(values: Sequence[float]) -> str:
    """The lowest and the highest value.

    >>> spread([3.2, 1.0, 2.5]), spread([2.0])
    ('1.0 to 3.2', '2.0')
    """
    low, high = f"{min(values):.1f}", f"{max(values):.1f}"
    return low if low == high else f"{low} to {high}"


def low_flows(root: Path) -> str:
    """Steps without simulated flow, which decide the FLV of a site."""
    rows = [row for row in read(root)["rows"] if row["metric"] in LOW_FLOW_METRICS]
    models = dict.fromkeys(row["model"] for row in rows)
    if not models:
        return "Not measured yet: `mclstm_paper.hydrology.record` counts them."
    return text_table(HEADS, [low_flow_line(model, rows) for model in models])


RECIPE_BLOCKS: dict[str, Block] = {
    "hydrology-recipe": recipe,
    "hydrology-scorings": scorings,
    "hydrology-costs": costs,
    "hydrology-low-flows": low_flows,
}
