"""Steps without simulated flow, which FLV takes for 1e-6: how many, where, and the FLV of all other sites."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from mclstm.evaluation.outlets import targets
from mclstm.report.comparison import Row, Section
from mclstm.report.comparison.model_groups import Group
from mclstm.report.comparison.score_section import member_rows, short_label
from mclstm.report.markdown import NOTHING, text_table

__all__ = ["HEADS", "LOW_FLOW_METRICS", "low_flow_line", "low_flow_rows", "low_flow_section"]

# The share of steps at or below zero, how many sites have such steps, and the median FLV of both kinds of
# sites.
LOW_FLOW_METRICS = ("zero-flow", "zero-flow-sites", "flv-with-zeros", "flv-without-zeros")
HEADS = ("", "steps without flow", "sites with such steps", "FLV there", "FLV elsewhere")
TEXT = """FLV compares logarithms, and a simulated flow of zero or less has none: 1e-6 stands for it. A few
such steps decide the FLV of a site. Means over members; FLV as medians over sites."""


def low_flow_section(groups: Sequence[Group], setting: str) -> Section:
    """A line for every model; nothing where each has flow at all steps, or where targets are several."""
    single = [item for item in groups if len(item.scores[0].frames) == item.zeros.shape[1]]
    if len(targets(groups[0].flows)) > 1 or not any(bool((item.zeros > 0).any(axis=None)) for item in single):
        return Section()
    rows = [
        row for item in single for row in low_flow_rows(item.name, item.scores[0].frames, item.zeros, setting)
    ]
    lines = [low_flow_line(item.name, rows) for item in single]
    return Section("Low flows", f"{TEXT}\n\n{text_table(HEADS, lines)}", rows)


def low_flow_rows(name: str, scores: Sequence[pd.DataFrame], zeros: pd.DataFrame, setting: str) -> list[Row]:
    """The numbers of one model, with those of each member.

    scores: of each member, by site · zeros: the share of steps without simulated flow, by site and member
    """
    frames = [frame["flv"].rename(index=str).reindex(zeros.index) for frame in scores]
    dry = [zeros[member] > 0 for member in zeros]
    columns = (
        zeros.mean(),
        pd.Series([float(some.sum()) for some in dry]),
        pd.Series([median(flv[some]) for flv, some in zip(frames, dry, strict=True)]),
        pd.Series([median(flv[~some]) for flv, some in zip(frames, dry, strict=True)]),
    )
    pairs = zip(LOW_FLOW_METRICS, columns, strict=True)
    return [row for metric, values in pairs for row in member_rows(name, setting, metric, values)]


def median(values: pd.Series) -> float:
    known = values.dropna()
    return float(np.median(known)) if len(known) else float("nan")


def low_flow_line(model: str, rows: Sequence[Row]) -> list[str]:
    """The cells of a model.

    >>> low_flow_line("lstm", [{"model": "lstm", "metric": "zero-flow", "value": 0.125}])
    ['LSTM', '12.5 %', '–', '–', '–']
    """
    known = {row["metric"]: row["value"] for row in rows if row["model"] == model}
    shown = [f"{known[name]:.1f}" if name in known else NOTHING for name in LOW_FLOW_METRICS[1:]]
    return [short_label(model), f"{100 * known['zero-flow']:.3g} %", *shown]
