"""The stores of a conserving model over time, a strip each."""

import math

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mclstm.errors import DataError
from mclstm.report.series import Floats, SiteSeries, Stores, site_series
from mclstm.report.style import COLOURS, dated, labelled, shown, styled

__all__ = ["cell_states"]

MOST = 64  # strips; beyond that nobody can read one
CROWDED = 10_000  # points of a column beyond which its areas are images inside the SVG
HEIGHT = 0.78  # of a strip; the rest is for its name


def cell_states(predictions: xr.Dataset, site: str, target: str = "") -> Figure:
    """Storage of every cell, each on its own scale: the rhythm of a small store counts, too."""
    series = site_series(predictions, site, target)
    if series.stores is None:
        raise DataError("the model of these predictions has no stores. Leave this figure out.")
    cells = chosen(series.stores.storage)
    columns = columns_for(len(cells))
    rows = math.ceil(len(cells) / columns)
    with styled():
        # Strips share the axes of their column: 64 axes of their own would take ten times as long to draw.
        figure = Figure(figsize=(8.0, 0.9 + rows * strip_height(rows)), layout="constrained")
        for at, axis in enumerate(figure.subplots(1, columns, squeeze=False)[0]):
            draw_column(axis, series, series.stores, cells[at * rows : (at + 1) * rows], rows)
            dated(axis, ticks=max(4, 16 // columns))
            axis.tick_params(labelsize=8 if columns == 1 else 6.5)
            axis.xaxis.offsetText.set_fontsize(8 if columns == 1 else 6.5)
        figure.supylabel(labelled("storage, each cell on its own scale", series.amount_unit), fontsize=8.5)
        figure.suptitle(heading(site, len(cells), series.stores.storage.shape[1]), x=0.01, ha="left")
    return figure


def columns_for(cells: int) -> int:
    """Wide strips for a few cells, more beside each other for many.

    >>> [columns_for(count) for count in (1, 2, 8, 16, 64)]
    [1, 1, 1, 2, 4]
    """
    return 1 if cells <= 8 else 2 if cells <= 24 else 4


def strip_height(rows: int) -> float:
    """Inches a strip, so that two fill a page's width well and sixteen still fit on a page."""
    return min(1.5, max(0.55, 6.0 / rows))


def chosen(storage: Floats) -> list[int]:
    """All cells, or the fullest when there are too many; in the order of their numbers."""
    mean = np.nan_to_num(storage).mean(0)
    return sorted(np.argsort(-mean, kind="stable")[:MOST].tolist())


def draw_column(axis: Axes, series: SiteSeries, stores: Stores, cells: list[int], rows: int) -> None:
    """Strips from the top down, each with the two numbers that say its scale."""
    ticks: dict[float, str] = {}
    crowded = series.days.size * len(cells) > CROWDED
    for at, cell in enumerate(cells):
        floor = rows - 1.0 - at
        values = stores.storage[:, cell]
        low, high = float(np.nanmin(values, initial=0.0)), float(np.nanmax(values, initial=0.0))
        scaled = floor + HEIGHT * (values - low) / ((high - low) or 1.0)
        trash = cell == stores.trash_cell
        colour = COLOURS["trash" if trash else "inflow"]
        axis.fill_between(
            series.days, floor, scaled, color=colour, alpha=0.25, linewidth=0, rasterized=crowded
        )
        axis.plot(series.days, scaled, color=colour, linewidth=0.8)
        axis.axhline(floor, color=COLOURS["observed"], linewidth=0.5)
        axis.annotate(
            f"cell {cell}{' (trash)' if trash else ''}", (0, floor + HEIGHT), (2, 1), fontsize=7,
            xycoords=("axes fraction", "data"), textcoords="offset points", va="bottom",
        )  # fmt: skip
        ticks |= {floor: f"{low:.3g}", floor + HEIGHT: f"{high:.3g}"}
    axis.set_yticks(list(ticks), list(ticks.values()))
    axis.set(xlim=series.span(), ylim=(0, rows))
    axis.grid(visible=False, axis="y")
    axis.spines["left"].set_visible(False)


def heading(site: str, drawn: int, cells: int) -> str:
    every = f"{cells} cells" if drawn == cells else f"the {drawn} fullest of {cells} cells"
    return f"{shown(site)}   {every}"
