"""Snow in the cells of trained members: chosen in the validation years, scored in the test years."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.dates import date2num
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mclstm.config.same_model import Run
from mclstm.data.columns import listed
from mclstm.data.windows import span, tensors
from mclstm.errors import DataError
from mclstm.evaluation.simulate import simulate
from mclstm.explain.annual_cycle import by_month
from mclstm.explain.snow_cells import Period, SnowSum, by_temperature, calendar, cell_correlations, snow_sums
from mclstm.from_config import open_run, warmup_of
from mclstm.report.comparison import Section, at_most
from mclstm.report.comparison.balance_section import has_stores
from mclstm.report.comparison.model_groups import Group
from mclstm.report.markdown import markdown
from mclstm.report.style import COLOURS, date_axis, legend_above, plot_style, title_text
from mclstm.series_from_config import read_series
from mclstm.training.state import load_weights

__all__ = ["periods_of", "response_figure", "snow_figure", "snow_section", "temperature"]

TEXT = """Sums of cells chosen in the validation period by their correlation with snow water equivalent,
then scored in the test period (held out). `r of anomalies` compares what is more or less than
usual on a day; `r of the date` is what the mean snow of each day of the year gives.
Mean over members."""
SWE, CELLS = COLOURS["inflow"], COLOURS["simulated"]
MONTHS = "JFMAMJJASOND"


class SiteSnow(NamedTuple):
    """The snow in one member's cells at one site."""

    site: str
    sums: list[dict[str, Any]]  # rows of the table of sums
    cells: pd.DataFrame  # the correlation of every cell
    chosen: SnowSum  # the sum of the most cells
    held: Period  # the test years
    stores: xr.Dataset  # of the test years: (time, cell)
    usual: float  # the correlation that the date alone gives


def snow_section(groups: Sequence[Group], swe: Mapping[str, pd.Series], data: Path | None) -> Section:
    """The snow in the cells of the first model that has stores; swe: snow water equivalent by site, in mm."""
    item = next((item for item in groups if has_stores(item)), None)
    if item is None:
        raise DataError("no run has stores to look for snow in. Leave --snow out, or add a run of mclstm.")
    known = [str(site) for site in item.flows["site"].to_numpy()]
    sites = [site for site in swe if site in known]
    if not sites:
        raise DataError(f"the snow series are of {listed(list(swe))}, which no run knows. Name other sites.")
    every = [snow for run in item.runs for snow in member_snow(item.name, run, sites, swe, data)]
    # The figure shows the member that the choosing years prefer: the test years must not choose it.
    best = [max((s for s in every if s.site == site), key=lambda s: s.chosen.chosen) for site in sites]
    drawings = [figures_of(snow) for snow in best]
    sums = pd.DataFrame([row for snow in every for row in snow.sums])
    tables = {
        "snow": sums,
        "snow-cells": pd.concat([snow.cells for snow in every]),
        "snow-response": pd.concat([response for _, response in drawings]),
    }
    figures, notes = at_most([drawn for drawn, _ in drawings])
    return Section("Snow", f"{TEXT}\n\n{snow_table(sums)}", tables=tables, figures=figures, notes=notes)


def member_snow(
    model: str, run: Run, sites: list[str], swe: Mapping[str, pd.Series], data: Path | None
) -> list[SiteSnow]:
    """What one member's cells say of the snow at every site."""
    # Cells are never chosen in the period they are scored in.
    choosing = "train" if run.config.periods.validation is None else "validation"
    both = periods_of(run.path, sites, [choosing, "test"], data)
    whose: dict[str, Any] = {"model": model, "run": str(run.path), "seed": run.config.training.seed}
    parts = []
    for site in sites:
        about = whose | {"site": site}
        choose, held = (period_of(part, site, swe[site]) for part in both)
        sums, usual = snow_sums(choose, held), calendar(choose, held)
        rows = [
            about
            | {"cells": " ".join(map(str, s.cells)), "count": len(s.cells), "r chosen": s.chosen}
            | {"r held out": s.held_out, "r of anomalies": s.anomaly, "r of the date": usual}
            for s in sums
        ]
        cells = {"r chosen": cell_correlations(choose), "r held out": cell_correlations(held)}
        table = pd.DataFrame(cells).rename_axis("cell").reset_index().assign(**about)
        parts.append(SiteSnow(site, rows, table, sums[-1], held, both[1].sel(site=site), usual))
    return parts


def periods_of(path: Path, sites: list[str], splits: list[str], data: Path | None) -> list[xr.Dataset]:
    """The stores of a few sites in several periods, simulated anew: (site, time, cell) each.

    The temperature, where the data has one in degC, is added as `temperature` (site, time).
    """
    run = open_run(path)
    load_weights(run.folder.weights(), run.model, run.model_hash)
    section = run.config.data.model_copy(update={"sites": sites} | ({"path": str(data)} if data else {}))
    config = run.config.model_copy(update={"data": section})
    series = read_series(config, require_target=False)
    prepared = tensors(series, run.moments, torch.float32)
    stores = []
    for split in splits:
        period = config.periods.pair(split)
        if period is None:
            raise DataError(f"{path} has no period {split}. Choose another, or add it to its config.")
        where = span(series, period, split)
        result = simulate(run.model, prepared, series, where, warmup_of(config)).predictions
        warmth = temperature(series.isel(time=slice(*where)), run.config.data.aux)
        stores.append(result if warmth is None else result.assign(temperature=(("site", "time"), warmth)))
    return stores


def temperature(series: xr.Dataset, aux: Sequence[str]) -> np.ndarray | None:
    """The mean of all auxiliaries in degC, (site, time), or None; of daily extremes it is the daily mean.

    aux: the columns of the data, without means of past days that are computed from them
    """
    warm = [name for name in aux if series[name].attrs.get("units") == "degC"]
    return np.mean([series[name].to_numpy() for name in warm], axis=0) if warm else None


def period_of(stores: xr.Dataset, site: str, swe: pd.Series) -> Period:
    """The stores of one site with the snow of the same days."""
    here = stores.sel(site=site)
    days = pd.DatetimeIndex(here["time"].to_numpy())
    storage = here["storage"].transpose("time", "cell").to_numpy().astype(np.float64)
    period = Period(days, storage, swe.reindex(days).to_numpy(np.float64))
    if len(period.known().days) < 2 or not np.nanmax(period.swe) > 0:
        raise DataError(
            f"the snow series of {site} holds no snow from {days[0].date()} to {days[-1].date()}. "
            "Give one that covers the validation and the test period."
        )
    return period


def snow_table(sums: pd.DataFrame) -> str:
    """Correlations of the chosen sums with snow water equivalent, the mean over members."""
    columns = ["r chosen", "r held out", "r of anomalies", "r of the date"]
    mean = sums.groupby(["site", "count"])[columns].mean().reset_index()
    return markdown(mean.rename(columns={"count": "cells"}), 2)


def figures_of(snow: SiteSnow) -> tuple[dict[str, Figure], pd.DataFrame]:
    """Both figures of a site, and the numbers of the second."""
    held = snow.held
    series = {"swe": held.swe, "cells": held.storage[:, list(snow.chosen.cells)].sum(1)}
    months, classes = by_month(held.days, series), None
    table = months.reset_index()
    if "temperature" in snow.stores:
        classes = by_temperature(snow.stores["temperature"].to_numpy(), series)
        table = pd.concat([table, classes.reset_index()])
    figures = {
        f"snow-{snow.site}": snow_figure(snow.site, snow.chosen, held, snow.usual),
        f"snow-response-{snow.site}": response_figure(snow.site, months, classes),
    }
    return figures, table.assign(site=snow.site)


def snow_figure(site: str, chosen: SnowSum, held: Period, usual: float) -> Figure:
    """Snow water equivalent and the sum of the chosen cells in the years that had no part in the choice."""
    days = date2num(held.days.to_numpy())  # type: ignore[no-untyped-call]
    with plot_style():
        figure = Figure(figsize=(8.0, 3.0), layout="constrained")
        axis = figure.subplots()
        axis.plot(days, held.swe, color=SWE, label="snow water equivalent")
        cells = ", ".join(map(str, chosen.cells))
        stored = held.storage[:, list(chosen.cells)].sum(1)
        axis.plot(days, stored, color=CELLS, label=f"sum of cells {cells}")
        axis.set(xlim=(days[0], days[-1]), ylim=(0, None), ylabel="mm")
        date_axis(axis)
        legend_above(axis)
        r, anomaly = f"r = {chosen.held_out:.2f}", f"of anomalies {chosen.anomaly:.2f}"
        scores = f"{r}, {anomaly}, of the date alone {usual:.2f}"
        axis.set_title(f"{title_text(site)}   {scores}   (cells chosen in other years)", loc="left", pad=18)
    return figure


def response_figure(site: str, months: pd.DataFrame, classes: pd.DataFrame | None) -> Figure:
    """Mean storage by month and, where temperature is known, mean daily change by temperature.

    months, classes: what `by_month` and `by_temperature` give of the series `swe` and `cells`
    """
    panels = 1 if classes is None else 2
    with plot_style():
        figure = Figure(figsize=(4.2 * panels, 3.3), layout="constrained")
        axes = figure.subplots(1, panels, squeeze=False)[0]
        draw_response(axes[0], np.arange(12), months)
        axes[0].set_xticks(range(12), [MONTHS[int(month) - 1] for month in months.index])
        axes[0].set(ylim=(0, None), xlabel="month", ylabel="mean storage (mm)")
        if classes is not None:
            often = classes[classes["days"] >= 10]
            axes[1].axhline(0, color=COLOURS["guide"], linewidth=0.6)
            axes[1].axvline(0, color=COLOURS["guide"], linewidth=0.6)
            draw_response(axes[1], often.index.to_numpy(), often)
            axes[1].set(xlabel="daily mean temperature (°C)", ylabel="mean change (mm/day)")
        figure.suptitle(title_text(site), x=0.01, ha="left")
    return figure


def draw_response(axis: Axes, x: ArrayLike, table: pd.DataFrame) -> None:
    for name, colour, words in (("swe", SWE, "SWE"), ("cells", CELLS, "chosen cells")):
        axis.plot(np.asarray(x), table[name].to_numpy(), "o-", color=colour, markersize=3, label=words)
    legend_above(axis)
