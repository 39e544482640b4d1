"""Learned gates as matrices: what goes where, in numbers and shades."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mclstm.report.series import Floats
from mclstm.report.style import styled

__all__ = ["PANELS", "gate_matrices"]

PANELS = {"i": "input gate", "R": "redistribution", "o": "output gate", "head": "output layer"}


def gate_matrices(rows: Mapping[str, Mapping[str, Floats]]) -> Figure:
    """One row a model, by its title: i (M, K), R (K, K), o (2, K) and the output layer's factors (K,)."""
    with styled():
        figure = Figure(figsize=(9.0, 0.5 + 2.6 * len(rows)), layout="constrained")
        grid = figure.subplots(len(rows), len(PANELS), squeeze=False, width_ratios=(3.2, 1.4, 1.1, 1.1))
        for axes, (title, found) in zip(grid, rows.items(), strict=True):
            cells = found["o"].shape[1]
            names = [f"cell {k}" for k in range(cells)]
            inputs = [f"x{k + 1}" for k in range(len(found["i"]))]
            matrix(axes[0], found["i"].T, names, inputs)
            matrix(axes[1], found["R"], names, [name.replace("cell", "to") for name in names])
            matrix(axes[2], found["o"].T, names, ["on the way", "at the end"])
            matrix(axes[3], found["head"][:, None], names, ["factor"])
            for axis, panel in zip(axes, PANELS.values(), strict=True):
                axis.set_title(panel)
            axes[0].set_title(f"{title}\n{PANELS['i']}")
    return figure


def matrix(axis: Axes, values: Floats, down: list[str], across: list[str]) -> None:
    """Shades for shares from 0 to 1, and every number written."""
    axis.imshow(np.clip(np.abs(values), 0.0, 1.0), cmap="Blues", vmin=0.0, vmax=1.35, aspect="auto")
    axis.grid(False)
    axis.set_xticks(range(len(across)), across, fontsize=7)
    axis.set_yticks(range(len(down)), down, fontsize=7)
    axis.tick_params(length=0)
    for (y, x), value in np.ndenumerate(values):
        axis.text(x, y, f"{value:z.2f}", ha="center", va="center", fontsize=6.5)
