"""What the page says about all sites together: the summary sentence, scores, balance, learning curves."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

import mclstm
from mclstm.data.units import amount_unit
from mclstm.report.comparison import Section
from mclstm.report.comparison.balance_section import CLOSED
from mclstm.report.comparison.score_section import HEADS, short_label
from mclstm.report.page import PageModel
from mclstm.report.page.blocks import blocks
from mclstm.report.page.numbers import rounded
from mclstm.report.page.site_data import time_axis
from mclstm.report.run_figures import PANELS, curve
from mclstm.training.journal import without_nan

__all__ = ["overview"]

SHOWN = ("nse", "kge", "beta-nse", "fhv", "flv", "rmse")  # columns of the table of sites
RECORDS = 600  # points of a learning curve
LEFT = "left as "


def overview(
    title: str,
    models: Sequence[PageModel],
    sections: Sequence[Section],
    notes: Sequence[str],
    places: pd.DataFrame,
) -> dict[str, Any]:
    """All of the page that is not about one site; places: columns lat and lon by site, may be empty."""
    first = models[0].ledgers[0]
    unit = str(first["inflow"].attrs.get("units", ""))
    content: dict[str, Any] = without_nan({
        "title": title,
        "version": mclstm.__version__,
        "summary": summary(models),
        "time": time_axis(first),
        "unit": unit,
        "amount": amount_unit(unit, pd.DatetimeIndex(first["time"].to_numpy())),
        "metrics": {name: HEADS.get(name, name.upper()) for name in SHOWN},
        "sites": sites_of(models, places),
        "models": [about(model) for model in models],
        "sections": [section_data(section) for section in sections if section.text or section.figures],
        "notes": list(notes),
    })  # fmt: skip
    return content


def section_data(section: Section) -> dict[str, Any]:
    return {
        "title": section.title,
        "blocks": blocks(section.text),
        "figures": list(section.figures),
        "tables": {name: table.to_csv(index=False) for name, table in section.tables.items()},
    }


def sites_of(models: Sequence[PageModel], places: pd.DataFrame) -> list[dict[str, Any]]:
    """Name, place and scores of every site."""
    names = [str(name) for name in models[0].ledgers[0]["site"].to_numpy()]
    columns = {model.name: scores_by_site(model, names) for model in models}
    where = places.reindex(names) if {"lat", "lon"} <= set(places.columns) else None
    return [
        {"name": name, "scores": {model: rows[at] for model, rows in columns.items()}}
        | ({} if where is None else {"place": rounded(where[["lat", "lon"]].iloc[at], 6)})
        for at, name in enumerate(names)
    ]


def scores_by_site(model: PageModel, names: Sequence[str]) -> list[dict[str, float | None]]:
    if model.scores.empty:
        return [{} for _ in names]
    table = model.scores.set_index("site")
    known = [name for name in SHOWN if name in table]
    rows = table[known].reindex(list(names)).to_numpy(np.float64)
    return [dict(zip(known, rounded(row), strict=True)) for row in rows]


def about(model: PageModel) -> dict[str, Any]:
    """One model: what it is, how it learned, and whether its books close."""
    return {
        "name": model.name,
        "label": short_label(model.name),
        "config": model.config,
        "manifest": dict(model.manifest),
        "curves": curves(model.records),
        "certificate": certificate(model),
        "why_no_ages": model.why_no_ages,
    }


def curves(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Loss, validation score and mass error over updates, thinned to what a screen shows."""
    result = []
    for name, label in PANELS.items():
        updates, values = curve(list(records), name)
        some = slice(None, None, 1 + len(updates) // RECORDS)
        if len(updates):
            result.append(
                {"label": label, "updates": rounded(updates[some], 9), "values": rounded(values[some])}
            )
    return result


def certificate(model: PageModel) -> dict[str, Any] | None:
    """Whether the mass of every site closes; None for a model without stores."""
    if "relative error" not in model.balance:
        return None
    errors = model.balance["relative error"]
    worst = float(errors.max())
    return {
        "sites": len(errors),
        "steps": model.ledgers[0].sizes["time"],
        "members": sum(ledger.sizes.get("member", 1) for ledger in model.ledgers),
        "error": worst,
        "limit": CLOSED,
        "holds": bool(worst < CLOSED),
        "worst": str(errors.idxmax()),
    }


def summary(models: Sequence[PageModel]) -> str:
    """Some sentences for a reader in a hurry: what was simulated, how well, and where the mass went."""
    first = models[0].ledgers[0]
    time, sites = pd.DatetimeIndex(first["time"].to_numpy()), first.sizes["site"]
    where = f"site {first['site'].to_numpy()[0]}" if sites == 1 else f"{sites} sites"
    labels = [short_label(model.name) for model in models]
    lines = [f"{listed(labels)} simulated {where} from {time[0]:%Y-%m-%d} to {time[-1]:%Y-%m-%d}."]
    scored = [model for model in models if "nse" in model.scores and model.scores["nse"].notna().any()]
    if scored:
        parts = [f"{model.scores['nse'].median():.2f} for {short_label(model.name)}" for model in scored]
        lines.append(f"The {'median ' if sites > 1 else ''}NSE is {listed(parts)} (1 is perfect).")
    else:
        lines.append("There are no observations to compare with.")
    lines += [fate(model) for model in models if "relative error" in model.balance][:1]
    return " ".join(lines)


def fate(model: PageModel) -> str:
    """Which share of the inflow left where, over all sites."""
    total = model.balance.sum(numeric_only=True)
    entered = total["inflow"] + total.get("added by input scaling", 0.0)
    if not entered > 0:
        return ""
    left = {
        str(name).removeprefix(LEFT): total[name] / entered
        for name in total.index
        if str(name).startswith(LEFT)
    }
    largest = sorted(left.items(), key=lambda item: -item[1])[:4]
    parts = [f"{share:.0%} left as {name}" for name, share in largest]
    stored = total["change of storage"] / entered
    if abs(stored) >= 0.005:
        how = "stayed in" if stored > 0 else "came out of"
        parts.append(f"{abs(stored):.0%} {how} the stores")
    closed = float(model.balance["relative error"].max())
    return (
        f"Of the mass that entered {short_label(model.name)}, {listed(parts)}. "
        f"Its mass balance closes to {closed:.0e} of the mass."
    )


def listed(words: Sequence[str]) -> str:
    """Words with commas and an `and`.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else list(words))
