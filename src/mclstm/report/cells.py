"""The stores of a conserving model over time, one strip per cell."""

import math

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mclstm.errors import DataError
from mclstm.evaluation.turnover import by_turnover
from mclstm.report.hydrograph import cell_label
from mclstm.report.site_series import SiteSeries, Stores, site_series
from mclstm.report.style import COLOURS, axis_label, date_axis, plot_style, title_text

__all__ = ["cell_states"]

MOST = 64  # strips; nobody can read more
CROWDED = 10_000  # points of a column beyond which its areas are images inside the SVG
HEIGHT = 0.78  # share of a strip; the rest is for its name


def cell_states(predictions: xr.Dataset, site: str, target: str = "") -> Figure:
    """Storage of every cell, each on its own scale, so that the rhythm of a small store shows."""
    series = site_series(predictions, site, target)
    if series.stores is None:
        raise DataError("the model of these predictions has no stores. Leave this figure out.")
    cells, total = fullest(series.stores), series.stores.storage.shape[1]
    columns = columns_for(len(cells))
    rows = math.ceil(len(cells) / columns)
    # Two strips fill the width of a page well; sixteen must still fit on a page.
    height = min(1.5, max(0.55, 6.0 / rows))
    which = f"{total} cells" if len(cells) == total else f"the {len(cells)} fullest of {total} cells"
    with plot_style():
        # Strips share the axes of their column: 64 axes of their own would take ten times as long to draw.
        figure = Figure(figsize=(8.0, 0.9 + rows * height), layout="constrained")
        for at, axis in enumerate(figure.subplots(1, columns, squeeze=False)[0]):
            draw_column(axis, series, series.stores, cells[at * rows : (at + 1) * rows], rows)
            date_axis(axis, ticks=max(4, 18 // columns))
            size = 8 if columns == 1 else 6.5
            axis.tick_params(labelsize=size)
            axis.xaxis.offsetText.set_fontsize(size)
        figure.supylabel(axis_label("storage, each cell on its own scale", series.amount_unit), fontsize=8.5)
        figure.suptitle(f"{title_text(site)}   {which}", x=0.01, ha="left")
    return figure


def columns_for(cells: int) -> int:
    """Wide strips for a few cells, several columns for many.

    >>> [columns_for(count) for count in (1, 2, 8, 16, 64)]
    [1, 1, 1, 2, 4]
    """
    return 1 if cells <= 8 else 2 if cells <= 24 else 4


def fullest(stores: Stores) -> list[int]:
    """All cells, or the fullest if there are too many, by their turnover, the fastest first."""
    mean = np.nan_to_num(stores.storage).mean(0)
    return by_turnover(stores.turnover, np.argsort(-mean, kind="stable")[:MOST].tolist())


def draw_column(axis: Axes, series: SiteSeries, stores: Stores, cells: list[int], rows: int) -> None:
    """Strips from the top down, each with the lowest and the highest value on its axis."""
    ticks: dict[float, str] = {}
    crowded = series.days.size * len(cells) > CROWDED
    for at, cell in enumerate(cells):
        floor = rows - 1.0 - at
        values = stores.storage[:, cell]
        low, high = float(np.nanmin(values, initial=0.0)), float(np.nanmax(values, initial=0.0))
        scaled = floor + HEIGHT * (values - low) / ((high - low) or 1.0)
        colour = COLOURS["losses" if cell == stores.losses_cell else "inflow"]
        axis.fill_between(
            series.days, floor, scaled, color=colour, alpha=0.25, linewidth=0, rasterized=crowded
        )
        axis.plot(series.days, scaled, color=colour, linewidth=0.8)
        axis.axhline(floor, color=COLOURS["observed"], linewidth=0.5)
        axis.annotate(
            title_text(cell_label(stores, cell)), (0, floor + HEIGHT), (2, 1), fontsize=7,
            xycoords=("axes fraction", "data"), textcoords="offset points", va="bottom",
        )  # fmt: skip
        ticks |= {floor: f"{low:.3g}", floor + HEIGHT: f"{high:.3g}"}
    axis.set_yticks(list(ticks), list(ticks.values()))
    axis.set(xlim=series.span(), ylim=(0, rows))
    axis.grid(visible=False, axis="y")
    axis.spines["left"].set_visible(False)
