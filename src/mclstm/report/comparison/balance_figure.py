"""Budyko's space and runoff ratios: whether a model sends the right share of the rain into the river."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mclstm.explain.balance import agreement, budyko
from mclstm.report.style import COLOURS, legend_above, shown, styled

__all__ = ["budyko_figure"]

DRIEST = 5.0  # PET / P at the right end; drier sites are drawn there


def budyko_figure(table: pd.DataFrame, title: str) -> Figure:
    """Left: 1 - Q / P over PET / P with both limits and Budyko's curve; right: runoff ratios, a point a site.

    table: what `long_term` gives
    """
    with styled():
        figure = Figure(figsize=(8.4, 4.0), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1.35, 1))
        draw_space(left, table)
        draw_ratios(right, table)
        figure.suptitle(shown(title), x=0.01, ha="left")
    return figure


def draw_space(axis: Axes, table: pd.DataFrame) -> None:
    top = min(DRIEST, max(2.0, 1.05 * float(table["aridity"].max())))
    phi = np.linspace(0.01, top, 300)
    axis.plot([0, 1, top], [0, 1, 1], color=COLOURS["guide"], linewidth=0.8, label="limits")
    axis.plot(phi, budyko(phi), color=COLOURS["guide"], linewidth=1.4, label="Budyko")
    dryness = table["aridity"].clip(upper=top)
    for name in ("observed", "simulated"):
        axis.plot(
            dryness, table[f"evaporative index {name}"], "o", color=COLOURS[name], label=name,
            markersize=3, alpha=0.5, markeredgewidth=0,
        )  # fmt: skip
    low = float(table[["evaporative index observed", "evaporative index simulated"]].min().min())
    axis.set(xlim=(0, top), ylim=(min(0.0, 1.05 * low), 1.05))
    axis.set(xlabel="aridity PET / P", ylabel="evaporative index 1 − Q / P")
    legend_above(axis, columns=4)


def draw_ratios(axis: Axes, table: pd.DataFrame) -> None:
    found = agreement(table)
    seen, made = table["runoff ratio observed"], table["runoff ratio simulated"]
    top = 1.05 * max(1.0, float(seen.max()), float(made.max()))
    axis.plot([0, top], [0, top], color=COLOURS["guide"], linewidth=0.8, dashes=(5, 3))
    axis.axhline(1, color=COLOURS["guide"], linewidth=0.6)
    axis.axvline(1, color=COLOURS["guide"], linewidth=0.6)
    axis.plot(seen, made, "o", color=COLOURS["simulated"], markersize=3, alpha=0.5, markeredgewidth=0)
    axis.set(xlim=(0, top), ylim=(0, top), aspect="equal")
    axis.set(xlabel="observed Q / P", ylabel="simulated Q / P")
    lines = [f"r = {found['correlation']:.2f}", f"RMSE {found['rmse']:.3f}", f"{found['sites']:.0f} sites"]
    axis.text(0.9, 0.05, "\n".join(lines), transform=axis.transAxes, va="bottom", ha="right",
              bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5})  # fmt: skip
