"""The hydrograph: inflow at the top, flow below it, then where the mass was and where it went."""

from collections.abc import Callable
from itertools import cycle

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from mclstm.evaluation.turnover import by_turnover, short_time
from mclstm.report.event_windows import draw_window, event_windows, mark_windows
from mclstm.report.site_series import Floats, SiteSeries, Stores, site_series
from mclstm.report.style import COLOURS, OUTLETS, axis_label, date_axis, legend_above, plot_style, title_text

__all__ = ["cell_label", "hydrograph", "outflow_layers", "storage_layers"]

LAYERS = 6  # cells, or outlets, with a layer of their own; readers cannot tell more shades apart
THIN = 0.4  # points; without an outline a bar narrower than a pixel fades away
CROWDED = 6000  # points of an area beyond which it is an image inside the SVG


def hydrograph(predictions: xr.Dataset, site: str, target: str = "") -> Figure:
    """Inflow, observed and simulated flow, storage by cell and the cumulative mass balance of one site.

    For a model without stores one panel compares the cumulative inflow with the cumulative simulated flow, if
    both have the same unit. Below a long series are the steps of its highest and of its lowest flow.
    """
    series = site_series(predictions, site, target)
    panels: list[tuple[float, Callable[[Axes, SiteSeries], None]]] = [(1.0, draw_inflow), (2.3, draw_flow)]
    if series.stores is not None:
        panels += [(1.4, draw_storage), (2.0, draw_balance)]
    elif series.unit == series.inflow_unit:
        panels += [(1.6, draw_amounts)]
    windows = event_windows(series)
    heights = [*(height for height, _ in panels), *([1.6] if windows else [])]
    with plot_style():
        figure = Figure(figsize=(8.0, 0.9 + 1.15 * sum(heights)), layout="constrained")
        grid = figure.add_gridspec(len(heights), max(1, len(windows)), height_ratios=heights)
        axes: list[Axes] = []
        for row, (_, draw) in enumerate(panels):
            axes.append(figure.add_subplot(grid[row, :], sharex=axes[0] if axes else None))
            draw(axes[row], series)
            axes[row].tick_params(labelbottom=row == len(panels) - 1)
            axes[row].xaxis.get_offset_text().set_visible(row == len(panels) - 1)
        axes[0].set_xlim(*series.span())
        date_axis(axes[-1])
        mark_windows(axes[1], series, windows)
        for column, (title, where) in enumerate(windows.items()):
            draw_window(figure.add_subplot(grid[-1, column]), series, where, title)
        figure.suptitle("   ".join(filter(None, [title_text(site), series.scores()])), x=0.01, ha="left")
        figure.align_ylabels(axes)
    return figure


def draw_inflow(axis: Axes, series: SiteSeries) -> None:
    # One outline instead of one bar per step: years of hours stay one shape.
    first, last = series.span()
    edges = np.concatenate([[first], (series.days[1:] + series.days[:-1]) / 2, [last]])
    axis.stairs(
        np.nan_to_num(series.inflow), edges, fill=True, facecolor=COLOURS["inflow"],
        edgecolor=COLOURS["inflow"], linewidth=THIN,
        rasterized=series.days.size > CROWDED,
    )  # fmt: skip
    axis.set_ylim(max(float(np.nanmax(series.inflow, initial=0.0)) * 1.05, 1e-9), 0)
    axis.set_ylabel(axis_label("inflow", series.inflow_unit))


def draw_flow(axis: Axes, series: SiteSeries) -> None:
    if series.has_observations:
        axis.plot(series.days, series.observed, color=COLOURS["observed"], linewidth=0.9, label="observed")
    axis.plot(series.days, series.simulated, color=COLOURS["simulated"], linewidth=1.0, label="simulated")
    axis.set_ylabel(axis_label(series.target, series.unit))
    axis.set_ylim(bottom=min(0.0, axis.get_ylim()[0]) if (series.simulated < 0).any() else 0)
    legend_above(axis)


def draw_storage(axis: Axes, series: SiteSeries) -> None:
    stores = series.stores
    assert stores is not None
    layers = storage_layers(stores)
    axis.stackplot(
        series.days, [values for _, _, values in layers], labels=[label for label, _, _ in layers],
        colors=[colour for _, colour, _ in layers], linewidth=0,
        rasterized=len(layers) * series.days.size > CROWDED,
    )  # fmt: skip
    axis.set_ylabel(axis_label("storage", series.amount_unit))
    legend_above(
        axis, columns=len(layers) if len(layers) <= LAYERS else 4
    )  # two rows, not wider than the axis


def storage_layers(stores: Stores) -> list[tuple[str, str, Floats]]:
    """Label, colour and storage (T,) from the bottom up: the fullest cells, the others, that of losses.

    The cells come by their turnover, the fastest first.
    """
    cells = [cell for cell in range(stores.storage.shape[1]) if cell != stores.losses_cell]
    mean = np.nan_to_num(stores.storage).mean(0)
    ranked = sorted(cells, key=lambda cell: -mean[cell])
    single = by_turnover(stores.turnover, ranked if len(ranked) <= LAYERS else ranked[: LAYERS - 1])
    rest = [cell for cell in ranked if cell not in single]
    shades = colormaps["YlGnBu"](np.linspace(0.95, 0.25, len(single) + bool(rest)))
    named = [(cell_label(stores, cell), stores.storage[:, cell]) for cell in single]
    if rest:
        named.append((f"{len(rest)} others", stores.storage[:, rest].sum(1)))
    layers = [(label, to_hex(shade), values) for (label, values), shade in zip(named, shades, strict=True)]
    if stores.losses_cell is not None:
        lost = stores.storage[:, stores.losses_cell]
        layers.append((cell_label(stores, stores.losses_cell), COLOURS["losses"], lost))
    return layers


def cell_label(stores: Stores, cell: int) -> str:
    """The number of a cell, whether only losses leave it, and how long mass stays in it.

    Several members give their total alone, a cell without number and turnover.
    """
    if stores.total:
        return "all cells"
    lost = f" ({stores.losses})" if cell == stores.losses_cell else ""
    return ", ".join(filter(None, [f"cell {cell}{lost}", short_time(stores.turnover[cell])]))


def draw_balance(axis: Axes, series: SiteSeries) -> None:
    """Storage and outflow, stacked, reach the line of initial storage plus inflow if mass is conserved."""
    stores = series.stores
    assert stores is not None
    unknown = np.isnan(stores.entered)
    available = stores.before + np.nancumsum(stores.entered) - np.cumsum(stores.emptied)
    layers = outflow_layers(stores)
    stacked = [stores.storage.sum(1), *(np.nancumsum(flow) for _, flow in layers)]
    for values in (available, *stacked):
        values[unknown] = np.nan
    outlets = [name for name, _ in layers]
    axis.stackplot(
        series.days, stacked, labels=["in storage", *(f"left as {name}" for name in outlets)],
        colors=[COLOURS["storage"], *outlet_colours(outlets, stores.losses)], linewidth=0, alpha=0.85,
    )  # fmt: skip
    # The stores are float32: a difference of rounding is not a scaling.
    scaled = not np.allclose(stores.entered, series.inflow, rtol=1e-5, equal_nan=True)
    name = f"initial storage + {'scaled inflow' if scaled else 'inflow'}"
    name += " - what sequences left" if stores.emptied.any() else ""
    axis.plot(series.days, available, color=COLOURS["observed"], label=name)
    if scaled:
        # Only input scaling lets more or less enter than was measured.
        measured = np.where(unknown, np.nan, stores.before + np.nancumsum(series.inflow))
        axis.plot(series.days, measured, color=COLOURS["inflow"], dashes=(4, 2), label="inflow as measured")
    axis.set_ylabel(axis_label("cumulative", series.amount_unit))
    axis.text(0.01, 0.95, residual_note(available, stacked), transform=axis.transAxes, va="top", fontsize=8)
    axis.set_ylim(bottom=0)
    legend_above(axis, columns=6 if len(outlets) <= 3 else 3)


def outflow_layers(stores: Stores) -> list[tuple[str, Floats]]:
    """Names and outflows (T,) of all outlets; of many, those of the largest and the sum of the others."""
    flows = list(zip(stores.outlets, stores.outflow.T, strict=True))
    if len(flows) <= LAYERS:
        return flows
    totals = np.nansum(stores.outflow, axis=0)
    single = set(np.argsort(-totals, kind="stable")[: LAYERS - 1].tolist())
    rest = [flow for at, (_, flow) in enumerate(flows) if at not in single]
    return [*(flows[at] for at in sorted(single)), (f"{len(rest)} others", np.sum(rest, axis=0))]


def outlet_colours(outlets: list[str], losses: str) -> list[str]:
    """Losses in grey, the others in turn."""
    colours = cycle(OUTLETS)
    return [COLOURS["losses"] if name == losses else next(colours) for name in outlets]


def residual_note(available: Floats, stacked: list[Floats]) -> str:
    """The largest gap between the line and the stack, relative to the highest point of the line."""
    missing = np.abs(available - np.sum(stacked, axis=0))
    total = float(np.nanmax(np.abs(available), initial=0.0))
    share = float(np.nanmax(missing, initial=0.0)) / total if total else 0.0
    return f"largest residual: {share:.1e} of the total"


def draw_amounts(axis: Axes, series: SiteSeries) -> None:
    both = np.isfinite(series.simulated)
    for what in ("inflow", "simulated"):
        values = np.nancumsum(getattr(series, what))
        values[~both] = np.nan
        axis.plot(series.days, values, color=COLOURS[what], label=what)
    axis.set_ylabel(axis_label("cumulative", series.amount_unit))
    legend_above(axis)
