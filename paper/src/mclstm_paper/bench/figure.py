"""The figure of a bench: every candidate's time against the limit, and how cost grows."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter, NullLocator

from mclstm.report.style import COLOURS, OUTLETS, logarithmic, rendered, styled
from mclstm.training.atomic import make_folder, write_bytes_atomic
from mclstm_paper.bench.growth import Curve, curve
from mclstm_paper.bench.rows import BOTH, FORWARD, Row, every, exponent, find
from mclstm_paper.bench.tables import AXES, models

__all__ = ["draw", "save_figure"]

PASSES = {FORWARD: COLOURS["inflow"], BOTH: COLOURS["simulated"]}
MODELS = {
    "mclstm-native": COLOURS["simulated"],
    "mclstm-torch": OUTLETS[1],
    "lstm": COLOURS["inflow"],
}
LIMIT: dict[str, Any] = {"color": COLOURS["guide"], "linestyle": "--", "linewidth": 1.0}


def draw(found: dict[str, Any]) -> Figure:
    """Two rows: times of a pass on one and on several threads; below, the sweeps."""
    rows = found["rows"]
    counts = sorted({row["threads"] for row in every(rows, group="paper")}) or [1]
    with styled():
        figure = Figure(figsize=(9.5, 8.6), layout="constrained")
        upper, lower = figure.subfigures(2, 1, height_ratios=(1, 1.5))  # type: ignore[misc]
        panels = upper.subplots(1, len(counts), sharey=True, squeeze=False)[0]
        for axes, threads in zip(panels, counts, strict=True):
            against_the_limit(axes, every(rows, group="paper", threads=threads), threads)
        legend(upper, PASSES, "limit of an MC-LSTM: its operations at the rate of a matrix product")
        for axes, name in zip(lower.subplots(2, 3).flat, AXES, strict=True):
            sweep(axes, every(rows, group="growth", part=name), name)
        legend(lower, MODELS, "limit · numbers: exponents")
    return figure


def legend(part: SubFigure, colours: Mapping[str, str], limit: str) -> None:
    """Above all panels of a row, where it covers nothing."""
    marks = [Line2D([], [], color=colour, marker="o", markersize=4) for colour in colours.values()]
    part.legend(
        [*marks, Line2D([], [], **LIMIT)], [*colours, limit],
        loc="outside upper right", ncols=len(colours) + 1,
    )  # fmt: skip


def against_the_limit(axes: Axes, rows: list[Row], threads: int) -> None:
    """A point a candidate and pass, quartiles as a line; dashed what the matrix product's rate allows."""
    product, names = find(rows, metric="gflops"), models(rows)[::-1]
    for metric, colour in PASSES.items():
        for height, name in enumerate(names):
            row = find(rows, model=name, metric=metric)
            if row is not None:
                axes.plot([row["low"], row["high"]], [height, height], color=colour, linewidth=2.5)
                axes.plot(row["value"], height, "o", color=colour, markersize=5)
        ours = find(rows, model="mclstm-native", metric=metric)
        if ours is not None and product is not None:
            limit = ours["operations"] / product["value"] / 1e6
            axes.axvline(limit, **{**LIMIT, "color": colour})
    kind = "CPU time" if threads == 1 else "wall time"
    axes.set(title=f"Paper's configuration, threads: {threads}", xlabel=f"{kind} of a pass (ms)")
    axes.set_yticks(range(len(names)), names)
    logarithmic(axes, "x")


def sweep(axes: Axes, rows: list[Row], name: str) -> None:
    """Cost over one size on logarithmic axes, each exponent beside the end of its line."""
    metric, product = "update" if name == "E" else BOTH, find(rows, metric="gflops")
    axes.set(title=f"Growth with {name}", xlabel=name, ylabel=f"{metric} (ms)")
    drawn: list[Curve] = []
    for model, colour in MODELS.items():
        points = curve(rows, name, model, metric)
        if points is not None:
            axes.plot(points.at, points.ms, "o-", color=colour, markersize=3)
            beside(axes, points, f"{exponent(points.at, points.ms):.2f}", colour)
            drawn.append(points)
    if not drawn:
        return
    if product is not None and drawn[0].operations is not None:
        limit = [count / product["value"] / 1e6 for count in drawn[0].operations]
        axes.plot(drawn[0].at, limit, **LIMIT)
    logarithmic(axes, "y")
    over_sizes(axes, drawn[0].at)


def beside(axes: Axes, points: Curve, text: str, colour: str) -> None:
    axes.annotate(
        text, (points.at[-1], points.ms[-1]), xytext=(5, 0), textcoords="offset points",
        va="center", fontsize=7.5, color=colour,
    )  # fmt: skip


def over_sizes(axes: Axes, at: list[int]) -> None:
    """A logarithmic x axis with the sizes that were measured as ticks, and room for the exponents."""
    axes.set(xscale="log", xlim=(at[0] / 1.2, at[-1] * (at[-1] / at[0]) ** 0.16))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xticks(at, [str(size) for size in at])


def save_figure(found: dict[str, Any], path: Path) -> None:
    """Write the figure as the name says, .svg or .png."""
    make_folder(path.parent)
    write_bytes_atomic(path, rendered(draw(found), path.suffix.removeprefix(".")))
