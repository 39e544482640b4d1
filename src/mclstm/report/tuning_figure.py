"""The figure of a search: how the score rose, and which keys it depended on."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator

from mclstm.report.style import COLOURS, legend_above, logarithmic, plot_style

__all__ = ["tuning_figure"]

KEYS = 4  # with a panel of their own, the most important ones
LOOKS = {"complete": (COLOURS["inflow"], "o"), "pruned": (COLOURS["losses"], "x")}
ROOM = 1.25  # from the lowest shown score to the median, as a multiple of that from the median to the best


def tuning_figure(trials: pd.DataFrame, importance: Mapping[str, float], log: Collection[str]) -> Figure:
    """Scores by trial with the best so far, the importance of every key, and scores by value of some.

    trials: state, score and a column per key, by number · log: keys whose axis is logarithmic
    """
    others = {"state", "score", "updates", "reason"}
    keys = list(importance) or [str(name) for name in trials if name not in others]
    with plot_style():
        figure = Figure(figsize=(7.2, 4.6), layout="constrained")
        above, below = np.ravel(np.asarray(figure.subfigures(2, 1)))
        left, right = above.subplots(1, 2)
        history(left, trials)
        bars(right, importance)
        panels = below.subplots(1, len(keys[:KEYS]), sharey=True, squeeze=False)[0]
        for panel, key in zip(panels, keys, strict=False):
            scores_by_value(panel, trials, key, key in log)
        panels[0].set_ylabel("validation NSE")
    return figure


def history(axes: Axes, trials: pd.DataFrame) -> None:
    """Every score, and the best up to each trial."""
    points(axes, trials, trials.index.to_numpy())
    best = trials["score"].where(trials["state"] == "complete").cummax().ffill()
    axes.step(trials.index, best, where="post", color=COLOURS["simulated"], label="best so far")
    axes.set(xlabel="trial", ylabel="validation NSE", ylim=limits(trials))
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    legend_above(axes, 3)


def bars(axes: Axes, importance: Mapping[str, float]) -> None:
    """The share of every key, the largest on top."""
    if not importance:
        axes.set_axis_off()
        axes.text(0.5, 0.5, "too few trials to say what mattered", ha="center", transform=axes.transAxes)
        return
    names = list(importance)[::-1]
    axes.barh(names, [importance[name] for name in names], color=COLOURS["storage"])
    axes.set(xlabel="importance (share of 1)", xlim=(0, 1))
    axes.grid(visible=False, axis="y")


def scores_by_value(axes: Axes, trials: pd.DataFrame, key: str, log: bool) -> None:
    """The score of every trial over its value of a key."""
    values = trials[key]
    numeric = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    if numeric and values.notna().all():
        points(axes, trials, values.to_numpy(dtype=float))
        if log:
            logarithmic(axes, "x")
            axes.xaxis.set_major_locator(LogLocator())  # powers of ten alone: a panel is narrow
        else:
            axes.xaxis.set_major_locator(MaxNLocator(4))
    else:
        texts = ["null" if pd.isna(value) else str(value) for value in values]
        names = sorted(set(texts))
        points(axes, trials, np.array([names.index(text) for text in texts], dtype=float))
        axes.set_xticks(range(len(names)), names)
        axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set(xlabel=key.replace(".", ".\n", 1), ylim=limits(trials))


def points(axes: Axes, trials: pd.DataFrame, places: np.ndarray) -> None:
    """A point per trial, by its state; scores below the axis at its lower end."""
    low, _ = limits(trials)
    for state, (colour, marker) in LOOKS.items():
        rows = (trials["state"] == state).to_numpy()
        if rows.any():
            scores = trials["score"].to_numpy(dtype=float)[rows].clip(low)
            look: dict[str, Any] = {
                "s": 14,
                "c": colour,
                "marker": marker,
                "linewidths": 0.8,
                "clip_on": False,
            }
            axes.scatter(places[rows], scores, label=state, **look)


def limits(trials: pd.DataFrame) -> tuple[float, float]:
    """Where the scores are told apart: the worst ones would press all others together."""
    scores = trials["score"].dropna()
    best, middle = scores.max(), scores.median()
    low = max(scores.min(), middle - ROOM * (best - middle)) if len(scores) > 2 else scores.min()
    room = 0.05 * (best - low) or 0.05
    return float(low - room), float(best + room)
