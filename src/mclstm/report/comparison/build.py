"""The whole report, top to bottom: members, scores, others' scores, tests, balance, snow, losses."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import xarray as xr
from matplotlib.figure import Figure

from mclstm.config.members import found
from mclstm.data.land import read_land, series_of
from mclstm.errors import DataError
from mclstm.evaluation.benchmarks import benchmarks
from mclstm.evaluation.comparison import Scored, pairwise_tests
from mclstm.evaluation.simulations import simulations
from mclstm.explain.balance import long_term
from mclstm.report.comparison.balance_figure import budyko_figure
from mclstm.report.comparison.costs import with_costs
from mclstm.report.comparison.cycle import cycles_of, together
from mclstm.report.comparison.figures import basin_map, distributions
from mclstm.report.comparison.groups import Group, balances, closed, groups_of
from mclstm.report.comparison.paper import is_papers_setting
from mclstm.report.comparison.rows import claims_of, paper_rows, rows_of
from mclstm.report.comparison.runs import evaluated, grouped, joined
from mclstm.report.comparison.score_table import label
from mclstm.report.comparison.sites import PET, attributes
from mclstm.report.comparison.snow import Snow, snow_of, snow_rows

__all__ = ["Built", "Others", "build"]


class Others(NamedTuple):
    """What the runs are compared with and read by; each may be left out."""

    benchmarks: Path | None = None
    simulations: Path | None = None
    snow: Path | None = None
    data: Path | None = None
    together: Sequence[str] = ()  # "name=model,model": their members as one more ensemble


class Part(NamedTuple):
    """What a look at some runs adds to a report."""

    rows: list[dict[str, Any]]
    tables: dict[str, pd.DataFrame]
    figures: dict[str, Figure]
    notes: list[str]


class Built(NamedTuple):
    """The report before it is written."""

    rows: list[dict[str, Any]]
    claims: list[dict[str, Any]]
    conserving: dict[str, bool | None]
    tables: dict[str, pd.DataFrame]
    figures: dict[str, Figure]
    notes: list[str]

    def add(self, part: Part) -> None:
        """One part more, behind what is there."""
        self.rows.extend(part.rows)
        self.tables.update(part.tables)
        self.figures.update(part.figures)
        self.notes.extend(part.notes)


def build(paths: Sequence[Path], others: Others, split: str = "test") -> Built:
    """Compare the models of some runs with each other and with what `others` names."""
    runs, left_out = evaluated(found(paths), split)
    alike = grouped(runs)
    mixed = joined(alike, others.together)
    groups = groups_of(alike, mixed, split)
    theirs, notes = other_models(others, groups[0].flows["observed"])
    models = [*(model for item in groups for model in item.scores), *theirs]
    tested, subjects = pairwise_tests(models), [item.scores[-1].name for item in groups]
    about = [subjects[0], *(f"{name}-ensemble" for name in mixed)] if len(tested) else []
    rows, said = scores_of(groups, theirs)
    built = Built(
        rows,
        [claim for subject in about for claim in claims_of(tested, subject)],
        {model.name: model.conserving for model in models},
        {"scores": by_site(models), "tests": tested, "balance": balances(groups)},
        {"distributions": distributions(models, subjects)},
        [*notes, *left_out, *said],
    )
    for item in groups:
        built.claims.extend(closed(item))
        built.add(over_land(item, others.data))
    if others.snow is not None:
        # What a cell means is asked of one model, not of several together.
        simple = [item for item in groups if item.name in alike]
        built.add(with_land(simple, others.snow, others.data, split))
    return built


def scores_of(groups: Sequence[Group], theirs: Sequence[Scored]) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows of our models with what they cost, of the others, and of the paper where it is its setting."""
    like_paper, setting = setting_of(groups[0].flows)
    rows = [
        row
        for item in groups
        for row in with_costs(rows_of(item.scores, setting, like_paper), [run.path for run in item.runs])
    ]
    rows += rows_of(theirs, setting, like_paper, keep_sites=False)
    if like_paper:
        return rows + paper_rows(setting, rows), []
    return rows, ["These are not the paper's 447 basins in its test period: its numbers are not shown."]


def other_models(others: Others, observed: xr.DataArray) -> tuple[list[Scored], list[str]]:
    """Scores of other models; simulations give more metrics and therefore replace published scores."""
    known, notes = benchmarks(others.benchmarks, observed) if others.benchmarks else ([], [])
    simulated, said = simulations(others.simulations, observed) if others.simulations else ([], [])
    names = [model.name for model in simulated]
    return [*simulated, *(model for model in known if model.name not in names)], [*notes, *said]


def setting_of(flows: xr.Dataset) -> tuple[bool, str]:
    """Whether the paper's numbers may stand beside these, and what the rows call the sites."""
    days = pd.DatetimeIndex(flows["time"].to_numpy())
    sites = [str(site) for site in flows["site"].to_numpy()]
    like_paper = is_papers_setting(sites, str(days[0].date()), str(days[-1].date()))
    return like_paper, f"{len(sites)} basins"


def by_site(models: Sequence[Scored]) -> pd.DataFrame:
    """All scores of all models, one row a model, seed and site."""
    parts = [
        frame.reset_index().assign(model=model.name, member=number)
        for model in models
        for number, frame in enumerate(model.frames)
    ]
    return pd.concat(parts, ignore_index=True).set_index(["model", "member", "site"]).reset_index()


def over_land(item: Group, data: Path | None) -> Part:
    """Map and Budyko's space, where the data of the run still lies and says where its sites are."""
    try:
        known = attributes(item.runs[0].config, data)
    except DataError as error:
        return Part([], {}, {}, [f"No map and no Budyko figure of {item.name}: {error}"])
    best = item.scores[-1]
    tables, figures, notes = {}, {}, []
    if {"lat", "lon"} <= set(known.columns):
        nse = best.frames[0]["nse"].dropna()
        figures[f"map-{item.name}"] = basin_map(nse, known, f"{label(best.name)}, {len(nse)} sites")
    else:
        notes.append(f"No map of {item.name}: its data has no gauge_lat and gauge_lon.")
    if PET in known and str(item.flows["inflow"].attrs.get("units", "")) == "mm/day":
        table = long_term(item.flows, known[PET])
        tables[f"budyko-{item.name}"] = table.reset_index()
        figures[f"budyko-{item.name}"] = budyko_figure(table, label(best.name))
    else:
        notes.append(f"No Budyko figure of {item.name}: it needs {PET} and precipitation in mm/day.")
    return Part([], tables, figures, notes)


def with_land(groups: Sequence[Group], path: Path, data: Path | None, split: str) -> Part:
    """Snow in the stores and the seasons of what is lost, beside what other models know of the land."""
    land = read_land(path)
    lost = together([cycles_of(item.name, item.runs, item.flows, land, split) for item in groups])
    rows, figures, notes = lost.rows, lost.figures, lost.notes
    tables = {"evapotranspiration": lost.matches, "evapotranspiration-months": lost.months} if rows else {}
    swe = series_of(land, "swe")
    if not swe:
        return Part(rows, tables, figures, [*notes, f"No snow: {path} has no column swe."])
    added, snow = with_snow(groups, swe, data)
    tables |= {"snow": snow.sums, "snow-cells": snow.cells, "snow-response": snow.responses}
    return Part(rows + added, tables, snow.figures | figures, notes)


def with_snow(
    groups: Sequence[Group], swe: dict[str, pd.Series], data: Path | None
) -> tuple[list[dict[str, Any]], Snow]:
    """The snow in the cells of the first model that has stores."""
    able = [item for item in groups if "relative error" in item.balance]
    if not able:
        raise DataError("no run has stores to look for snow in. Leave --snow out, or add a run of mclstm.")
    known = [str(site) for site in able[0].flows["site"].to_numpy()]
    snow = snow_of(able[0].runs, swe, known, data)
    return snow_rows(snow.sums, able[0].name), snow
