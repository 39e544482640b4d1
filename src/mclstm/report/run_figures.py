"""All figures of one run and the files they are written to; the learning curve."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mclstm.data.site_names import site_files, slug
from mclstm.errors import DataError
from mclstm.evaluation.outlets import TOTAL, targets, with_total
from mclstm.evaluation.score_tables import headline, score_table
from mclstm.report.cells import cell_states
from mclstm.report.flow_figures import flow_duration, scatter
from mclstm.report.hydrograph import hydrograph
from mclstm.report.outlet_figure import largest, outlets
from mclstm.report.site_series import Floats, SiteSeries, site_series
from mclstm.report.style import COLOURS, logarithmic, plot_style, render
from mclstm.training.atomic import make_folder, write_bytes_atomic

__all__ = ["FIGURES", "learning_curve", "ranked_sites", "save", "save_figures", "telling_sites"]

# Each takes (predictions, site, target).
FIGURES: dict[str, Callable[[xr.Dataset, str, str], Figure]] = {
    "hydrograph": hydrograph,
    "scatter": scatter,
    "flow-duration": flow_duration,
    "cells": cell_states,
}

# What a figure needs besides a simulation.
NEEDS: dict[str, Callable[[SiteSeries], bool]] = {
    "scatter": lambda series: series.has_observations,
    "cells": lambda series: series.stores is not None and not series.stores.total,
}
FORMS = ("svg", "png")
ALONE = 3  # targets of a site with figures of their own; the figure of outlets shows more of them

# The name in the journal, and the label of the axis.
PANELS = {"loss": "training loss", "validation_nse": "validation NSE", "mass_error": "mass error / turnover"}
CUT = -1.0  # every lower NSE is useless alike
Records = Iterable[Mapping[str, Any]]  # what `journal.read` gives


def save_figures(
    predictions: xr.Dataset, records: Records, folder: str | Path, sites: Sequence[str] | None = None
) -> list[Path]:
    """Write figures/<name>-<site>.svg and .png into a folder, and the learning curve if there are records.

    predictions: what `simulate` gives · records: of the journal, may be empty · sites: by default the best,
    the median and the worst. Empty figures are left out.
    """
    target = Path(folder) / "figures"
    make_folder(target)
    paths: list[Path] = []
    for name, figure in draw_figures(predictions, telling_sites(predictions) if sites is None else sites):
        paths += save(figure, target, name)
    journal = list(records)
    if any(record.get("loss") is not None for record in journal):
        paths += save(learning_curve(journal), target, "learning-curve")
    return paths


def telling_sites(predictions: xr.Dataset) -> list[str]:
    """At most three sites: the best, the median and the worst by NSE; the first ones without scores."""
    return ranked_sites(
        [str(site) for site in predictions["site"].to_numpy()], score_table(predictions, ["nse"])
    )


def ranked_sites(sites: list[str], table: pd.DataFrame) -> list[str]:
    """The same from the table of scores."""
    if len(sites) <= 3 or table.empty or not np.isfinite(table["nse"]).any():
        return sites[:3]
    ranked = headline(table).set_index("site")["nse"].dropna().sort_values(ascending=False).index
    return list(dict.fromkeys(str(ranked[at]) for at in (0, len(ranked) // 2, -1)))


def draw_figures(predictions: xr.Dataset, sites: Sequence[str]) -> Iterator[tuple[str, Figure]]:
    """Every figure that has something to show, with the name of its file.

    Of several targets the largest have figures of their own, and so has their total.
    """
    # The names come from all sites, not from the chosen ones: a site's files keep their name.
    files = site_files(str(site) for site in predictions["site"].to_numpy())
    whole = with_total(predictions)
    for site in sites:
        single = largest(predictions, site, ALONE)
        for target in [*single, *([TOTAL] if TOTAL in targets(whole) else [])]:
            series = site_series(whole, site, target)
            for name, draw in FIGURES.items():
                # Stores are the same for every target: one figure is enough.
                repeated = name == "cells" and target != single[0]
                if np.isfinite(series.simulated).any() and NEEDS.get(name, bool)(series) and not repeated:
                    parts = [name, *([slug(target)] if target and name != "cells" else []), files[site]]
                    yield "-".join(parts), draw(whole, site, target)
        if len(targets(predictions)) > 1 and np.isfinite(predictions["inflow"].sel(site=site)).any():
            yield f"outlets-{files[site]}", outlets(predictions, site)


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as SVG and as PNG."""
    paths = [folder / f"{name}.{form}" for form in FORMS]
    for path, form in zip(paths, FORMS, strict=True):
        write_bytes_atomic(path, render(figure, form))
    return paths


def learning_curve(records: Records) -> Figure:
    """Loss, validation score and ledger error over updates; lines at the best validation and at new rates."""
    journal = list(records)
    curves = {name: points for name in PANELS if (points := curve(journal, name)).size}
    if not curves:
        raise DataError("the journal holds no loss and no score yet. Train first, or leave this figure out.")
    with plot_style():
        figure = Figure(figsize=(6.4, 0.6 + 1.9 * len(curves)), layout="constrained")
        axes = figure.subplots(len(curves), 1, sharex=True, squeeze=False)[:, 0]
        for axis, (name, points) in zip(axes, curves.items(), strict=True):
            draw_curve(axis, name, points)
        mark_rates(list(axes), curve(journal, "rate"))
        mark_best(list(axes), curve(journal, "validation_nse"))
        axes[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
        figure.align_ylabels(list(axes))
    return figure


def curve(records: list[Mapping[str, Any]], name: str) -> Floats:
    """The known values of one quantity with their updates: (2, n)."""
    pairs = [(record["update"], record[name]) for record in records if record.get(name) is not None]
    return np.array(pairs, dtype=np.float64).reshape(-1, 2).T


def draw_curve(axis: Axes, name: str, points: Floats) -> None:
    marker = "o" if name == "validation_nse" or points.shape[1] == 1 else None
    colour = COLOURS["simulated"] if name == "validation_nse" else COLOURS["inflow"]
    axis.plot(*points, color=colour, marker=marker, markersize=2.5)
    axis.set_ylabel(PANELS[name])
    positive = points[1][points[1] > 0]
    if name == "validation_nse":
        show_best(axis, points)
    elif positive.size and (name == "mass_error" or points[1].max() > 10 * points[1].min() > 0):
        # Whole decades: the size of the error matters, its wiggles do not.
        low, high = np.floor(np.log10(positive.min())), np.ceil(np.log10(positive.max() * 1.01))
        axis.set_ylim(10**low, 10**high)
        logarithmic(axis, "y")


def mark_best(axes: list[Axes], points: Floats) -> None:
    """A line in every panel at the update with the best validation; without any, the x axis says so."""
    if not points.size:
        axes[-1].set_xlabel("update (no validation: the last weights are used)")
        return
    for axis in axes:
        axis.axvline(points[0, points[1].argmax()], color=COLOURS["observed"], linewidth=0.7)
    axes[-1].set_xlabel("update (line: the best validation)")


def show_best(axis: Axes, points: Floats) -> None:
    update, value = points[:, points[1].argmax()]
    axis.plot(update, value, "o", color=COLOURS["observed"], markersize=5, fillstyle="none")
    if value > CUT > points[1].min():
        # The first scores of an untrained model would flatten the rest of the curve.
        axis.set_ylim(bottom=CUT)
        axis.set_ylabel(f"{PANELS['validation_nse']}, from {CUT:g} up")
    axis.set_title(f"best: {value:.3f} at update {update:.0f}", loc="right", fontsize=8)


def mark_rates(axes: list[Axes], rates: Floats) -> None:
    """A line where the journal first notes another learning rate; the journal skips updates."""
    if not rates.size:
        return
    changed = 1 + np.flatnonzero(np.diff(rates[1]))
    later = [f"{rate:g} by update {update:.0f}" for update, rate in rates[:, changed].T]
    steps = [f"{rates[1, 0]:g}", *later]
    listed = ", ".join(steps if len(steps) <= 5 else [*steps[:2], "…", steps[-1]])
    axes[0].set_title(f"learning rate {listed}", loc="left", fontsize=8)
    for update in rates[0, changed]:
        for axis in axes:
            axis.axvline(update, color=COLOURS["guide"], linewidth=0.7, dashes=(4, 3))
