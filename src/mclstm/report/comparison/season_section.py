"""The annual cycle of what models lose, beside potential and modelled evapotranspiration."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.figure import Figure

from mclstm.config import Config, ConservingConfig
from mclstm.config.same_model import Run
from mclstm.data.columns import listed
from mclstm.evaluation.prediction_dataset import read_outlet
from mclstm.explain.annual_cycle import annual_cycle, compare
from mclstm.models.mass_model import EVAPOTRANSPIRATION
from mclstm.report.comparison import Row, Section, at_most
from mclstm.report.comparison.model_groups import Group
from mclstm.report.comparison.score_section import label, member_rows, short_label
from mclstm.report.markdown import NOTHING, text_table
from mclstm.report.style import COLOURS, OUTLETS, legend_above, plot_style, title_text

__all__ = ["SEASON_METRICS", "loss_of", "model_seasons", "season_section", "season_table"]

TEXT = """Twelve monthly means over the whole years of the period, of what a model loses (the outlet
`evapotranspiration`, or its losses) against potential evapotranspiration (PET) and that of a process model
(ET, in CAMELS' files SAC-SMA): their correlation, the ratio of the yearly sums, the months of the maxima.
Mean over members, range in brackets. No model was trained on either; the lines `precipitation` and
`modelled-et` say what a constant share of the rain and the process model reach."""
UNIT = "mm/day"
OLD_NAME = "trash"  # of losses, in predictions of version 0.1.0
SEASON_METRICS = ("et-cycle-r", "et-ratio")
# An outlet says something only if it does better than the rain itself; a model made for it is the other end.
YARDSTICKS = {"precipitation": "precipitation", "et": "modelled-et"}
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
LINES: dict[str, dict[str, Any]] = {
    "pet": {"label": "potential ET", "color": COLOURS["observed"], "dashes": (5, 2)},
    "et": {"label": "modelled ET", "color": COLOURS["inflow"], "marker": "o", "markersize": 3},
}


def season_section(groups: Sequence[Group], land: Mapping[str, pd.DataFrame], split: str) -> Section:
    """The cycles of all models that lose something, at all sites with a PET."""
    parts = [s for g in groups for s in model_seasons(g.name, g.runs, g.flows, land, split)]
    notes = [note for part in parts for note in part.notes]
    # Yardsticks that several models share appear once.
    rows = {(row["model"], row["setting"], row["metric"]): row for part in parts for row in part.rows}
    if not rows:
        return Section(notes=notes)
    tables = {
        name: pd.concat([part.tables[name] for part in parts if part.rows], ignore_index=True)
        for name in ("evapotranspiration", "evapotranspiration-months")
    }
    figures, left_out = at_most([part.figures for part in parts])
    text = f"{TEXT}\n\n{season_table(list(rows.values()))}"
    return Section("Evapotranspiration", text, list(rows.values()), tables, figures, [*notes, *left_out])


def loss_of(config: Config) -> str | None:
    """The outlet through which a model loses what is not runoff; None where predictions name none."""
    model = config.model
    if not isinstance(model, ConservingConfig):
        return None
    if model.evapotranspiration:
        return EVAPOTRANSPIRATION
    return model.losses if model.trash_cell and model.head in ("sum", "mcfc") else None


def read_loss(path: Path, outlet: str, site: str) -> pd.Series | None:
    """What one site lost by day, from predictions.nc; None where the file has no such outlet."""
    series = read_outlet(path, outlet, site)
    renamed = series is None and outlet != EVAPOTRANSPIRATION
    return read_outlet(path, OLD_NAME, site) if renamed else series


def model_seasons(
    model: str, runs: Sequence[Run], flows: xr.Dataset, land: Mapping[str, pd.DataFrame], split: str
) -> list[Section]:
    """One model's members at every site that has a PET, and notes on what cannot be compared."""
    outlet = loss_of(runs[0].config)
    if outlet is None:
        return []
    about = f"No evapotranspiration cycle of {model}"
    if flows["inflow"].attrs.get("units") != UNIT:
        return [Section(notes=[f"{about}: its precipitation is not in {UNIT}."])]
    known = [str(site) for site in flows["site"].to_numpy()]
    without = [site for site in land if site in known and "pet" not in land[site]]
    missing = f"{about} at {listed(without)}: no potential evapotranspiration (pet) is given."
    parts = [Section(notes=[missing] if without else [])]
    for site in (site for site in land if site in known and site not in without):
        lost = [read_loss(run.path / "evaluation" / split / "predictions.nc", outlet, site) for run in runs]
        old = [str(run.path) for run, series in zip(runs, lost, strict=True) if series is None]
        if old:
            remedy = f"Make them again with: mclstm evaluate {old[0]}"
            return [parts[0], Section(notes=[f"{about}: the predictions lack its outlet {outlet}. {remedy}"])]
        members = {str(run.config.training.seed): s for run, s in zip(runs, lost, strict=True)}
        rain = flows["inflow"].isel(site=known.index(site)).to_series()
        others = land[site].filter(["pet", "et"]).reindex(rain.index).assign(precipitation=rain)
        parts.append(site_seasons(model, outlet, site, pd.DataFrame(members), others))
    return parts


def site_seasons(model: str, outlet: str, site: str, members: pd.DataFrame, others: pd.DataFrame) -> Section:
    """One site: its members, one column each, against the other series."""
    cycle = annual_cycle(members.join(others))
    if cycle.isna().any(axis=None):
        reason = "the period holds no whole year of which every month has potential evapotranspiration"
        return Section(notes=[f"No evapotranspiration cycle of {model} at {site}: {reason}."])
    land = [name for name in ("pet", "et") if name in cycle]
    matches = pd.DataFrame([
        {"model": model, "site": site, "outlet": outlet, "reference": name, "seed": int(str(seed))}
        | compare(cycle[seed], cycle[name])._asdict()
        | {"days below 0": float((members[seed] < 0).mean())}
        for name in land
        for seed in members
    ])  # fmt: skip
    rows = []
    for name in land:
        setting = f"basin {site}, {outlet} against {name.upper()}"
        rows += match_rows(model, setting, matches[matches["reference"] == name])
    for name, whose in YARDSTICKS.items():
        if name in cycle:
            setting = f"basin {site}, {name.upper() if name in land else name} against PET"
            rows += match_rows(whose, setting, pd.DataFrame([compare(cycle[name], cycle["pet"])]))
    months = cycle.rename(columns={seed: f"{outlet} {seed}" for seed in members}).reset_index()
    long = months.melt("month", var_name="series", value_name="mm/day").assign(model=model, site=site)
    figure = season_figure(f"{label(model)}, {site}", outlet, cycle[list(members)], cycle[land])
    tables = {"evapotranspiration": matches, "evapotranspiration-months": long}
    return Section("", "", rows, tables, {f"evapotranspiration-{model}-{site}": figure})


def match_rows(model: str, setting: str, matches: pd.DataFrame) -> list[Row]:
    """Correlation and ratio over members, and the months in which they and their reference are highest."""
    peaks, reference_peak = [int(month) for month in matches["peak"]], int(matches["reference_peak"].iloc[0])
    return [
        row | {"peaks": peaks, "reference_peak": reference_peak}
        for metric, column in zip(SEASON_METRICS, ("r", "ratio"), strict=True)
        for row in member_rows(model, setting, metric, matches[column])
    ]


def season_table(rows: Sequence[Row]) -> str:
    """Markdown: a line per model, basin and reference; mean over members with their range, months of maxima.

    >>> about = {"model": "mclstm", "setting": "basin 1, losses against PET", "n": 1}
    >>> about |= {"peaks": [6], "reference_peak": 7}
    >>> values = zip(SEASON_METRICS, (0.5, 0.25))
    >>> print(season_table([about | {"metric": m, "value": v} for m, v in values]).splitlines()[2])
    | MC-LSTM | basin 1, losses against PET | 0.50 | 0.25 | Jun | Jul | 1 |
    """
    cells = {(row["model"], row["setting"], row["metric"]): row for row in rows}
    head = ["model", "what", "r of the cycle", "ratio of sums", "maximum in", "reference's in", "members"]
    lines = []
    for model, setting in dict.fromkeys((row["model"], row["setting"]) for row in rows):
        r, ratio = (cells.get((model, setting, metric)) for metric in SEASON_METRICS)
        either = r or ratio
        if either is not None:
            peaks = ", ".join(MONTHS[month - 1] for month in sorted(set(either["peaks"])))
            numbers = [with_range(r), with_range(ratio), peaks, MONTHS[either["reference_peak"] - 1]]
            lines.append([short_label(model), setting, *numbers, str(len(either["peaks"]))])
    return text_table(head, lines)


def with_range(row: Row | None) -> str:
    """The mean over members with the lowest and the highest; a dash for what is not defined."""
    if row is None:
        return NOTHING
    return f"{row['value']:.2f}" + (f" ({row['low']:.2f} to {row['high']:.2f})" if row["n"] > 1 else "")


def season_figure(title: str, outlet: str, members: pd.DataFrame, land: pd.DataFrame) -> Figure:
    """Twelve daily means of an outlet, thin for every member and thick for their mean, and of the land.

    members: one column per member · land: `pet` and, where it is known, `et`; both by month, October first
    """
    colour = OUTLETS[0] if outlet == EVAPOTRANSPIRATION else COLOURS["losses"]
    months = np.arange(len(members))
    with plot_style():
        figure = Figure(figsize=(6.2, 3.4), layout="constrained")
        axis = figure.subplots()
        if members.shape[1] > 1:
            axis.plot(months, members.to_numpy(), color=colour, linewidth=0.6, alpha=0.7)
        words = f"{outlet}, {members.shape[1]} members" if members.shape[1] > 1 else outlet
        axis.plot(months, members.mean(axis=1), color=colour, linewidth=2.2, label=words)
        for name in land:
            axis.plot(months, land[name].to_numpy(), **LINES[str(name)])
        axis.set(xlabel="month", ylabel="mean (mm/day)")
        if min(members.to_numpy().min(), land.to_numpy().min()) < 0:
            axis.axhline(0, color=COLOURS["guide"], linewidth=0.6)  # a free head can be negative
        else:
            axis.set_ylim(bottom=0)
        axis.set_xticks(months, [MONTHS[int(month) - 1][0] for month in members.index])
        legend_above(axis, columns=3)
        axis.set_title(title_text(title), loc="left", pad=20)
    return figure
