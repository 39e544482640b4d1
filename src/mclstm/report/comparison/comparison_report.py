"""The whole comparison, top to bottom, and its page, tables and figures on disk."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import xarray as xr
from matplotlib.figure import Figure

from mclstm.config.same_model import find_runs
from mclstm.data.readers.land import read_land, series_of
from mclstm.errors import ConfigError, DataError
from mclstm.evaluation.comparison import ModelScores, pairwise_tests
from mclstm.evaluation.imported_simulations import score_simulations
from mclstm.evaluation.outlets import targets
from mclstm.evaluation.published_scores import read_published_scores
from mclstm.explain.water_balance import long_term
from mclstm.report.comparison import Row, Section
from mclstm.report.comparison.balance_section import balance_section, budyko_figure
from mclstm.report.comparison.basin_figures import PET, attributes, basin_map, distributions
from mclstm.report.comparison.low_flow_section import low_flow_section
from mclstm.report.comparison.model_groups import Group, evaluated, grouped, groups_of, joined
from mclstm.report.comparison.outlet_section import outlet_section
from mclstm.report.comparison.score_section import label, score_section, significance_section
from mclstm.report.comparison.season_section import season_section
from mclstm.report.comparison.snow_section import snow_section
from mclstm.report.run_figures import save
from mclstm.training.atomic import make_folder, write_text_atomic

__all__ = ["Comparison", "Others", "compare", "page", "write"]


class Others(NamedTuple):
    """What the runs are compared with and how they are read; each may be left out."""

    benchmarks: Path | None = None
    simulations: Path | None = None
    snow: Path | None = None
    data: Path | None = None
    together: Sequence[str] = ()  # "name=model,model": their members as one more ensemble
    prefix: str = ""  # of the names of runs, left out in the names of models
    weights: str = ""  # the period on which weights of members are fitted; without it all count alike


class Comparison(NamedTuple):
    """Models, tests between them, and the sections of the page."""

    groups: list[Group]
    others: list[ModelScores]
    subjects: list[str]  # the models that the page tests against all others
    tests: pd.DataFrame
    sections: list[Section]
    notes: list[str]
    swe: dict[str, pd.Series]  # snow water equivalent by site, of those whose snow is known

    @property
    def rows(self) -> list[Row]:
        return [row for section in self.sections for row in section.rows]

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        return {name: table for section in self.sections for name, table in section.tables.items()}

    @property
    def figures(self) -> dict[str, Figure]:
        return {name: figure for section in self.sections for name, figure in section.figures.items()}


def compare(paths: Sequence[Path], others: Others, split: str = "test") -> Comparison:
    """Compare the models of some runs with each other and with what `others` names."""
    if others.weights == split:
        raise ConfigError(f"--weights {split} is the period to compare. Fit weights on another period.")
    runs, absent = evaluated(find_runs(paths), split)
    models = grouped(runs, others.prefix)
    mixtures = joined(models, others.together)
    groups = groups_of(models, mixtures, split, others.weights)
    theirs, notes = other_models(others, groups[0].flows)
    # The same rival beside several models is one line: the first model's.
    rivals = {model.name: model for item in reversed(groups) for model in item.rivals}
    every = [*(model for item in groups for model in item.scores), *theirs, *rivals.values()]
    tests, names = pairwise_tests(every), [item.scores[-1].name for item in groups]
    subjects = [names[0], *(item.scores[-1].name for item in groups if item.name in mixtures)]
    sections = [
        score_section(every, setting(groups[0].flows)),
        outlet_section(every),
        low_flow_section(groups, setting(groups[0].flows)),
        significance_section(tests, subjects),
        balance_section(groups),
        distribution_section(every, names, groups[0].flows.sizes["site"]),
        *(place_section(item, others.data) for item in groups),
    ]
    land = {} if others.snow is None else read_land(others.snow)
    if land:
        # A cell has a meaning in one model, not in several together.
        single = [item for item in groups if item.name in models]
        sections += land_sections(single, land, others.data, split)
    notes = [*notes, *absent, *(note for section in sections for note in section.notes)]
    return Comparison(groups, theirs, subjects, tests, sections, notes, series_of(land, "swe"))


def setting(flows: xr.Dataset) -> str:
    """Over what scores are summarised: basins, or sites and several targets."""
    sites, several = flows.sizes["site"], len(targets(flows))
    return f"{sites} basins" if several == 1 else f"{sites} sites, {several} targets"


def other_models(others: Others, flows: xr.Dataset) -> tuple[list[ModelScores], list[str]]:
    """Scores of other models; simulations give more metrics and therefore replace published scores."""
    if not (others.benchmarks or others.simulations):
        return [], []
    if len(targets(flows)) > 1:
        raise DataError(
            "the runs have several targets, and --benchmarks and --simulations know one. Leave them out."
        )
    observed = flows["observed"]
    known, notes = read_published_scores(others.benchmarks, observed) if others.benchmarks else ([], [])
    simulated, more = score_simulations(others.simulations, observed) if others.simulations else ([], [])
    names = [model.name for model in simulated]
    return [*simulated, *(model for model in known if model.name not in names)], [*notes, *more]


def distribution_section(models: Sequence[ModelScores], subjects: Sequence[str], sites: int) -> Section:
    """How each score is distributed over sites; one site has no distribution."""
    return Section(figures={"distributions": distributions(models, subjects)}) if sites > 1 else Section()


def place_section(item: Group, data: Path | None) -> Section:
    """The map and Budyko's space, if the data of the run is still there and says where its sites are."""
    if len(targets(item.flows)) > 1:
        return Section()  # both are about the discharge of basins
    try:
        known = attributes(item.runs[0].config, data)
    except DataError as error:
        return Section(notes=[f"No map and no Budyko figure of {item.name}: {error}"])
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
    return Section(tables=tables, figures=figures, notes=notes)


def land_sections(
    groups: Sequence[Group], land: dict[str, pd.DataFrame], data: Path | None, split: str
) -> list[Section]:
    """Snow in the stores and the seasons of what is lost, beside what other models know of the land."""
    swe = series_of(land, "swe")
    none = Section(notes=["No snow: what --snow names has no column swe."])
    snow = snow_section(groups, swe, data) if swe else none
    return [season_section(groups, land, split), snow]


def write(comparison: Comparison, folder: Path) -> list[Path]:
    """report.md, <table>.csv and figures/<name>.svg and .png below a folder."""
    make_folder(folder / "figures")
    paths = [folder / "report.md"]
    for name, table in comparison.tables.items():
        paths.append(folder / f"{name}.csv")
        write_text_atomic(paths[-1], table.to_csv(index=False))
    for name, figure in comparison.figures.items():
        paths += save(figure, folder / "figures", name)
    write_text_atomic(paths[0], page(comparison))
    return paths


def page(comparison: Comparison) -> str:
    """The comparison as Markdown: scores, notes, every section with a text, every figure."""
    scores, *sections = (section for section in comparison.sections if section.text)
    notes = "\n".join(f"* {note}" for note in comparison.notes)
    texts = [f"## {section.title}\n\n{section.text}" for section in sections]
    figures = [f"![{name}](figures/{name}.png)" for name in comparison.figures]
    return "\n\n".join(["# Comparison", scores.text, notes, *texts, "## Figures", *figures]) + "\n"
