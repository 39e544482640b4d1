"""Figures of traced mass: how old the outflow is, and which days are behind a flood."""

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.dates import date2num
from matplotlib.figure import Figure

from mclstm.report.style import COLOURS, axis_label, date_axis, legend_above, plot_style, title_text

__all__ = ["behind_outflow", "outflow_ages"]

CROWDED = 6000  # points of an area beyond which it is an image inside the SVG
SHOWN = 0.95  # share of an outflow whose origins are drawn one by one
LEAST = 30  # steps before an outflow that are always drawn


def outflow_ages(traced: xr.Dataset, site: str, outlet: str) -> Figure:
    """The outflow of one site by age: over time in classes, its median age, and all of it by age.

    traced: as `trace_ages` gives it
    """
    here = traced.sel(site=site, outlet=outlet)
    days = date2num(here["time"].to_numpy())  # type: ignore[no-untyped-call]
    with plot_style():
        figure = Figure(figsize=(8.0, 6.2), layout="constrained")
        grid = figure.add_gridspec(3, 1, height_ratios=(2.2, 1.3, 1.6))
        classes = figure.add_subplot(grid[0])
        median = figure.add_subplot(grid[1], sharex=classes)
        _draw_classes(classes, days, here["outflow_by_age"], outlet)
        _draw_median(median, days, here)
        _draw_transit(figure.add_subplot(grid[2]), here["transit"])
        classes.set_xlim(days[0], days[-1])
        classes.tick_params(labelbottom=False)
        date_axis(median)
        figure.suptitle(f"{title_text(site)}   age of the {title_text(outlet)}", x=0.01, ha="left")
        figure.align_ylabels([classes, median])
    return figure


def _draw_classes(axis: Axes, days: np.ndarray, amounts: xr.DataArray, outlet: str) -> None:
    labels = [str(label) for label in amounts["age_class"].to_numpy()]
    shades = [*colormaps["YlGnBu"](np.linspace(0.95, 0.3, len(labels) - 1)), COLOURS["losses"]]
    values = np.nan_to_num(amounts.transpose("age_class", "time").to_numpy())
    axis.stackplot(days, values, labels=labels, colors=shades, linewidth=0, rasterized=values.size > CROWDED)
    axis.set_ylabel(axis_label(outlet, str(amounts.attrs.get("units", ""))))
    legend_above(axis, columns=len(labels))


def _draw_median(axis: Axes, days: np.ndarray, here: xr.Dataset) -> None:
    axis.plot(days, here["median_age"].to_numpy(), color=COLOURS["inflow"], linewidth=0.9)
    axis.set_ylabel(axis_label("median age", "days"))
    axis.set_ylim(bottom=0)
    older = float(np.isnan(here["median_age"]).mean())
    if older:
        longest = float(here["age"][-2])
        axis.set_title(f"no line where the median is {longest:g} days or more", fontsize=7.5)


def _draw_transit(axis: Axes, amounts: xr.DataArray) -> None:
    """The share of all outflow that is at most so old; what was stored at the start has no age."""
    ages, total = amounts["age"].to_numpy()[:-2], float(amounts.sum())
    shares = np.cumsum(amounts.to_numpy())[:-2] / (total if total > 0 else 1.0)
    axis.plot(ages, shares, color=COLOURS["simulated"])
    axis.set(xlim=(0, ages[-1]), ylim=(0, 1), xlabel="age when it leaves (days)", ylabel="share of outflow")


def behind_outflow(table: pd.DataFrame, site: str, outlet: str, unit: str) -> Figure:
    """What each step gave to one outflow: the steps that together gave most of it.

    table: as `origins` gives it
    """
    dated = table.dropna(subset=["date"])
    amounts = dated.pivot_table(index="date", columns="input", values="amount", sort=False)
    latest = amounts.iloc[::-1].sum(axis=1).cumsum() / max(float(table["amount"].sum()), 1e-300)
    shown = amounts.iloc[-max(int((latest < SHOWN).sum()) + 1, LEAST) :]
    days = date2num(shown.index.to_numpy())  # type: ignore[no-untyped-call]
    width = float(np.median(np.diff(days))) if len(days) > 1 else 1.0
    with plot_style():
        figure = Figure(figsize=(8.0, 3.2), layout="constrained")
        axis = figure.subplots()
        below = np.zeros(len(days))
        for name, shade in zip(
            shown, colormaps["viridis"](np.linspace(0.2, 0.8, shown.shape[1])), strict=True
        ):
            edges = np.append(days - width / 2, days[-1] + width / 2)
            axis.stairs(
                below + shown[name].to_numpy(), edges, baseline=below, fill=True, color=shade, label=name
            )
            below = below + shown[name].to_numpy()
        axis.set_ylabel(axis_label("gave to this outflow", unit))
        axis.set_xlim(days[0] - width, days[-1] + width)
        date_axis(axis)
        if shown.shape[1] > 1:
            legend_above(axis)
        share = float(below.sum()) / max(float(table["amount"].sum()), 1e-300)
        when = str(dated["date"].iloc[-1]).removesuffix(" 00:00:00")
        about = f"{title_text(site)}   {title_text(outlet)} of {when}, {share:.0%} of it shown"
        figure.suptitle(about, x=0.01, ha="left")
    return figure
