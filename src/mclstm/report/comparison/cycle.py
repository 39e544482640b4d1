"""The annual cycle of what trained members lose, beside potential and modelled evapotranspiration."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
import xarray as xr
from matplotlib.figure import Figure

from mclstm.config import Config
from mclstm.config.members import Run
from mclstm.data.checks.guess import listed
from mclstm.evaluation.ensemble import read_outlet
from mclstm.explain.cycle import annual_cycle, compare
from mclstm.models.mass import EVAPOTRANSPIRATION
from mclstm.report.comparison.cycle_figure import METRICS, cycle_figure
from mclstm.report.comparison.rows import member_rows
from mclstm.report.comparison.score_table import label

__all__ = ["Cycles", "cycles_of", "loss_of", "together"]

UNIT = "mm/day"
TRASH = "trash"
# What the outlet must be better than to say anything: the rain itself, and a model made for it.
YARDSTICKS = {"precipitation": "precipitation", "et": "modelled-et"}


class Cycles(NamedTuple):
    """Rows of a result file, every member's match by site, twelve means of each series, figures, notes."""

    rows: list[dict[str, Any]]
    matches: pd.DataFrame
    months: pd.DataFrame
    figures: dict[str, Figure]
    notes: list[str]


def loss_of(config: Config) -> str | None:
    """The outlet through which a model loses what is not runoff; None where predictions name none."""
    model = config.model
    if model.name != "mclstm":
        return None
    if model.evapotranspiration:
        return EVAPOTRANSPIRATION
    return TRASH if model.trash_cell and model.head in ("sum", "mcfc") else None


def cycles_of(
    model: str, runs: Sequence[Run], flows: xr.Dataset, land: Mapping[str, pd.DataFrame], split: str
) -> Cycles:
    """The cycles of one model's members at every site that has a PET; a note for every other of the land."""
    outlet = loss_of(runs[0].config)
    if outlet is None:
        return together([])
    about, notes = f"No evapotranspiration cycle of {model}", []
    if flows["inflow"].attrs.get("units") != UNIT:
        return together([], [f"{about}: its precipitation is not in {UNIT}."])
    known = [str(site) for site in flows["site"].to_numpy()]
    here = [site for site in land if site in known]
    without = [site for site in here if "pet" not in land[site]]
    if without:
        notes.append(f"{about} at {listed(without)}: no potential evapotranspiration (pet) is given.")
    parts = []
    for site in (site for site in here if site not in without):
        lost = [read_outlet(run.path / "evaluation" / split / "predictions.nc", outlet, site) for run in runs]
        old = [str(run.path) for run, series in zip(runs, lost, strict=True) if series is None]
        if old:
            remedy = f"Make them again with: mclstm evaluate {old[0]}"
            return together([], [*notes, f"{about}: the predictions lack its outlet {outlet}. {remedy}"])
        members = {str(run.config.training.seed): s for run, s in zip(runs, lost, strict=True)}
        daily = pd.DataFrame(members)
        rain = flows["inflow"].isel(site=known.index(site)).to_series()
        parts.append(site_cycles(model, outlet, site, daily, beside(rain, land[site])))
    return together(parts, notes)


def beside(rain: pd.Series, land: pd.DataFrame) -> pd.DataFrame:
    """Precipitation, pet and, where it is known, et on the days of the precipitation."""
    kept = [name for name in ("pet", "et") if name in land]
    return land[kept].reindex(rain.index).assign(precipitation=rain)


def site_cycles(model: str, outlet: str, site: str, members: pd.DataFrame, others: pd.DataFrame) -> Cycles:
    """One site: its members, one column each, against what is known of the same days."""
    cycle = annual_cycle(members.join(others))
    if cycle.isna().any(axis=None):
        said = "the period holds no whole year of which every month has potential evapotranspiration"
        return together([], [f"No evapotranspiration cycle of {model} at {site}: {said}."])
    land = [name for name in ("pet", "et") if name in cycle]
    matches = [
        {"model": model, "site": site, "outlet": outlet, "reference": name, "seed": int(str(seed))}
        | compare(cycle[seed], cycle[name])._asdict()
        | {"days below 0": float((members[seed] < 0).mean())}
        for name in land
        for seed in members
    ]
    table = pd.DataFrame(matches)
    rows = [
        row
        for name in land
        for row in match_rows(model, f"basin {site}, {outlet} against {name.upper()}",
                              table[table["reference"] == name])
    ]  # fmt: skip
    for name, whose in YARDSTICKS.items():
        if name in cycle:
            words = f"basin {site}, {name.upper() if name in land else name} against PET"
            rows += match_rows(whose, words, pd.DataFrame([compare(cycle[name], cycle["pet"])]))
    months = cycle.rename(columns={seed: f"{outlet} {seed}" for seed in members}).reset_index()
    long = months.melt("month", var_name="series", value_name="mm/day").assign(model=model, site=site)
    figure = cycle_figure(f"{label(model)}, {site}", outlet, cycle[list(members)], cycle[land])
    return Cycles(rows, table, long, {f"evapotranspiration-{model}-{site}": figure}, [])


def match_rows(model: str, setting: str, matches: pd.DataFrame) -> list[dict[str, Any]]:
    """Correlation and ratio over members, and the months in which they and their reference are highest."""
    months: dict[str, Any] = {
        "peaks": [int(month) for month in matches["peak"]],
        "reference_peak": int(matches["reference_peak"].iloc[0]),
    }
    columns = zip(METRICS, ("r", "ratio"), strict=True)
    return [
        row
        for metric, column in columns
        for row in member_rows(model, setting, metric, matches[column], **months)
    ]


def together(parts: Sequence[Cycles], notes: Sequence[str] = ()) -> Cycles:
    """Several as one; yardsticks that several models share stand in it once."""
    rows = {(row["model"], row["setting"], row["metric"]): row for part in parts for row in part.rows}
    tables = [
        pd.concat([getattr(part, name) for part in parts], ignore_index=True) if parts else pd.DataFrame()
        for name in ("matches", "months")
    ]
    figures = {name: figure for part in parts for name, figure in part.figures.items()}
    said = [*notes, *(note for part in parts for note in part.notes)]
    return Cycles(list(rows.values()), tables[0], tables[1], figures, said)
