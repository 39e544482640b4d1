"""How old the flow of rivers is in trained models: the Fulda of the demo, ten basins of CAMELS-US, all 447.

    python -m mclstm_paper.tracing.basin_ages --fulda RUN
    python -m mclstm_paper.tracing.basin_ages --data CAMELS_US

RUN is the MC-LSTM of `mclstm demo`. Basins are traced in blocks. Finished blocks are kept (`--scratch`), and
the command goes on from them.
"""

import argparse
import json
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import xarray as xr
from scipy.stats import mannwhitneyu, spearmanr

from mclstm.data.series import times
from mclstm.data.windows import tensors
from mclstm.deploy.new_data import Source, read_new_data
from mclstm.deploy.trace_model import summary
from mclstm.deploy.trained_model import TrainedModel, open_model
from mclstm.errors import DataWarning
from mclstm.explain.mass_ages import age_classes, require_conserving, trace_ages
from mclstm.explain.mass_paths import origins
from mclstm.training.atomic import make_folder, write_text_atomic
from mclstm_paper.tracing.trace_file import FOLDER, save_trace

__all__ = ["BASINS", "FULDA", "ages_of_sites", "behind_flood", "contrast", "main"]

FULDA, BASINS = FOLDER / "fulda.json", FOLDER / "ages.json"
BLOCK = 64  # sites
TEN = 45  # every so many-th basin is one of the ten
SNOW, RAIN = 0.3, 0.1  # share of precipitation that falls as snow: a snow basin has more, a rain basin less
FILLING = 365  # days before ages count


def ages_of_sites(
    model: TrainedModel, series: xr.Dataset, floods: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """One row per site: ages of its flow after the first year, and of the largest flood.

    The mean over the members is traced. floods: sites whose largest flood is traced to its days
    """
    members = [require_conserving(one) for one in model.members.values()]
    data, target = tensors(series, model.moments, torch.float32), model.config.data.target[0]
    traced = trace_ages(members, data, series, age_classes(times(series)), FILLING)
    table = summary(traced, target)
    days = f"younger than {traced['young_share'].attrs['young_days']:g} days"
    later = traced["outflow_by_age"].sel(outlet=target).isel(time=slice(FILLING, None))
    rows = []
    for at, site in enumerate(table["site"]):
        amounts = later.isel(site=at).to_numpy()  # (T, classes)
        peak = int(np.nanargmax(amounts.sum(-1)))
        shares = amounts[peak] / amounts[peak].sum()
        date = pd.Timestamp(later["time"].to_numpy()[peak])
        behind = origins(members, data, series, site, date, target) if site in floods else None
        rows.append({
            "site": site,
            "median": float(table["median age (days)"][at]),
            "young": float(table[days][at]),
            "flood": f"{date:%Y-%m-%d}",
            "flood by age": dict(zip(later["age_class"].to_numpy().tolist(), shares.tolist(), strict=True)),
        } | ({} if behind is None else {"behind": behind_flood(behind)}))  # fmt: skip
    return rows


def behind_flood(table: pd.DataFrame) -> dict[str, Any]:
    """The day that gave most to an outflow, its share, and the fewest days that gave half; see `origins`."""
    by_day = table.dropna(subset=["date"]).groupby("date")["share"].sum().sort_values(ascending=False)
    half = 1 + int((by_day.cumsum() < 0.5).sum())
    return {"day": f"{by_day.index[0]:%Y-%m-%d}", "share": float(by_day.iloc[0]), "half": half}


def contrast(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Snow basins beside rain basins: medians, Mann-Whitney's test, and Spearman's correlation of all."""
    table = pd.DataFrame(rows)
    snow, rain = table[table["snow"] > SNOW], table[table["snow"] < RAIN]
    result: dict[str, Any] = {"snow basins": len(snow), "rain basins": len(rain)}
    for name in ("median", "young"):
        known = table.dropna(subset=[name])
        test = mannwhitneyu(snow[name].dropna(), rain[name].dropna())
        rank = spearmanr(known["snow"], known[name])
        result[name] = {
            "snow": float(snow[name].median()), "rain": float(rain[name].median()), "p": float(test.pvalue),
            "spearman": float(rank.statistic), "spearman p": float(rank.pvalue),
        }  # fmt: skip
    return result


def alone(model: TrainedModel) -> list[TrainedModel]:
    """The members of an ensemble, each as a model of its own."""
    return [replace(model, members={name: member}) for name, member in model.members.items()]


def all_basins(model: TrainedModel, series: xr.Dataset, scratch: Path) -> list[dict[str, Any]]:
    """The rows of all basins by the first member, block by block."""
    make_folder(scratch)
    rows: list[dict[str, Any]] = []
    for first in range(0, series.sizes["site"], BLOCK):
        path = scratch / f"basins-{first}.json"
        if not path.is_file():
            part = series.isel(site=slice(first, first + BLOCK))
            block = ages_of_sites(alone(model)[0], part)
            for row, snow in zip(block, part["frac_snow"].to_numpy(), strict=True):
                row["snow"] = float(snow)
            write_text_atomic(path, json.dumps(block))
            print(f"{first + len(block)} basins", flush=True)
        rows += json.loads(path.read_text())
    return rows


def with_members(model: TrainedModel, series: xr.Dataset) -> list[dict[str, Any]]:
    """Some sites by the whole ensemble, the rain behind their floods, and the ages of every member."""
    rows = ages_of_sites(model, series, series["site"].to_numpy().astype(str).tolist())
    members = [ages_of_sites(member, series) for member in alone(model)]
    for at, row in enumerate(rows):
        row["by member"] = [{name: table[at][name] for name in ("median", "young")} for table in members]
    return rows


def fulda_ages(run: Path) -> dict[str, Any]:
    """The ages of the demo's river over its whole record."""
    river = open_model(run)
    series = read_new_data(river, Source(str(river.config.data.path)))
    dates = [f"{times(series)[at]:%Y-%m-%d}" for at in (0, -1)]
    return {"period": dates, "filling": FILLING, **with_members(river, series)[0]}


def basin_ages(data: Path, pack: Path, period: tuple[str, str], scratch: Path) -> dict[str, Any]:
    """Ten basins by all members, all basins by the first, and snow beside rain."""
    model = open_model(pack)
    every = read_new_data(model, Source(str(data))).sel(time=slice(*period))
    ten = with_members(model, every.isel(site=slice(None, None, TEN)))
    rows = all_basins(model, every, scratch)
    limits = {"snow": SNOW, "rain": RAIN}
    return {
        "period": list(period), "filling": FILLING, "contrast": contrast(rows), "limits": limits, "ten": ten,
        "basins": rows,
    }  # fmt: skip


def main(words: Sequence[str] | None = None) -> None:
    """Trace the Fulda or all basins, and write their ages."""
    parser = argparse.ArgumentParser(description=__doc__)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--fulda", type=Path, metavar="RUN")
    which.add_argument("--data", type=Path, metavar="CAMELS_US")
    parser.add_argument("--pack", type=Path, default=Path("weights/mclstm-mixed/tuned"))
    parser.add_argument("--period", nargs=2, default=("1988-10-01", "1999-09-30"))
    parser.add_argument("--scratch", type=Path, default=Path("runs/trace"))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(words)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        if options.fulda:
            file, content = FULDA, fulda_ages(options.fulda)
        else:
            file, content = BASINS, basin_ages(options.data, options.pack, options.period, options.scratch)
    save_trace(options.out or file, content, began)


if __name__ == "__main__":
    main()
