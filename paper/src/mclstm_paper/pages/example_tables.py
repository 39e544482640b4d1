"""What the examples gave, as the blocks of their pages show it."""

import textwrap
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from mclstm.report.markdown import markdown
from mclstm_paper.example_record import METRICS, OURS
from mclstm_paper.experiment import Block
from mclstm_paper.results import committed_results

__all__ = ["BLOCKS"]

POOLED = "pooled"


def recorded(root: Path, name: str) -> dict[str, Any]:
    return committed_results(root / "results" / "examples" / f"{name}.json")


def config_tables(root: Path, name: str) -> str:
    """The scores of the model by target, and those of all models over all targets, the best first."""
    content = recorded(root, name)
    cells = {(one["model"], one["setting"], one["metric"]): one["value"] for one in content["rows"]}
    models, targets = (list(dict.fromkeys(key[at] for key in cells)) for at in (0, 1))
    models.sort(key=lambda model: -cells[model, POOLED, "nse"])
    by_target = [line("target", target, cells, OURS, target) for target in targets]
    by_model = [line("model", model, cells, model, POOLED) for model in models]
    parts = [markdown(pd.DataFrame(lines)) for lines in (by_target, by_model)]
    cost = f"One seed. Training, scores and rivals took {content['cpu_seconds']} s of one core."
    return f"{parts[0]}\n\nAll targets pooled, beside the simple models:\n\n{parts[1]}\n\n{cost}"


def line(kind: str, name: str, cells: dict[tuple[str, str, str], float], *key: str) -> dict[str, str]:
    model, target = key
    return {kind: name} | {metric.upper(): f"{cells[model, target, metric]:.3f}" for metric in METRICS}


def script_output(root: Path, name: str) -> str:
    """What the script printed, as it is."""
    return textwrap.indent(recorded(root, name)["printed"], "    ")


BLOCKS: dict[str, Block] = {
    f"{name}-{part}": partial(show, name=name)
    for name in ("transport", "warehouse")
    for part, show in (("config", config_tables), ("script", script_output))
}
