"""Cells of an MC-LSTM over one sequence of the addition problem: accumulator, trash cell, markers."""

from matplotlib.figure import Figure

from mclstm.report.series import Floats
from mclstm.report.style import COLOURS, legend_above, styled

__all__ = ["marked_cells"]


def marked_cells(c: Floats, marked: list[int], accumulator: int, trash: int, title: str) -> Figure:
    """Every cell of c (T + 1, K) over time; the accumulator orange, the trash cell blue, the others grey."""
    with styled():
        figure = Figure(figsize=(7.0, 3.2), layout="constrained")
        axis = figure.subplots()
        others = [k for k in range(c.shape[1]) if k not in (accumulator, trash)]
        for at, k in enumerate(others):
            axis.plot(c[:, k], color="#BBBBBB", linewidth=0.9, label=None if at else "other cells")
        axis.plot(c[:, trash], color=COLOURS["inflow"], linewidth=1.4, label=f"trash cell ({trash})")
        axis.plot(
            c[:, accumulator], color=COLOURS["simulated"], linewidth=1.6, label=f"accumulator ({accumulator})"
        )
        for at, step in enumerate(marked):
            axis.axvline(
                step + 1,
                color=COLOURS["guide"],
                linewidth=0.8,
                linestyle=":",
                label=None if at else "marked step",
            )
        axis.set(xlabel="step", ylabel="mass in the cell", xlim=(0, len(c) - 1), ylim=(0, None))
        figure.suptitle(title, x=0.01, ha="left")
        legend_above(axis)
    return figure
