"""Scores of every outlet, of their total and of all together: models side by side."""

from collections.abc import Sequence

import pandas as pd

from mclstm.evaluation.comparison import ModelScores
from mclstm.evaluation.outlets import POOLED, TOTAL
from mclstm.report.comparison import Section
from mclstm.report.comparison.score_section import label
from mclstm.report.markdown import markdown

__all__ = ["outlet_section", "outlet_table"]

MOST = 12  # outlets in the tables of the page; outlets.csv has all
WORDS = {"nse": "NSE", "rmse": "RMSE, in the unit of the targets", "mae": "MAE, in the unit of the targets"}
TEXT = """`total` scores the sum of all outlets, `pooled` the errors of all outlets together. Medians over
sites, means over members."""


def outlet_section(models: Sequence[ModelScores]) -> Section:
    """One table per metric: a line per model, a column per outlet. Nothing where there is one target."""
    known = {model.name: model.by_target for model in models if model.by_target is not None}
    if not known:
        return Section()
    parts = [TEXT, *(f"**{words}**\n\n{outlet_table(known, metric)}" for metric, words in WORDS.items())]
    long = pd.concat([frame.reset_index().assign(model=name) for name, frame in known.items()])
    table = long[["model", *long.columns.drop("model")]]
    return Section("Outlets", "\n\n".join(parts), tables={"outlets": table})


def outlet_table(frames: dict[str, pd.DataFrame], metric: str) -> str:
    """Markdown: one metric of every model, by outlet; of many outlets the first, and those of all together.

    >>> frame = pd.DataFrame({"nse": [0.5, 0.25]}, index=["north", "total"])
    >>> print(outlet_table({"mclstm": frame}, "nse"))
    |                | north | total |
    |:---------------|------:|------:|
    | MC-LSTM single | 0.500 | 0.250 |
    """
    wide = pd.DataFrame({label(name): frame[metric] for name, frame in frames.items()}).T
    first = next(iter(frames.values())).index
    own = [name for name in first if name not in (TOTAL, POOLED)]
    return markdown(wide[[*own[:MOST], *(name for name in first if name not in own)]].rename_axis(""))
