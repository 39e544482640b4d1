"""The stores of a conserving model over time, a small panel each."""

import math

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mclstm.errors import DataError
from mclstm.report.series import Floats, Stores, site_series
from mclstm.report.style import COLOURS, dated, labelled, shown, styled

__all__ = ["cell_states"]

MOST = 64  # panels; beyond that nobody can read one
CROWDED = 5000  # points of an area beyond which it is an image inside the SVG


def cell_states(predictions: xr.Dataset, site: str, target: str = "") -> Figure:
    """Storage of every cell, each on its own scale: the rhythm of a small store counts, too."""
    series = site_series(predictions, site, target)
    if series.stores is None:
        raise DataError("the model of these predictions has no stores. Leave this figure out.")
    cells = chosen(series.stores.storage)
    columns = columns_for(len(cells))
    rows = math.ceil(len(cells) / columns)
    with styled():
        figure = Figure(figsize=(8.0, 0.9 + rows * max(0.95, 1.7 - 0.2 * columns)), layout="constrained")
        grid = figure.subplots(rows, columns, sharex=True, squeeze=False)
        for axis, cell in zip(grid.flat, cells, strict=False):
            draw_cell(axis, series.days, series.stores, cell, small=columns > 2)
        for axis in list(grid.flat)[len(cells) :]:
            axis.set_visible(False)
        for column in range(columns):
            # The last row may not be full: dates belong under the last panel of each column.
            last = grid[(len(cells) - 1 - column) // columns, column]
            dated(last, ticks=max(3, 9 // columns + 1))
            last.tick_params(labelbottom=True)
        figure.supylabel(labelled("storage, each panel on its own scale", series.amount_unit), fontsize=8.5)
        figure.suptitle(heading(site, len(cells), series.stores.storage.shape[1]), x=0.01, ha="left")
    return figure


def columns_for(cells: int) -> int:
    """Wide panels for a few cells, a square of them for many.

    >>> [columns_for(count) for count in (1, 2, 4, 16, 64)]
    [1, 1, 1, 2, 4]
    """
    return 1 if cells <= 5 else 2 if cells <= 16 else 4


def chosen(storage: Floats) -> list[int]:
    """All cells, or the fullest when there are too many; in the order of their numbers."""
    mean = np.nan_to_num(storage).mean(0)
    return sorted(np.argsort(-mean, kind="stable")[:MOST].tolist())


def draw_cell(axis: Axes, days: Floats, stores: Stores, cell: int, small: bool) -> None:
    values = stores.storage[:, cell]
    colour = COLOURS["trash"] if cell == stores.trash_cell else COLOURS["inflow"]
    crowded = days.size > CROWDED
    axis.fill_between(days, 0, values, color=colour, alpha=0.25, linewidth=0, rasterized=crowded)
    axis.plot(days, values, color=colour, linewidth=0.8, rasterized=crowded)
    highest = float(np.nanmax(values, initial=0.0)) or 1.0
    # Two numbers a panel say its scale, and 64 panels stay readable.
    axis.set_ylim(min(0.0, float(np.nanmin(values, initial=0.0))), highest * 1.05)
    axis.set_yticks([0.0, highest], ["0", f"{highest:.3g}"], fontsize=6.5 if small else 8)
    axis.set_xlim(days[0], days[-1])
    name = f"cell {cell}" + (" (trash)" if cell == stores.trash_cell else "")
    axis.set_title(name, fontsize=7 if small else 8.5, pad=2)
    axis.tick_params(axis="x", labelsize=6.5 if small else 8)
    axis.xaxis.offsetText.set_fontsize(6.5 if small else 8)


def heading(site: str, shown_cells: int, cells: int) -> str:
    every = f"{cells} cells" if shown_cells == cells else f"the {shown_cells} fullest of {cells} cells"
    return f"{shown(site)}  {every}"
