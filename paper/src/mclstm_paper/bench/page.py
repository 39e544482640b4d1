"""A bench on the terminal, its figure, and its blocks in docs/runtime.md."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter, NullLocator

from mclstm.report.style import COLOURS, OUTLETS, logarithmic, plot_style, render
from mclstm.training.atomic import make_folder, write_bytes_atomic
from mclstm_paper.bench.ratios import BOTH, FMA_LOOP, FORWARD, Curve, Row, curve, every, exponent, find, limit
from mclstm_paper.bench.runtime_tables import AXES, TABLES, judged, models
from mclstm_paper.results import read_results

__all__ = ["BLOCKS", "RECORD", "draw", "figure_svg", "save_figure", "whole"]

RECORD = Path("results/runtime/stated.json")
NO_RECORD = "No record yet: `make record-runtime`."

# Of every group, in the order of the terminal.
TITLES = {
    "paper": "The paper's configuration, hydrology gates",
    "table": "The paper's runtime table",
    "small": "Small models: one update with Adam, per seed",
    "single": "One sequence at a time",
    "memory": "Peak memory of forward and backward",
    "growth": "How cost grows",
}

PASSES = {FORWARD: COLOURS["inflow"], BOTH: COLOURS["simulated"]}
MODELS = {"mclstm-native": COLOURS["simulated"], "mclstm-torch": OUTLETS[1], "lstm": COLOURS["inflow"]}
LIMIT: dict[str, Any] = {"color": COLOURS["guide"], "linestyle": "--", "linewidth": 1.0}


def whole(record: dict[str, Any]) -> str:
    """Everything that was measured, for a terminal."""
    parts = [TABLES["machine"](record)]
    for group, title in TITLES.items():
        if every(record["rows"], group=group):
            parts.append(f"## {title}\n\n{TABLES[group](record)}")
    if record["profile"] == "paper":
        parts.append(f"## Targets\n\n{judged(record, only_measured=True)}")
    return "\n\n".join([*parts, TABLES["missing"](record)])


def block(root: Path, name: str) -> str:
    """One table of the record in results/."""
    record = read_results(root / RECORD)
    return NO_RECORD if record is None else TABLES[name](record)


def figure_svg(root: Path) -> bytes | None:
    """The figure of the record; None without a record."""
    record = read_results(root / RECORD)
    return None if record is None else render(draw(record), "svg")


def figure(root: Path) -> str:
    """The place of the figure on the page."""
    if not (root / RECORD).exists():
        return NO_RECORD
    return "![Times of all candidates against the limit, and how cost grows](figures/runtime.svg)"


def draw(record: dict[str, Any]) -> Figure:
    """Two rows: times of a pass on one and on several threads; below, the sweeps."""
    rows = record["rows"]
    counts = sorted({row["threads"] for row in every(rows, group="paper")}) or [1]
    with plot_style():
        figure = Figure(figsize=(9.5, 8.6), layout="constrained")
        upper, lower = figure.subfigures(2, 1, height_ratios=(1, 1.5))  # type: ignore[misc]
        panels = upper.subplots(1, len(counts), sharey=True, squeeze=False)[0]
        for axes, threads in zip(panels, counts, strict=True):
            against_the_limit(axes, every(rows, group="paper", threads=threads), threads)
        most = limit(every(rows, group="paper", threads=counts[0]))
        name = most["model"] if most else FMA_LOOP
        legend(upper, PASSES, f"limit of an MC-LSTM: its operations at the rate of the {name}")
        for axes, name in zip(lower.subplots(2, 3).flat, AXES, strict=True):
            sweep(axes, every(rows, group="growth", part=name), name)
        legend(lower, MODELS, "limit · numbers: exponents")
    return figure


def legend(part: SubFigure, colours: Mapping[str, str], limit: str) -> None:
    """A legend above all panels of a row, where it covers nothing."""
    marks = [Line2D([], [], color=colour, marker="o", markersize=4) for colour in colours.values()]
    part.legend(
        [*marks, Line2D([], [], **LIMIT)], [*colours, limit],
        loc="outside upper right", ncols=len(colours) + 1,
    )  # fmt: skip


def against_the_limit(axes: Axes, rows: list[Row], threads: int) -> None:
    """One point per candidate and pass, quartiles as a line, and dashed the limit."""
    most, names = limit(rows), models(rows)[::-1]
    for metric, colour in PASSES.items():
        for height, name in enumerate(names):
            row = find(rows, model=name, metric=metric)
            if row is not None:
                axes.plot([row["low"], row["high"]], [height, height], color=colour, linewidth=2.5)
                axes.plot(row["value"], height, "o", color=colour, markersize=5)
        ours = find(rows, model="mclstm-native", metric=metric)
        if ours is not None and most is not None:
            axes.axvline(ours["operations"] / most["value"] / 1e6, **{**LIMIT, "color": colour})
    kind = "CPU time" if threads == 1 else "wall time"
    axes.set(title=f"Paper's configuration, threads: {threads}", xlabel=f"{kind} of a pass (ms)")
    axes.set_yticks(range(len(names)), names)
    logarithmic(axes, "x")


def sweep(axes: Axes, rows: list[Row], name: str) -> None:
    """Cost over one size on logarithmic axes, each exponent beside the end of its line."""
    metric, most = "update" if name == "E" else BOTH, limit(rows)
    axes.set(title=f"Growth with {name}", xlabel=name, ylabel=f"{metric} (ms)")
    curves: list[Curve] = []
    for model, colour in MODELS.items():
        points = curve(rows, name, model, metric)
        if points is not None:
            axes.plot(points.at, points.ms, "o-", color=colour, markersize=3)
            beside(axes, points, f"{exponent(points.at, points.ms):.2f}", colour)
            curves.append(points)
    if not curves:
        return
    if most is not None and curves[0].operations is not None:
        shortest = [count / most["value"] / 1e6 for count in curves[0].operations]
        axes.plot(curves[0].at, shortest, **LIMIT)
    logarithmic(axes, "y")
    over_sizes(axes, curves[0].at)


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


def save_figure(record: dict[str, Any], path: Path) -> None:
    """Write the figure as .svg or .png, as the name ends."""
    make_folder(path.parent)
    write_bytes_atomic(path, render(draw(record), path.suffix.removeprefix(".")))


BLOCKS: dict[str, Callable[[Path], str]] = {
    "runtime-figure": figure,
    **{f"runtime-{name}": partial(block, name=name) for name in TABLES},
}
