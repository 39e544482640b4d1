"""Scores other people published, by site: what a folder of their files gives for the sites of a run.

Two forms are known. `process_model_metrics_1989_1999.csv` has one row a basin and model with NSE, r, Beta and
Gamma; `test_metrics_531camels_<model>_<seed>.csv` one row a basin with NSE, alpha, beta, FHV, FLV.
Both are of the water years 1990 to 1999. What they do not state follows from the observations:

    s, o simulated and observed, mu mean, sd deviation, r correlation
    alpha = sd_s / sd_o = Gamma Beta       because Gamma = (sd_s / mu_s) / (sd_o / mu_o), Beta = mu_s / mu_o
    beta  = (mu_s - mu_o) / sd_o = (Beta - 1) mu_o / sd_o
    NSE   = 2 alpha r - alpha^2 - beta^2   which gives r where it is missing
    KGE   = 1 - sqrt((r - 1)^2 + (alpha - 1)^2 + (Beta - 1)^2), ours; theirs has Gamma for alpha
"""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from mclstm.data.checks.guess import listed, require_columns
from mclstm.data.readers.text import read_table
from mclstm.errors import DataError
from mclstm.evaluation.comparison import Scored

__all__ = ["ALIASES", "PERIOD", "Benchmarks", "benchmarks", "moments", "process_models", "published"]

PERIOD = ("1989-10-01", "1999-09-30")
PROCESS = "process_model_metrics_1989_1999.csv"
PUBLISHED = re.compile(r"test_metrics_531camels_(lstm|ealstm)_(seed\d+|ensemble)\.csv")
# What the files of Kratzert et al. (2019) call a model, and what we call it.
ALIASES = {
    "SAC_SMA": "sac-sma", "VIC_basin": "vic-basin", "VIC_conus": "vic-regional",
    "mHm_basin": "mhm-basin", "mHm_conus": "mhm-regional", "HBV_lb": "hbv-lower", "HBV_ub": "hbv-upper",
    "q_sim_fuse_900": "fuse-900", "q_sim_fuse_902": "fuse-902", "q_sim_fuse_904": "fuse-904",
}  # fmt: skip
SHARE = 1e-3  # NSE may differ by so much from what r, Beta, Gamma and the observations give


class Benchmarks(NamedTuple):
    """The models found and what was left out, a sentence each."""

    models: list[Scored]
    notes: list[str]


def moments(observed: xr.DataArray) -> pd.DataFrame:
    """Mean and deviation (divided by N) of what was observed, by site; observed (site, time).

    >>> moments(xr.DataArray([[1.0, 3.0]], {"site": ["A"], "time": [0, 1]})).loc["A"].tolist()
    [2.0, 1.0]
    """
    values = observed.transpose("site", "time").to_numpy()
    sites = pd.Index([str(site) for site in observed["site"].to_numpy()], name="site")
    return pd.DataFrame({"mean": np.nanmean(values, 1), "deviation": np.nanstd(values, 1)}, index=sites)


def benchmarks(folder: Path, observed: xr.DataArray) -> Benchmarks:
    """All models of a folder, restricted to the sites observed; the period must be that of the files."""
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder. Name the one that holds {PROCESS}.")
    days = pd.DatetimeIndex(observed["time"].to_numpy())
    if (str(days[0].date()), str(days[-1].date())) != PERIOD:
        raise DataError(
            f"the benchmarks in {folder} are scores of {PERIOD[0]} to {PERIOD[1]}, the runs were evaluated "
            f"on {days[0].date()} to {days[-1].date()}. Leave --benchmarks out, or test on those dates."
        )
    stats = moments(observed)
    process = process_models(folder / PROCESS, stats) if (folder / PROCESS).is_file() else {}
    found = [Scored(ALIASES[name], (frame,), True) for name, frame in process.items() if name in ALIASES]
    files = [file for file in sorted(folder.glob("*.csv")) if file.name != PROCESS]
    found += published([file for file in files if PUBLISHED.fullmatch(file.name)], stats)
    if not found:
        raise DataError(f"{folder} holds neither {PROCESS} nor test_metrics_531camels_*.csv. Check the path.")
    notes = [f"{name} in {PROCESS} is none of the paper's models: left out." for name in process
             if name not in ALIASES]  # fmt: skip
    notes += [f"{file.name} holds no scores of this period in a known form: left out." for file in files
              if not PUBLISHED.fullmatch(file.name)]  # fmt: skip
    notes += [note for model in found for note in _absent(model, stats)]
    return Benchmarks([model for model in found if len(model.frames[0])], notes)


def _absent(model: Scored, stats: pd.DataFrame) -> list[str]:
    missing = [site for site in stats.index if site not in model.frames[0].index]
    what = f"{model.name} has no scores of {len(missing)} of {len(stats)} sites: {listed(missing)}."
    return [what] if missing else []


def process_models(path: Path, stats: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Frames of nse, kge, alpha-nse and beta-nse by the file's name of a model, for the sites in `stats`."""
    table = read_table(path, ("gauge_id", "mdl"))
    require_columns(table.columns, ["gauge_id", "mdl", "NSE", "rPearson", "Beta", "Gamma"], str(path))
    table = table[table["gauge_id"].isin(stats.index)]
    found = {}
    for name, part in table.groupby("mdl", sort=False):
        if part["gauge_id"].duplicated().any():
            raise DataError(f"{path} has two rows for a basin of {name}. Keep one row a basin and model.")
        found[str(name)] = _derived(part.set_index("gauge_id"), stats, f"{path}, {name}")
    return found


def _derived(part: pd.DataFrame, stats: pd.DataFrame, where: str) -> pd.DataFrame:
    own = stats.loc[part.index]
    alpha, r, ratio = part["Gamma"] * part["Beta"], part["rPearson"], part["Beta"]
    beta = (ratio - 1) * own["mean"] / own["deviation"]
    # The books of the decomposition must close: else the observations are not those of the benchmark.
    off = (2 * alpha * r - alpha**2 - beta**2 - part["NSE"]).abs()
    if (off > SHARE * (1 + part["NSE"].abs())).any():
        raise DataError(
            f"{where}: NSE, r, Beta and Gamma of basin {off.idxmax()} do not fit the run's observations. "
            "Compare on the observations the benchmark was scored with."
        )
    frame = {"nse": part["NSE"], "kge": _kge(r, alpha, ratio), "alpha-nse": alpha, "beta-nse": beta}
    return pd.DataFrame(frame).rename_axis("site")


def _kge(r: pd.Series, alpha: pd.Series, ratio: pd.Series) -> pd.Series:
    return 1 - ((r - 1) ** 2 + (alpha - 1) ** 2 + (ratio - 1) ** 2) ** 0.5


def published(files: list[Path], stats: pd.DataFrame) -> list[Scored]:
    """LSTM and EA-LSTM of Kratzert et al. (2019): eight seeds each, and the ensemble of them."""
    frames: dict[str, dict[str, pd.DataFrame]] = {}
    for file in files:
        found = PUBLISHED.fullmatch(file.name)
        if found is not None:
            frames.setdefault(found[1], {})[found[2]] = _published(file, stats)
    models = []
    for kind, by_seed in frames.items():
        seeds = tuple(frame for seed, frame in by_seed.items() if seed != "ensemble")
        if seeds:
            models.append(Scored(f"{kind}-kratzert2019", seeds, False))
        if "ensemble" in by_seed:
            models.append(
                Scored(f"{kind}-kratzert2019-ensemble", (by_seed["ensemble"],), False, len(seeds) or 1)
            )
    return models


def _published(file: Path, stats: pd.DataFrame) -> pd.DataFrame:
    table = read_table(file, ("basin",))
    require_columns(table.columns, ["basin", "NSE", "alpha_nse", "beta_nse", "FHV", "FLV"], str(file))
    part = table[table["basin"].isin(stats.index)].set_index("basin").rename_axis("site")
    own = stats.loc[part.index]
    alpha, beta = part["alpha_nse"], part["beta_nse"]
    r = (part["NSE"] + alpha**2 + beta**2) / (2 * alpha)
    ratio = 1 + beta * own["deviation"] / own["mean"]
    columns = {"nse": part["NSE"], "beta-nse": beta, "flv": part["FLV"], "fhv": part["FHV"]}
    return pd.DataFrame({**columns, "kge": _kge(r, alpha, ratio), "alpha-nse": alpha})
