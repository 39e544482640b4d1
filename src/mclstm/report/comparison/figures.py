"""Figures over many sites: where a model is good, and how good it is how often."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from mclstm.evaluation.comparison import COMPARED, PERFECT, Scored
from mclstm.report.comparison.score_table import HEADS, label
from mclstm.report.style import COLOURS, OUTLETS, styled

__all__ = ["basin_map", "distributions"]

# What is worth looking at; a few basins lie far outside and would flatten all others.
WINDOWS = {
    "nse": (0.0, 1.0), "kge": (0.0, 1.0), "alpha-nse": (0.2, 1.6), "beta-nse": (-0.4, 0.4),
    "flv": (-300.0, 100.0), "fhv": (-80.0, 40.0),
}  # fmt: skip
FIRST = ("#D55E00", "#0072B2", "#009E73", "#CC79A7")  # models of the runs
OTHERS = ("#999999", "#E69F00", "#56B4E9", "#8C6D31", "#B2ABD2", "#555555")
DASHES: tuple[tuple[float | None, float | None], ...] = ((None, None), (4, 1.5), (1, 1))


def basin_map(scores: pd.Series, places: pd.DataFrame, title: str) -> Figure:
    """One point a site at its gauge, coloured by NSE; no coast, because the gauges draw it.

    scores: by site · places: columns lat and lon by site, in degrees
    """
    here = places.reindex(scores.index)
    # The worst below the best would hide them where gauges crowd.
    order = np.argsort(-scores.to_numpy())
    with styled():
        figure = Figure(figsize=(8.0, 4.2), layout="constrained")
        axis = figure.subplots()
        points = axis.scatter(
            here["lon"].iloc[order], here["lat"].iloc[order], c=scores.clip(0, 1).iloc[order],
            cmap="viridis", vmin=0, vmax=1, s=22, edgecolors="white", linewidths=0.3,
        )  # fmt: skip
        axis.set(xlabel="longitude (°)", ylabel="latitude (°)", title=title)
        axis.set_aspect(1 / float(np.cos(np.deg2rad(here["lat"].mean()))))
        bar = figure.colorbar(points, ax=axis, shrink=0.8, extend="min", label="NSE")
        bar.outline.set_linewidth(0.5)
    return figure


def distributions(models: Sequence[Scored], first: Sequence[str]) -> Figure:
    """The share of sites below each value, a panel a metric, a line a model; `first` are drawn thick."""
    single = [model for model in models if len(model.frames) == 1]
    with styled():
        figure = Figure(figsize=(8.6, 6.2), layout="constrained")
        axes = figure.subplots(2, 3).ravel()
        for axis, metric in zip(axes, COMPARED, strict=True):
            for model, looks in zip(single, styles(single, first), strict=True):
                values, share = cumulative(model.frames[0], metric)
                axis.plot(values, share, label=label(model.name), drawstyle="steps-post", **looks)
            axis.axvline(PERFECT[metric], color=COLOURS["guide"], linewidth=0.6, dashes=(2, 2))
            axis.set(xlim=WINDOWS[metric], ylim=(0, 1), xlabel=HEADS[metric])
        for axis in axes[::3]:
            axis.set_ylabel("share of sites")
        lines, names = axes[0].get_legend_handles_labels()
        figure.legend(lines, names, loc="outside lower center", ncols=4)
    return figure


def styles(models: Sequence[Scored], first: Sequence[str]) -> list[dict[str, object]]:
    """Thick lines in strong colours for the models in question, thin ones for what they are compared with."""
    found: list[dict[str, object]] = []
    strong = list(dict.fromkeys((*FIRST, *OUTLETS)))
    mine = others = 0
    for model in models:
        if model.name in first:
            colour, width = strong[mine % len(strong)], 1.9
            dash = DASHES[mine // len(strong) % 3]
            mine += 1
        else:
            colour, width, dash = OTHERS[others % 6], 1.0, DASHES[others // 6 % 3]
            others += 1
        found.append({"color": colour, "linewidth": width, "dashes": dash})
    return found


def cumulative(frame: pd.DataFrame, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Steps of the distribution: from the lowest value up, the share of sites at or below each.

    >>> [part.tolist() for part in cumulative(pd.DataFrame({"nse": [0.5, 0.1]}), "nse")]
    [[0.1, 0.1, 0.5], [0.0, 0.5, 1.0]]
    """
    values = frame[metric].to_numpy(np.float64) if metric in frame else np.zeros(0)
    known = np.sort(values[np.isfinite(values)])
    return np.concatenate([known[:1], known]), np.linspace(0, 1, known.size + 1)[
        : known.size + bool(known.size)
    ]
