"""Tables and the figure of the traffic forecast, and the blocks of its page."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from mclstm.report.markdown import NOTHING, markdown
from mclstm.report.style import OUTLETS, date_axis, plot_style
from mclstm_paper.experiment import Block, Headline, three_decimals
from mclstm_paper.number_format import mean, updates
from mclstm_paper.pages.sections import missing, read
from mclstm_paper.protocols import PROTOCOLS
from mclstm_paper.results import Row, committed_results
from mclstm_paper.traffic.days import Days
from mclstm_paper.traffic.printed import CHOSEN, PRINTED
from mclstm_paper.traffic.scoring import METRICS

__all__ = ["BLOCKS", "HEADLINES", "choice_table", "day_figure", "score_table", "score_tables"]

NAME = "traffic"


def score_tables(rows: Sequence[Row]) -> str:
    """One table per city and reading."""
    settings = dict.fromkeys(row["setting"] for row in rows)
    parts = [
        f"{name}:\n\n{score_table([row for row in rows if row['setting'] == name])}" for name in settings
    ]
    return "\n\n".join(parts)


def score_table(rows: Sequence[Row]) -> str:
    """Means with their intervals, by model and metric, of one setting."""
    cells = {(row["model"], row["metric"]): row for row in rows}
    models = list(dict.fromkeys(row["model"] for row in rows))
    metrics = [metric for metric in METRICS if any(row["metric"] == metric for row in rows)]
    table = {"model": models}
    for metric in metrics:
        table[metric] = [mean(cells.get((model, metric))) for model in models]
        if any(row["paper"] is not None for row in rows if row["metric"] == metric):
            table[f"{metric}, paper"] = [paper(cells.get((model, metric))) for model in models]
    first = [next(row for row in rows if row["model"] == model) for model in models]
    table["seeds × updates"] = [
        f"{row['runs']} × {updates(row['trained'])}" if row.get("trained") else NOTHING for row in first
    ]
    return markdown(pd.DataFrame(table))


def paper(row: Row | None) -> str:
    return NOTHING if row is None or row["paper"] is None else f"{row['paper']:g}"


def choice_table(rows: Sequence[Row]) -> str:
    """What the validation days chose for every model and setting, of how many settings."""
    lines = []
    for row in rows:
        if row["metric"] == "rmse" and row["choice"]:
            chosen = {name: value for name, value in row["choice"].items() if value is not None}
            tried = max(1, len(row["trials"]))
            lines.append({"setting": row["setting"], "model": row["model"], "tried": tried, **chosen})
    columns = ["setting", "model", "tried", "hidden", "rate", "forget_bias", "start", "learned", "lags"]
    whole = pd.DataFrame(lines, columns=columns).rename(columns={"forget_bias": "forget bias"})
    return markdown(whole.map(shown))


def shown(value: object) -> str:
    """A setting as a table shows it.

    >>> shown(0.005), shown(True), shown(float("nan")), shown("mclstm")
    ('0.005', 'yes', '–', 'mclstm')
    """
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return NOTHING
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, int | float | np.number) else str(value)


def papers_tables(root: Path) -> str:
    """The paper's results and the settings it chose."""
    cities = list(PRINTED)
    table: dict[str, list[str]] = {"model": ["mclstm", "lstm"]}
    for city in cities:
        for metric in ("rmse", "mae"):
            numbers = [getattr(PRINTED[city][model], metric) for model in table["model"]]
            table[f"{city}, {metric}"] = [f"{value:g} ± {half:g}" for value, half in numbers]
    lines = [
        {"setting": city, "model": model, **CHOSEN[city][model]}
        for city in cities
        for model in table["model"]
    ]
    columns = ["setting", "model", "hidden", "rate", "forget_bias", "start", "learned"]
    chosen = pd.DataFrame(lines, columns=columns).rename(columns={"forget_bias": "forget bias"})
    return f"{markdown(pd.DataFrame(table))}\n\n{markdown(chosen.map(shown))}"


def choices(root: Path) -> str:
    """The settings that our validation days chose, under every protocol that was run."""
    parts = []
    for protocol in PROTOCOLS:
        content = read(root, f"{NAME}/{protocol}.json")
        if content is not None:
            parts += [f"Protocol {protocol}:", choice_table(content["rows"])]
            most = max(row["scorings"] for row in content["rows"])
            parts.append(
                f"The test days were scored {'once' if most == 1 else f'up to {most} times'} per model."
            )
    return "\n\n".join(parts) or missing(NAME, "stated")


def cost_table(root: Path) -> str:
    """What an update costs by hidden size, and what the paper's 50 runs of 10,000 updates would."""
    seconds = committed_results(root / "results" / NAME / "cost.json")["seconds"]
    lines = [
        {
            "model": model,
            "hidden": size,
            "ms per update and seed": f"{1000 * cost:.3g}",
            "core-hours of 50 runs of 10,000 updates": f"{cost * 50 * 10_000 / 3600:.2g}",
        }
        for model in ("mclstm", "lstm")
        for size, cost in seconds[model].items()
    ]
    return markdown(pd.DataFrame(lines))


def day_figure(days: Days, forecasts: Mapping[str, Mapping[str, Any]], title: str) -> Figure:
    """Counts that leave by every outlet on one test day, solid, and the forecast of each model, dashed."""
    number = next(iter(forecasts.values()))["number"]
    times = pd.date_range(days.first[number], periods=len(days.x), freq=days.step)
    with plot_style():
        columns, rows = min(2, len(forecasts)), -(-len(forecasts) // 2)
        figure = Figure(figsize=(5.0 * columns, 2.6 * rows + 0.6), layout="constrained")
        axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
        for axis, (model, forecast) in zip(axes, forecasts.items(), strict=False):
            for at, outlet in enumerate(days.outlets):
                colour = OUTLETS[at % len(OUTLETS)]
                axis.plot(times, days.y[:, number, at], color=colour, linewidth=0.8, label=outlet)
                axis.plot(times, np.array(forecast["forecast"])[:, at], color=colour, linestyle="--")
            axis.set(title=model)
            date_axis(axis)
        axes[0].legend(loc="upper left")
        what = "what leaves per step, counted and forecast (dashed)"
        figure.suptitle(f"{title}, {times[0]:%Y-%m-%d}: {what}", x=0.01, ha="left")
    return figure


BLOCKS: dict[str, Block] = {
    "traffic-paper": papers_tables,
    "traffic-choices": choices,
    "traffic-cost": cost_table,
}
HEADLINES = (
    Headline(
        "flights that land, sparsely observed: RMSE",
        "flights-sparse-step",
        "mclstm-timeless",
        "rmse",
        three_decimals,
    ),
)
