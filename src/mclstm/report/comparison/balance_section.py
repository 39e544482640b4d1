"""Where the water of each model went: the balance side by side, whether it closes, and Budyko's space."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mclstm.explain.water_balance import agreement, balance_table, budyko, simulated_outflow
from mclstm.report.comparison import Section
from mclstm.report.comparison.model_groups import Group
from mclstm.report.markdown import markdown
from mclstm.report.style import COLOURS, legend_above, plot_style, title_text

__all__ = ["Closure", "balance_section", "budyko_figure", "closures", "mass_balance", "side_by_side"]

CLOSED = 1e-5  # of a site's mass over the whole period: what counts as conserved in float32
DRIEST = 5.0  # PET / P at the right end; drier sites are drawn there
POINTS: dict[str, Any] = {"markersize": 3, "alpha": 0.5, "markeredgewidth": 0}
Over = Literal["median", "mean"]


class Closure(NamedTuple):
    """Whether mass closes at every site of every member of a model."""

    model: str
    sites: int
    members: int
    error: float  # the largest relative error
    holds: bool

    @property
    def claim(self) -> str:
        return f"{self.model} closes the mass balance of every site to {CLOSED:g}"

    @property
    def evidence(self) -> str:
        return f"largest relative error {self.error:.1e}; sites: {self.sites}, runs: {self.members}"


def balance_section(groups: Sequence[Group]) -> Section:
    """The water balance of every model, one row per model and site, and the mean over sites on the page."""
    every = pd.concat([item.balance.reset_index().assign(model=item.name) for item in groups])
    mean = side_by_side({item.name: item.balance for item in groups}, over="mean")
    closed = closures(groups)
    for closure in closed:
        mean.loc["relative error", closure.model] = closure.error
    lines = [f"* {c.claim}: {'yes' if c.holds else 'no'} ({c.evidence})" for c in closed]
    text = "\n\n".join(filter(None, [markdown(mean, 1), "\n".join(lines)]))
    return Section("Water balance, mean over sites, amounts per year", text, tables={"balance": every})


def closures(groups: Sequence[Group]) -> list[Closure]:
    """Whether mass closes, for every model that has stores."""
    errors = [(item, float(item.balance["relative error"].max())) for item in groups if has_stores(item)]
    return [Closure(g.name, len(g.balance), len(g.runs), error, error < CLOSED) for g, error in errors]


def has_stores(item: Group) -> bool:
    return "relative error" in item.balance


def side_by_side(frames: Mapping[str, pd.DataFrame], over: Over = "median") -> pd.DataFrame:
    """One column per model, one row per quantity: the median (or mean) over the sites of the model's frame.

    Scores are given as medians, as papers do; amounts of mass as means, which still add up.

    >>> one, two = pd.DataFrame({"site": ["A"], "nse": [0.8]}), pd.DataFrame({"site": ["A"], "nse": [0.7]})
    >>> side_by_side({"mclstm": one, "lstm": two}).loc["nse"].to_dict()
    {'mclstm': 0.8, 'lstm': 0.7}
    """
    columns = {model: over_sites(frame, over) for model, frame in frames.items()}
    rows = dict.fromkeys(name for column in columns.values() for name in column)
    table = {model: [column.get(name, math.nan) for name in rows] for model, column in columns.items()}
    return pd.DataFrame(table, index=pd.Index(list(rows), dtype=object), dtype=np.float64)


def over_sites(frame: pd.DataFrame, over: Over) -> dict[str, float]:
    """Every quantity over all sites; each of several targets has rows of its own."""
    if "target" in frame:
        parts = frame.groupby("target", sort=False)
        return {
            f"{target} {name}": value
            for target, part in parts
            for name, value in over_sites(part.drop(columns="target"), over).items()
        }
    numbers = frame.drop(columns="site", errors="ignore").astype(np.float64)
    values = numbers.median() if over == "median" else numbers.mean()
    return {str(name): float(value) for name, value in values.items()}


def mass_balance(predictions: xr.Dataset) -> pd.DataFrame:
    """One row per site: inflow = what left + change of storage + unaccounted, for every kind of model.

    A model with stores names all of it, and `unaccounted` is rounding. A model without stores names only what
    left at its targets; `unaccounted` is the rest: evaporation, storage, or mass from nowhere.
    """
    books = balance_table(predictions)
    table = books[["site", "inflow"]].copy()
    if "storage" in predictions:
        if "added by input scaling" in books:
            table["added by input scaling"] = books["added by input scaling"]
        for outlet in predictions["outlet"].to_numpy():
            table[f"left as {outlet}"] = books[f"outflow {outlet}"]
        table["change of storage"] = books["storage after"] - books["storage before"]
        table["unaccounted"] = books["residual"]
        return table
    left = simulated_outflow(predictions)
    for name, values in left.items():
        table[name] = values
    table["unaccounted"] = table["inflow"] - sum(left.values()) if left else math.nan
    return table


def budyko_figure(table: pd.DataFrame, title: str) -> Figure:
    """Left: 1 - Q / P over PET / P, both limits and Budyko's curve. Right: runoff ratios, a point per site.

    table: what `long_term` gives
    """
    with plot_style():
        figure = Figure(figsize=(8.4, 4.0), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1.35, 1))
        draw_space(left, table)
        draw_ratios(right, table)
        figure.suptitle(title_text(title), x=0.01, ha="left")
    return figure


def draw_space(axis: Axes, table: pd.DataFrame) -> None:
    top = min(DRIEST, max(2.0, 1.05 * float(table["aridity"].max())))
    phi = np.linspace(0.01, top, 300)
    axis.plot([0, 1, top], [0, 1, 1], color=COLOURS["guide"], linewidth=0.8, label="limits")
    axis.plot(phi, budyko(phi), color=COLOURS["guide"], linewidth=1.4, label="Budyko")
    dryness = table["aridity"].clip(upper=top)
    for name in ("observed", "simulated"):
        axis.plot(dryness, table[f"evaporative index {name}"], "o", color=COLOURS[name], label=name, **POINTS)
    low = float(table[["evaporative index observed", "evaporative index simulated"]].min().min())
    labels = {"xlabel": "aridity PET / P", "ylabel": "evaporative index 1 − Q / P"}
    axis.set(xlim=(0, top), ylim=(min(0.0, 1.05 * low), 1.05), **labels)
    legend_above(axis, columns=4)


def draw_ratios(axis: Axes, table: pd.DataFrame) -> None:
    fit = agreement(table)
    observed, simulated = table["runoff ratio observed"], table["runoff ratio simulated"]
    top = 1.05 * max(1.0, float(observed.max()), float(simulated.max()))
    axis.plot([0, top], [0, top], color=COLOURS["guide"], linewidth=0.8, dashes=(5, 3))
    axis.axhline(1, color=COLOURS["guide"], linewidth=0.6)
    axis.axvline(1, color=COLOURS["guide"], linewidth=0.6)
    axis.plot(observed, simulated, "o", color=COLOURS["simulated"], **POINTS)
    axis.set(xlim=(0, top), ylim=(0, top), aspect="equal")
    axis.set(xlabel="observed Q / P", ylabel="simulated Q / P")
    lines = [f"r = {fit['correlation']:.2f}", f"RMSE {fit['rmse']:.3f}", f"{fit['sites']:.0f} sites"]
    axis.text(0.9, 0.05, "\n".join(lines), transform=axis.transAxes, va="bottom", ha="right",
              bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5})  # fmt: skip
