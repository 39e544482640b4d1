"""The learning curve of a run, from its journal."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mclstm.errors import DataError
from mclstm.report.series import Floats
from mclstm.report.style import COLOURS, logarithmic, styled

__all__ = ["learning_curve"]

# What the journal calls it, and what the axis does.
PANELS = {
    "loss": "training loss",
    "validation_nse": "validation NSE",
    "mass_error": "mass error / turnover",
}
CUT = -1.0  # a lower NSE says no more than "useless"
Records = Iterable[Mapping[str, Any]]


def learning_curve(records: Records) -> Figure:
    """Loss, validation score and ledger error over updates; dashed lines where the learning rate changes."""
    kept = list(records)
    curves = {name: curve(kept, name) for name in PANELS}
    curves = {name: points for name, points in curves.items() if points.size}
    if not curves:
        raise DataError("the journal holds no loss and no score yet. Train first, or leave this figure out.")
    with styled():
        figure = Figure(figsize=(6.4, 0.6 + 1.9 * len(curves)), layout="constrained")
        axes = figure.subplots(len(curves), 1, sharex=True, squeeze=False)[:, 0]
        for axis, (name, points) in zip(axes, curves.items(), strict=True):
            draw(axis, name, points)
        mark_rates(list(axes), curve(kept, "rate"))
        axes[-1].set_xlabel("update")
        axes[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
        figure.align_ylabels(list(axes))
    return figure


def curve(records: list[Mapping[str, Any]], name: str) -> Floats:
    """Updates and values of one quantity, those that are numbers: (2, n)."""
    pairs = [(record["update"], record[name]) for record in records if record.get(name) is not None]
    return np.array(pairs, dtype=np.float64).reshape(-1, 2).T


def draw(axis: Axes, name: str, points: Floats) -> None:
    marker = "o" if name == "validation_nse" or points.shape[1] == 1 else None
    colour = COLOURS["simulated"] if name == "validation_nse" else COLOURS["inflow"]
    axis.plot(*points, color=colour, marker=marker, markersize=2.5)
    axis.set_ylabel(PANELS[name])
    positive = points[1][points[1] > 0]
    if name == "validation_nse":
        mark_best(axis, points)
    elif positive.size and (name == "mass_error" or points[1].max() > 10 * points[1].min() > 0):
        # Whole decades: the size of the error is the message, its wiggles are not.
        axis.set_ylim(
            10 ** np.floor(np.log10(positive.min())), 10 ** np.ceil(np.log10(positive.max() * 1.01))
        )
        logarithmic(axis, "y")


def mark_best(axis: Axes, points: Floats) -> None:
    update, value = points[:, points[1].argmax()]
    axis.plot(update, value, "o", color=COLOURS["observed"], markersize=5, fillstyle="none")
    if value > CUT > points[1].min():
        # The first scores of an untrained model would flatten all that follow.
        axis.set_ylim(bottom=CUT)
        axis.set_ylabel(f"{PANELS['validation_nse']}, from {CUT:g} up")
    axis.set_title(f"best: {value:.3f} at update {update:.0f}", loc="right", fontsize=8)


def mark_rates(axes: list[Axes], rates: Floats) -> None:
    """A line where the journal, which skips updates, first notes another learning rate."""
    if not rates.size:
        return
    changed = 1 + np.flatnonzero(np.diff(rates[1]))
    steps = [
        f"{rates[1, 0]:g}",
        *(f"{rate:g} by update {update:.0f}" for update, rate in rates[:, changed].T),
    ]
    listed = ", ".join(steps if len(steps) <= 5 else [*steps[:2], "…", steps[-1]])
    axes[0].set_title(f"learning rate {listed}", loc="left", fontsize=8)
    for update in rates[0, changed]:
        for axis in axes:
            axis.axvline(update, color=COLOURS["guide"], linewidth=0.7, dashes=(4, 3))
