"""Snow in the cells of trained members: chosen in the validation years, scored in the test years."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.figure import Figure

from mclstm.config.members import Run
from mclstm.data.checks.guess import listed
from mclstm.errors import DataError
from mclstm.explain.response import by_month, by_temperature
from mclstm.explain.snow import Period, SnowSum, calendar, cell_correlations, snow_sums
from mclstm.report.comparison.rows import member_rows
from mclstm.report.comparison.sites import choosing_split, periods_of
from mclstm.report.comparison.snow_figure import response_figure, snow_figure

__all__ = ["Snow", "snow_of", "snow_rows"]

PAPER_SITE, PAPER_CELLS = "01031500", 4  # of the paper's figure
PAPER_R = 0.91  # its text says r >= 0.91, the caption r >= 0.8


class Snow(NamedTuple):
    """Sums of cells by member and site, every single cell, answers to season and warmth, and the figures."""

    sums: pd.DataFrame
    cells: pd.DataFrame
    responses: pd.DataFrame
    figures: dict[str, Figure]


def snow_of(runs: Sequence[Run], swe: dict[str, pd.Series], known: Sequence[str], data: Path | None) -> Snow:
    """Everything about the sites that have a snow series and are among the known ones of the runs."""
    sites = [site for site in swe if site in known]
    if not sites:
        raise DataError(
            f"the snow series are of {listed(list(swe))}, none of which the runs know. Name others."
        )
    sums, cells = [], []
    best: dict[str, tuple[SnowSum, Period, xr.Dataset, float]] = {}
    for run in runs:
        splits = [choosing_split(run.config), "test"]
        both = periods_of(run.path, sites, splits, data)
        for site in sites:
            choose, held = (period_of(part, site, swe[site]) for part in both)
            about = {"run": str(run.path), "seed": run.config.training.seed, "site": site}
            found = snow_sums(choose, held)
            usual = calendar(choose, held)
            sums += [about | sum_row(item, usual) for item in found]
            cells.append(cell_table(about, choose, held))
            last = found[-1]
            # The figure shows the member that the choosing years prefer: the test years must not choose it.
            if site not in best or last.chosen > best[site][0].chosen:
                best[site] = (last, held, both[1].sel(site=site), usual)
    figures: dict[str, Figure] = {}
    responses = []
    for site, (chosen, held, stores, usual) in best.items():
        drawn, table = figures_of(site, chosen, held, stores, usual)
        figures |= drawn
        responses.append(table.assign(site=site))
    return Snow(pd.DataFrame(sums), pd.concat(cells), pd.concat(responses), figures)


def sum_row(item: SnowSum, usual: float) -> dict[str, Any]:
    """One row of the table of sums."""
    return {
        "cells": " ".join(map(str, item.cells)), "count": len(item.cells), "r chosen": item.chosen,
        "r held out": item.held_out, "r of anomalies": item.anomaly, "r of the date": usual,
    }  # fmt: skip


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


def cell_table(about: dict[str, Any], choose: Period, held: Period) -> pd.DataFrame:
    """Correlation of every cell with the snow in both periods."""
    columns = {"r chosen": cell_correlations(choose), "r held out": cell_correlations(held)}
    return pd.DataFrame(columns).rename_axis("cell").reset_index().assign(**about)


def figures_of(
    site: str, chosen: SnowSum, held: Period, stores: xr.Dataset, usual: float
) -> tuple[dict[str, Figure], pd.DataFrame]:
    """Both figures of a site, and the numbers of the second."""
    series = {"swe": held.swe, "cells": held.storage[:, list(chosen.cells)].sum(1)}
    months, classes = by_month(held.days, series), None
    table = months.reset_index()
    if "temperature" in stores:
        classes = by_temperature(stores["temperature"].to_numpy(), series)
        table = pd.concat([table, classes.reset_index()])
    drawn = {
        f"snow-{site}": snow_figure(site, chosen, held, usual),
        f"snow-response-{site}": response_figure(site, months, classes),
    }
    return drawn, table


def snow_rows(sums: pd.DataFrame, model: str) -> list[dict[str, Any]]:
    """Rows of a result file: held-out correlations over members, and what the date alone gives."""
    rows: list[dict[str, Any]] = []
    for site in dict.fromkeys(sums["site"]):
        here = sums[sums["site"] == site]
        for count in sorted(set(here["count"])):
            part = here[here["count"] == count]
            setting = f"basin {site}, {count} cell{'s' if count > 1 else ''}"
            paper = PAPER_R if (site, count) == (PAPER_SITE, PAPER_CELLS) else None
            rows += member_rows(model, setting, "swe-r", part["r held out"], paper)
            rows += member_rows(model, setting, "swe-r-anomaly", part["r of anomalies"])
        rows += member_rows("calendar", f"basin {site}", "swe-r", here["r of the date"].head(1))
    return rows
