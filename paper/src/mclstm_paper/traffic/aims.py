"""What we set out to reach with flows, what was measured, and what more updates would bring."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from mclstm.report.markdown import markdown
from mclstm_paper.experiment import Block
from mclstm_paper.pages.sections import missing, read
from mclstm_paper.pendulum.page import figure_links
from mclstm_paper.results import Row, committed_results
from mclstm_paper.seed_rows import find
from mclstm_paper.traffic.models import our_variant
from mclstm_paper.traffic.printed import REACHED

__all__ = ["AIM_BLOCKS", "aims_table", "updates_table"]

NAME = "traffic"
BY_TIME = "regression-by-time"


def aims_table(root: Path) -> str:
    """Every aim beside what was measured: our variant against rivals, as a ratio of mean scores."""
    content = read(root, f"{NAME}/stated.json")
    if content is None:
        return missing(NAME, "stated")
    lines = []
    for setting in sorted({row["setting"] for row in content["rows"]}):
        rows = [row for row in content["rows"] if row["setting"] == setting]
        lines.append(aim(rows, "rmse", BY_TIME, 1.0))
        lines.append(aim(rows, "rmse total", best_rival(rows, "rmse total"), 1.0))
        if "-sparse-" in setting:
            lines.append(aim(rows, "rmse", "lstm", REACHED))
    return markdown(pd.DataFrame([line for line in lines if line]))


def best_rival(rows: Sequence[Row], metric: str) -> str:
    """The model with the lowest score that is no MC-LSTM."""
    others = [row for row in rows if row["metric"] == metric and not row["model"].startswith("mclstm")]
    return str(min(others, key=lambda row: row["value"])["model"]) if others else ""


def aim(rows: Sequence[Row], metric: str, rival: str, limit: float) -> dict[str, str]:
    """One line: the score of our variant, the rival's, their ratio, and the ratio to reach."""
    setting = rows[0]["setting"]
    model = our_variant(setting)
    ours, theirs = (find(rows, name, setting, metric) for name in (model, rival))
    if ours is None or theirs is None:
        return {}
    ratio = ours["value"] / theirs["value"]
    pair = {f"{who}": f"{row['value']:.3g}" for who, row in (("measured", ours), ("rival's", theirs))}
    return {"setting": setting, "score": metric, "model": model, "rival": rival} | pair | {
        "ratio": f"{ratio:.2f}", "target": f"{limit:g}", "reached": "yes" if ratio <= limit else "no",
    }  # fmt: skip


def updates_table(root: Path) -> str:
    """RMSE on validation days after fewer and more updates, as means of seeds that are no run's."""
    content = committed_results(root / "results" / NAME / "updates.json")
    lines = []
    for trial in content["trials"]:
        fewer, more = (float(np.mean(errors)) for errors in trial["rmse"].values())
        columns = [f"{int(number):,} updates" for number in trial["rmse"]]
        lines.append({"reading": trial["reading"], "model": trial["model"], columns[0]: f"{fewer:.3f}",
                      columns[1]: f"{more:.3f}", "change": f"{more / fewer - 1:+.1%}"})  # fmt: skip
    return markdown(pd.DataFrame(lines))


AIM_BLOCKS: dict[str, Block] = {
    "traffic-targets": aims_table,
    "traffic-updates": updates_table,
    "traffic-figures": lambda root: figure_links(root, NAME, ("day",)),
}
