"""Figures of learned gates as matrices, in numbers and shades."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mclstm.report.site_series import Floats
from mclstm.report.style import plot_style
from mclstm_paper.arithmetic.subsets import OPERATIONS
from mclstm_paper.recurrent_arithmetic.models import FLIPPED, RECURRENT, RECURRENT_VARIANTS
from mclstm_paper.results import Row

__all__ = ["gate_matrices", "weight_figures"]

PANELS = {"i": "input gate", "R": "redistribution", "o": "output gate", "head": "output layer"}


def weight_figures(rows: Sequence[Row], readings: Mapping[str, Any]) -> dict[str, Figure]:
    """The gates of readings "model, operation", in the table's order; variants have their own figure.

    Flipped switches have a table instead.
    """
    figures: dict[str, dict[str, dict[str, Floats]]] = {}
    for model in (*RECURRENT, *(name for name in RECURRENT_VARIANTS if name not in FLIPPED)):
        name = "recurrent-weights" if model in RECURRENT else "variants-weights"
        for operation in OPERATIONS:
            reading = readings.get(f"{model}, {operation}")
            if reading is not None:
                title = f"{model}, {reading['task']}" + ("" if reading["solved"] else ", not solved")
                matrices = {panel: np.array(reading[panel]) for panel in PANELS}
                figures.setdefault(name, {})[title] = matrices
    return {name: gate_matrices(matrices) for name, matrices in figures.items()}


def gate_matrices(rows: Mapping[str, Mapping[str, Floats]]) -> Figure:
    """One row per title: i (M, K), R (K, K), o (2, K) and the factors of the output layer (K,)."""
    with plot_style():
        figure = Figure(figsize=(9.0, 0.5 + 2.6 * len(rows)), layout="constrained")
        grid = figure.subplots(len(rows), len(PANELS), squeeze=False, width_ratios=(3.2, 1.4, 1.1, 1.1))
        for axes, (title, gates) in zip(grid, rows.items(), strict=True):
            cells = fastest_first(gates)
            names = [f"cell {cell}" for cell in cells]
            inputs = [f"x{k + 1}" for k in range(len(gates["i"]))]
            matrix(axes[0], gates["i"].T[cells], names, inputs)
            matrix(axes[1], gates["R"][cells][:, cells], names, [f"to {cell}" for cell in cells])
            matrix(axes[2], gates["o"].T[cells], names, ["on the way", "at the end"])
            matrix(axes[3], gates["head"][cells, None], names, ["factor"])
            for axis, panel in zip(axes, PANELS.values(), strict=True):
                axis.set_title(panel)
            axes[0].set_title(f"{title}\n{PANELS['i']}")
    return figure


def fastest_first(gates: Mapping[str, Floats]) -> list[int]:
    """The cells by the share of them that stays on the way, as all figures order cells by turnover.

    >>> fastest_first({"R": np.array([[0.9, 0.1], [0.8, 0.2]]), "o": np.array([[0.0, 0.0], [1.0, 1.0]])})
    [1, 0]
    """
    stays = gates["R"].diagonal() * (1 - gates["o"][0])
    return [int(cell) for cell in np.argsort(stays, kind="stable")]


def matrix(axis: Axes, values: Floats, down: list[str], across: list[str]) -> None:
    """Shades for shares from 0 to 1, and every number written."""
    axis.imshow(np.clip(np.abs(values), 0.0, 1.0), cmap="Blues", vmin=0.0, vmax=1.35, aspect="auto")
    axis.grid(False)
    axis.set_xticks(range(len(across)), across, fontsize=7)
    axis.set_yticks(range(len(down)), down, fontsize=7)
    axis.tick_params(length=0)
    for (y, x), value in np.ndenumerate(values):
        axis.text(x, y, f"{value:z.2f}", ha="center", va="center", fontsize=6.5)
