"""The style of the theory figures: one palette, and files with the same bytes on every run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["GATE", "INK", "MASS", "OTHER", "PALE", "THIRD", "label", "panels", "write"]

# Okabe and Ito's colours, distinct for colour-blind readers and in grey print.
MASS = "#0072B2"
GATE = "#D55E00"
OTHER = "#009E73"
THIRD = "#CC79A7"
PALE = "#9ECAE1"
INK = "#333333"

STYLE: Any = {
    "svg.hashsalt": "mclstm",  # without it every run names its clip paths differently
    "svg.fonttype": "path",
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "legend.fontsize": 8.0,
}
# Dates and versions would change the file from run to run.
DATELESS: dict[str, Any] = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}


def panels(count: int, width: float = 9.0, height: float = 3.2) -> tuple[Figure, list[Axes]]:
    """A figure with `count` panels side by side."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, [figure.add_subplot(1, count, place + 1) for place in range(count)]


def label(axes: Axes, title: str, x: str, y: str) -> None:
    """Title and axis names."""
    axes.set(title=title, xlabel=x, ylabel=y)


def write(draw: Callable[[], Figure], out: Path, name: str, kinds: tuple[str, ...] = ("svg",)) -> list[Path]:
    """Draw a figure in this style and write it to `out`, one file per kind."""
    out.mkdir(parents=True, exist_ok=True)
    paths = [out / f"{name}.{kind}" for kind in kinds]
    with matplotlib.rc_context(STYLE):
        figure = draw()
        for path in paths:
            figure.savefig(path, dpi=200, metadata=DATELESS[path.suffix[1:]])
    return paths
