"""The figure of a bench: every candidate's time against the limit, and how cost grows."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mclstm.report.runtime.growth import curve
from mclstm.report.runtime.rows import BOTH, FORWARD, Row, every, exponent, find
from mclstm.report.runtime.tables import AXES, models
from mclstm.report.style import COLOURS, OUTLETS, logarithmic, rendered, styled
from mclstm.training.atomic import make_folder, write_bytes_atomic

__all__ = ["draw", "save_figure"]

PASSES = {FORWARD: COLOURS["inflow"], BOTH: COLOURS["simulated"]}
MODELS = {
    "mclstm-native": COLOURS["simulated"],
    "mclstm-torch": OUTLETS[1],
    "lstm": COLOURS["inflow"],
}


def draw(found: dict[str, Any]) -> Figure:
    """Two rows: times a pass on one and on several threads; below, the sweeps."""
    rows = found["rows"]
    counts = sorted({row["threads"] for row in every(rows, group="paper")}) or [1]
    with styled():
        figure = Figure(figsize=(9.5, 8.2), layout="constrained")
        upper, lower = figure.subfigures(2, 1, height_ratios=(1, 1.5))  # type: ignore[misc]
        panels = upper.subplots(1, len(counts), sharey=True, squeeze=False)[0]
        for axes, threads in zip(panels, counts, strict=True):
            against_the_limit(axes, every(rows, group="paper", threads=threads), threads)
        for axes, name in zip(lower.subplots(2, 3).flat, AXES, strict=True):
            sweep(axes, every(rows, group="growth"), name)
    return figure


def against_the_limit(axes: Axes, rows: list[Row], threads: int) -> None:
    """A point a candidate and pass, quartiles as a line; dashed what the matrix product's rate allows."""
    product, names = find(rows, metric="gflops"), models(rows)[::-1]
    for metric, colour in PASSES.items():
        for height, name in enumerate(names):
            row = find(rows, model=name, metric=metric)
            if row is not None:
                label = metric if height == 0 else None
                axes.plot([row["low"], row["high"]], [height, height], color=colour, linewidth=2.5)
                axes.plot(row["value"], height, "o", color=colour, markersize=5, label=label)
        ours = find(rows, model="mclstm-native", metric=metric)
        if ours is not None and product is not None:
            limit = ours["operations"] / product["value"] / 1e6
            axes.axvline(limit, color=colour, linestyle="--", label=f"limit, {metric}")
    kind = "CPU time" if threads == 1 else "wall time"
    axes.set(title=f"Paper's configuration, threads: {threads}", xlabel=f"{kind} of a pass (ms)")
    axes.set_yticks(range(len(names)), names)
    logarithmic(axes, "x")
    if names:
        axes.legend(loc="lower left", fontsize=7)


def sweep(axes: Axes, rows: Iterable[Row], name: str) -> None:
    """Cost over one size on logarithmic axes, with the exponents in the legend."""
    metric = "update" if name == "E" else BOTH
    drawn: list[float] = []
    for model, colour in MODELS.items():
        points = curve(rows, name, model, metric)
        if points is not None:
            power = exponent(points.at, points.ms)
            axes.plot(points.at, points.ms, "o-", color=colour, markersize=3, label=f"{model}, {power:.2f}")
            drawn += points.ms
    axes.set(title=f"Growth with {name}", xlabel=name, ylabel=f"{metric} (ms)")
    if drawn:
        logarithmic(axes, "x")
        logarithmic(axes, "y")
        axes.legend(title="model, exponent", fontsize=7, title_fontsize=7)


def save_figure(found: dict[str, Any], path: Path) -> None:
    """Write the figure as the name says, .svg or .png."""
    make_folder(path.parent)
    write_bytes_atomic(path, rendered(draw(found), path.suffix.removeprefix(".")))
