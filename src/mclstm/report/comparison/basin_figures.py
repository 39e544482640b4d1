"""Figures over many basins: the map of their scores, and how a score is distributed over them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from mclstm.config import Config
from mclstm.data.readers import load
from mclstm.data.site_tables import Request
from mclstm.evaluation.comparison import COMPARED, PERFECT, ModelScores
from mclstm.report.comparison.outlines import lines_within
from mclstm.report.comparison.score_section import HEADS, label
from mclstm.report.style import COLOURS, LINE_COLOURS, plot_style

__all__ = ["PET", "attributes", "basin_map", "cumulative", "distributions"]

# As CAMELS and Caravan call them, and as other people do.
PLACE = {
    "gauge_lat": "lat", "gauge_lon": "lon", "latitude": "lat", "longitude": "lon", "lat": "lat", "lon": "lon",
}  # fmt: skip
PET = "pet_mean"  # mm/day, as both call it
# The range each panel shows; a few sites lie far outside and would flatten all others.
WINDOWS = {
    "nse": (0.0, 1.0), "kge": (0.0, 1.0), "alpha-nse": (0.2, 1.6), "beta-nse": (-0.4, 0.4),
    "flv": (-300.0, 100.0), "fhv": (-80.0, 40.0),
}  # fmt: skip
OUTLINE = "#AAAAAA"
LEGEND_WIDTH = 126  # letters of a line below the curves
DASHES: tuple[tuple[float | None, float | None], ...] = ((None, None), (4, 1.5), (1, 1))


def attributes(config: Config, data: Path | None) -> pd.DataFrame:
    """Columns lat, lon and pet_mean by site, those that the run's data has."""
    own = config.data
    request = Request(
        dynamic=tuple(own.mass), static=(*PLACE, PET), time=own.time, site=own.site, sites=tuple(own.sites),
        date_format=own.date_format, separator=own.separator, decimal=own.decimal, attributes=own.attributes,
    )  # fmt: skip
    table = load(data or Path(own.path), own.reader, request).attributes
    known = [name for name in (*PLACE, PET) if name in table.columns]
    numbers = {PLACE.get(name, name): pd.to_numeric(table[name], errors="coerce") for name in known}
    return pd.DataFrame(numbers, index=table.index)


def basin_map(scores: pd.Series, places: pd.DataFrame, title: str) -> Figure:
    """One point per site at its gauge, coloured by NSE, over the outlines of countries and US states.

    scores: by site · places: columns lat and lon by site, in degrees
    """
    here = places.reindex(scores.index)
    # The best are drawn first, the worst over them: crowded gauges must not hide the worst.
    order = np.argsort(-scores.to_numpy())
    west, east, south, north = frame(here)
    stretch = 1 / float(np.cos(np.deg2rad(here["lat"].mean())))  # of a degree of latitude
    with plot_style():
        width = 1.8 + 3.4 * (east - west) / stretch / (north - south)
        figure = Figure(figsize=(min(8.0, max(4.0, width)), 4.2), layout="constrained")
        axis = figure.subplots()
        lines = lines_within(west, east, south, north)
        axis.add_collection(LineCollection(lines, colors=OUTLINE, linewidths=0.5, zorder=0.5))
        points = axis.scatter(
            here["lon"].iloc[order], here["lat"].iloc[order], c=scores.clip(0, 1).iloc[order],
            cmap="viridis", vmin=0, vmax=1, s=22, edgecolors="white", linewidths=0.3,
        )  # fmt: skip
        axis.set(xlim=(west, east), ylim=(south, north), title=title)
        axis.set(xlabel="longitude (°)", ylabel="latitude (°)")
        axis.grid(visible=False)
        axis.set_aspect(stretch)
        bar = figure.colorbar(points, ax=axis, shrink=0.8, extend="min", label="NSE")
        bar.outline.set_linewidth(0.5)
    return figure


def frame(places: pd.DataFrame) -> tuple[float, float, float, float]:
    """West, east, south and north of the map: all gauges, with a little room around them."""
    edges = []
    for name in ("lon", "lat"):
        low, high = float(places[name].min()), float(places[name].max())
        room = 0.5 + 0.04 * (high - low)
        edges += [low - room, high + room]
    west, east, south, north = edges
    return west, east, south, north


def distributions(models: Sequence[ModelScores], subjects: Sequence[str]) -> Figure:
    """The share of sites below each value: one panel per metric, one line per model, subjects thick."""
    single = [model for model in models if len(model.frames) == 1]
    with plot_style():
        figure = Figure(figsize=(8.6, 6.2), layout="constrained")
        axes = figure.subplots(2, 3).ravel()
        for axis, metric in zip(axes, COMPARED, strict=True):
            for model, looks in zip(single, line_styles(single, subjects), strict=True):
                values, share = cumulative(model.frames[0], metric)
                axis.plot(values, share, label=label(model.name), drawstyle="steps-post", **looks)
            axis.axvline(PERFECT[metric], color=COLOURS["guide"], linewidth=0.6, dashes=(2, 2))
            axis.set(xlim=WINDOWS[metric], ylim=(0, 1), xlabel=HEADS[metric])
        for axis in axes[::3]:
            axis.set_ylabel("share of sites")
        lines, names = axes[0].get_legend_handles_labels()
        columns = max(1, min(4, LEGEND_WIDTH // (6 + max(map(len, names)))))  # 6: the line and the gap
        figure.legend(lines, names, loc="outside lower center", ncols=columns)
    return figure


def line_styles(models: Sequence[ModelScores], subjects: Sequence[str]) -> list[dict[str, object]]:
    """Thick lines for the subjects, thin ones for what they are compared with; eight colours, then dashes."""
    ranked = sorted(models, key=lambda model: model.name not in subjects)
    places = {model.name: place for place, model in enumerate(ranked)}
    styles: list[dict[str, object]] = []
    for model in models:
        dashes, colour = divmod(places[model.name], len(LINE_COLOURS))
        looks = {"color": LINE_COLOURS[colour], "dashes": DASHES[dashes % len(DASHES)]}
        styles.append({**looks, "linewidth": 1.9 if model.name in subjects else 1.0})
    return styles


def cumulative(frame: pd.DataFrame, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Steps of the distribution: from the lowest value up, the share of sites at or below each.

    >>> [part.tolist() for part in cumulative(pd.DataFrame({"nse": [0.5, 0.1]}), "nse")]
    [[0.1, 0.1, 0.5], [0.0, 0.5, 1.0]]
    """
    values = frame[metric].to_numpy(np.float64) if metric in frame else np.zeros(0)
    known = np.sort(values[np.isfinite(values)])
    if not known.size:
        return known, known
    return np.concatenate([known[:1], known]), np.linspace(0, 1, known.size + 1)
