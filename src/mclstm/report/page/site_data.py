"""One site on the page: its series, its stores, and the ages of its outflow, as JSON."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from mclstm.evaluation.ensemble import BY_MEMBER, ensemble_mean, without_cells
from mclstm.evaluation.outlets import TOTAL, targets, variable, with_total
from mclstm.report.hydrograph import outflow_layers, storage_layers
from mclstm.report.outlet_figure import largest
from mclstm.report.page import PageModel
from mclstm.report.page.numbers import rounded
from mclstm.report.site_series import Floats, SiteSeries, Stores, site_series

__all__ = ["coarse_step", "site_data", "time_axis"]

TARGETS = 12  # of a site; the largest
POINTS = 1500  # of a layer of storage or of ages: more than a screen has
EXACT = 6  # digits of what sums must close


def coarse_step(steps: int) -> int:
    """How many steps stand for one in layers of storage and in ages.

    >>> coarse_step(1096), coarse_step(3653)
    (1, 3)
    """
    return max(1, math.ceil(steps / POINTS))


def time_axis(predictions: xr.Dataset) -> dict[str, Any]:
    """The dates of all sites in seconds since 1970: first, step and count, or one by one."""
    seconds = pd.DatetimeIndex(predictions["time"].to_numpy()).as_unit("ns").asi8 // 10**9
    steps = np.diff(seconds)
    every = coarse_step(len(seconds))
    if len(steps) and (steps == steps[0]).all():
        return {"first": int(seconds[0]), "step": int(steps[0]), "count": len(seconds), "every": every}
    return {"at": seconds.tolist(), "count": len(seconds), "every": every}


def site_data(models: Sequence[PageModel], at: int) -> dict[str, Any]:
    """All that the page shows of the site with this number."""
    parts = [with_total(predictions_of(model.ledgers, at)) for model in models]
    site = str(parts[0]["site"].to_numpy()[0])
    series = [{name: site_series(part, site, name) for name in shown_targets(part, site)} for part in parts]
    whole = next(iter(series[0].values()))
    stores = [next(iter(own.values())).stores for own in series]
    return {
        "inflow": rounded(whole.inflow, EXACT),
        "targets": [target_data(name, series, parts, models) for name in series[0]],
        "stores": {
            m.name: stores_data(s, whole.inflow) for m, s in zip(models, stores, strict=True) if s is not None
        },
        "ages": {model.name: model.ages[site] for model in models if site in model.ages},
        "cells": {model.name: cells_data(model.cells[site]) for model in models if site in model.cells},
    }


def cells_data(table: pd.DataFrame) -> list[dict[str, Any]]:
    """What the page tells of each member's cells, the fastest first; table: see `read_members`."""
    return [
        {
            "member": int(row["member"]),
            "cell": int(row["cell"]),
            "days": rounded([row["turnover (days)"]], 3)[0],
            "share": rounded([row["share of storage"]], 3)[0],
            "sentence": row["sentence"],
        }
        for _, row in table.iterrows()
    ]


def predictions_of(members: Sequence[xr.Dataset], at: int) -> xr.Dataset:
    """The predictions of one site; the mean of several members, whose cells have nothing in common."""
    parts = [member.isel(site=[at]).load() for member in members]
    return ensemble_mean(parts if len(parts) == 1 else map(without_cells, parts))


def shown_targets(part: xr.Dataset, site: str) -> list[str]:
    several = TOTAL in targets(part)
    own = part.drop_vars([variable(what, TOTAL) for what in ("simulated", "observed")], errors="ignore")
    return [*largest(own if several else part, site, TARGETS), *([TOTAL] if several else [])]


def target_data(
    name: str,
    series: Sequence[dict[str, SiteSeries]],
    parts: Sequence[xr.Dataset],
    models: Sequence[PageModel],
) -> dict[str, Any]:
    first = series[0][name]
    known = {m.name: own[name] for m, own in zip(models, series, strict=True) if name in own}
    extremes = {m.name: extremes_of(part, name) for m, part in zip(models, parts, strict=True)}
    return {
        "name": first.target,
        "unit": first.unit,
        "observed": rounded(first.observed) if first.has_observations else None,
        "simulated": {model: rounded(own.simulated) for model, own in known.items()},
        "members": {model: [rounded(end) for end in ends] for model, ends in extremes.items() if ends},
    }


def extremes_of(part: xr.Dataset, target: str) -> list[Floats]:
    """The lowest and highest simulation of a site's members, (T,) each; nothing of a single model.

    The members are those of several runs, whose extremes are known, or those of one run.
    """
    names = [variable("simulated", target) + ending for ending in ("_low", "_high")]
    if names[0] in part:
        return [part[name].to_numpy()[0] for name in names]
    each = variable(BY_MEMBER, target)
    return (
        [part[each].min("member").to_numpy()[0], part[each].max("member").to_numpy()[0]]
        if each in part
        else []
    )


def stores_data(stores: Stores, inflow: Floats) -> dict[str, Any]:
    """The ledger of a site: sums of these numbers close, but for their last digit."""
    every = coarse_step(len(inflow))
    same = np.allclose(stores.entered, inflow, rtol=1e-5, equal_nan=True)
    named = storage_layers(stores)
    # The cell of what leaves unobserved is the last layer.
    last = len(named) - 1 if stores.losses_cell is not None else len(named)
    layers = [(label, values, at == last) for at, (label, _, values) in enumerate(named)]
    return {
        "before": rounded([stores.before], EXACT)[0],
        # Only input scaling lets more or less enter than flows in; a difference of float32 is none.
        "entered": None if same else rounded(stores.entered, EXACT),
        "emptied": rounded(stores.emptied, EXACT) if stores.emptied.any() else None,
        "stored": rounded(stores.storage.sum(1), EXACT),
        "outlets": [
            {"name": name, "flow": rounded(flow, EXACT), "lost": name == stores.losses}
            for name, flow in outflow_layers(stores)
        ],
        "layers": [
            {"name": label, "values": rounded(values[::every]), "lost": lost}
            for label, values, lost in layers
        ],
    }
