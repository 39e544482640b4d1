"""Annual cycles of what models lose: a figure, and the table of its rows in a result file."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from mclstm.report.comparison.score_table import short_label
from mclstm.report.style import COLOURS, OUTLETS, legend_above, shown, styled
from mclstm.report.tables import NOTHING, lined

__all__ = ["METRICS", "cycle_figure", "cycle_table"]

METRICS = ("et-cycle-r", "et-ratio")
LETTERS = "JFMAMJJASOND"
NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
REFERENCES = {"pet": "potential ET", "et": "modelled ET"}
LOOKS: dict[str, dict[str, Any]] = {
    "pet": {"color": COLOURS["observed"], "dashes": (5, 2)},
    "et": {"color": COLOURS["inflow"], "marker": "o", "markersize": 3},
}


def cycle_figure(title: str, outlet: str, members: pd.DataFrame, land: pd.DataFrame) -> Figure:
    """Twelve means a day of an outlet, thin for every member and thick for their mean, and of the land.

    members: one column a member · land: `pet` and, where it is known, `et`; both by month, October first
    """
    colour = COLOURS["trash"] if outlet == "trash" else OUTLETS[0]
    months = np.arange(len(members))
    with styled():
        figure = Figure(figsize=(6.2, 3.4), layout="constrained")
        axis = figure.subplots()
        if members.shape[1] > 1:
            axis.plot(months, members.to_numpy(), color=colour, linewidth=0.6, alpha=0.7)
        words = f"{outlet}, {members.shape[1]} members" if members.shape[1] > 1 else outlet
        axis.plot(months, members.mean(axis=1), color=colour, linewidth=2.2, label=words)
        for name in land:
            axis.plot(months, land[name].to_numpy(), label=REFERENCES[str(name)], **LOOKS[str(name)])
        axis.set(xlabel="month", ylabel="mean (mm/day)")
        if min(members.to_numpy().min(), land.to_numpy().min()) < 0:
            axis.axhline(0, color=COLOURS["guide"], linewidth=0.6)  # a free head may claim less than nothing
        else:
            axis.set_ylim(bottom=0)
        axis.set_xticks(months, [LETTERS[int(month) - 1] for month in members.index])
        legend_above(axis, columns=3)
        axis.set_title(shown(title), loc="left", pad=20)
    return figure


def cycle_table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line a model, basin and reference; mean over members with their range, months of maxima.

    >>> about = {"model": "mclstm", "setting": "basin 1, trash against PET", "n": 1}
    >>> about |= {"peaks": [6], "reference_peak": 7}
    >>> values = zip(METRICS, (0.5, 0.25))
    >>> print(cycle_table([about | {"metric": m, "value": v} for m, v in values]).splitlines()[2])
    | MC-LSTM | basin 1, trash against PET | 0.50 | 0.25 | Jun | Jul | 1 |
    """
    cells = {(row["model"], row["setting"], row["metric"]): row for row in rows}
    head = ["model", "what", "r of the cycle", "ratio of sums", "maximum in", "reference's in", "members"]
    lines = []
    for model, setting in dict.fromkeys((row["model"], row["setting"]) for row in rows):
        r, ratio = (cells.get((model, setting, metric)) for metric in METRICS)
        either = r or ratio
        if either is not None:
            numbers = [spread(r), spread(ratio), peaks(either), NAMES[either["reference_peak"] - 1]]
            lines.append([short_label(model), setting, *numbers, str(len(either["peaks"]))])
    return lined(head, lines)


def peaks(row: dict[str, Any]) -> str:
    """The months in which the members have their maximum, in the order of the calendar."""
    return ", ".join(NAMES[month - 1] for month in sorted(set(row["peaks"])))


def spread(row: dict[str, Any] | None) -> str:
    """The mean over members with the lowest and the highest; a dash for what is not defined."""
    if row is None:
        return NOTHING
    return f"{row['value']:.2f}" + (f" ({row['low']:.2f} to {row['high']:.2f})" if row["n"] > 1 else "")
