"""Scores by site that other people published, read from a folder of their files (`--benchmarks`).

Two forms are known, both of the water years 1990 to 1999:

    process_model_metrics_1989_1999.csv               one row per basin and model: NSE, r, Beta, Gamma
    test_metrics_531camels_<model>_<seed>.csv         one row per basin: NSE, alpha, beta, FHV, FLV

The other scores follow from these and the observations:

    s, o simulated and observed, mu mean, sd deviation, r correlation
    alpha = sd_s / sd_o = Gamma Beta       because Gamma = (sd_s / mu_s) / (sd_o / mu_o), Beta = mu_s / mu_o
    beta  = (mu_s - mu_o) / sd_o = (Beta - 1) mu_o / sd_o
    NSE   = 2 alpha r - alpha^2 - beta^2   which gives r where it is missing
    KGE   = 1 - sqrt((r - 1)^2 + (alpha - 1)^2 + (Beta - 1)^2); the files' own KGE has Gamma for alpha
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from mclstm.data.columns import listed, require_columns
from mclstm.data.readers.text import read_table
from mclstm.errors import DataError
from mclstm.evaluation.comparison import ModelScores

__all__ = [
    "MODEL_NAMES",
    "PERIOD",
    "kratzert_models",
    "observed_moments",
    "process_models",
    "read_published_scores",
]

PERIOD = ("1989-10-01", "1999-09-30")
PROCESS = "process_model_metrics_1989_1999.csv"
KRATZERT = re.compile(r"test_metrics_531camels_(lstm|ealstm)_(seed\d+|ensemble)\.csv")
# The name of a model in the files of Kratzert et al. (2019), and its name here.
MODEL_NAMES = {
    "SAC_SMA": "sac-sma", "VIC_basin": "vic-basin", "VIC_conus": "vic-regional",
    "mHm_basin": "mhm-basin", "mHm_conus": "mhm-regional", "HBV_lb": "hbv-lower", "HBV_ub": "hbv-upper",
    "q_sim_fuse_900": "fuse-900", "q_sim_fuse_902": "fuse-902", "q_sim_fuse_904": "fuse-904",
}  # fmt: skip
TOLERANCE = 1e-3  # relative difference of NSE from what r, Beta, Gamma and the observations give


def observed_moments(observed: xr.DataArray) -> pd.DataFrame:
    """Mean and deviation (divided by N) of the observations by site; observed (site, time).

    >>> observed_moments(xr.DataArray([[1.0, 3.0]], {"site": ["A"], "time": [0, 1]})).loc["A"].tolist()
    [2.0, 1.0]
    """
    values = observed.transpose("site", "time").to_numpy()
    sites = pd.Index([str(site) for site in observed["site"].to_numpy()], name="site")
    return pd.DataFrame({"mean": np.nanmean(values, 1), "deviation": np.nanstd(values, 1)}, index=sites)


def read_published_scores(folder: Path, observed: xr.DataArray) -> tuple[list[ModelScores], list[str]]:
    """The models of a folder with their scores at the observed sites, and notes on what was left out.

    observed: (site, time), of the same period as the files
    """
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder. Name the one that holds {PROCESS}.")
    days = pd.DatetimeIndex(observed["time"].to_numpy())
    if (str(days[0].date()), str(days[-1].date())) != PERIOD:
        raise DataError(
            f"the benchmarks in {folder} are scores of {PERIOD[0]} to {PERIOD[1]}, the runs were evaluated "
            f"on {days[0].date()} to {days[-1].date()}. Leave --benchmarks out, or test on those dates."
        )
    stats = observed_moments(observed)
    process = process_models(folder / PROCESS, stats) if (folder / PROCESS).is_file() else {}
    models = [
        ModelScores(MODEL_NAMES[key], (frame,), True) for key, frame in process.items() if key in MODEL_NAMES
    ]
    files = [file for file in sorted(folder.glob("*.csv")) if file.name != PROCESS]
    models += kratzert_models([file for file in files if KRATZERT.fullmatch(file.name)], stats)
    if not models:
        raise DataError(f"{folder} holds neither {PROCESS} nor test_metrics_531camels_*.csv. Check the path.")
    notes = [f"{key} in {PROCESS} is none of the paper's models: left out." for key in process
             if key not in MODEL_NAMES]  # fmt: skip
    notes += [f"{file.name} holds no scores of this period in a known form: left out." for file in files
              if not KRATZERT.fullmatch(file.name)]  # fmt: skip
    for model in models:
        missing = [site for site in stats.index if site not in model.frames[0].index]
        if missing:
            count = f"{len(missing)} of {len(stats)} sites"
            notes.append(f"{model.name} has no scores of {count}: {listed(missing)}.")
    return [model for model in models if len(model.frames[0])], notes


def process_models(path: Path, stats: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Frames of nse, kge, alpha-nse and beta-nse by the file's name of a model, at the sites of `stats`."""
    table = read_table(path, ("gauge_id", "mdl"))
    require_columns(table.columns, ["gauge_id", "mdl", "NSE", "rPearson", "Beta", "Gamma"], str(path))
    table = table[table["gauge_id"].isin(stats.index)]
    frames = {}
    for name, part in table.groupby("mdl", sort=False):
        if part["gauge_id"].duplicated().any():
            raise DataError(f"{path} has two rows for a basin of {name}. Keep one row per basin and model.")
        frames[str(name)] = _process_scores(part.set_index("gauge_id"), stats, f"{path}, {name}")
    return frames


def _process_scores(part: pd.DataFrame, stats: pd.DataFrame, where: str) -> pd.DataFrame:
    moments = stats.loc[part.index]
    alpha, r, ratio = part["Gamma"] * part["Beta"], part["rPearson"], part["Beta"]
    beta = (ratio - 1) * moments["mean"] / moments["deviation"]
    # The equation of NSE must hold: else the files were scored on other observations.
    off = (2 * alpha * r - alpha**2 - beta**2 - part["NSE"]).abs()
    if (off > TOLERANCE * (1 + part["NSE"].abs())).any():
        raise DataError(
            f"{where}: NSE, r, Beta and Gamma of basin {off.idxmax()} do not fit the run's observations. "
            "Compare on the observations the benchmark was scored with."
        )
    frame = {"nse": part["NSE"], "kge": _kge(r, alpha, ratio), "alpha-nse": alpha, "beta-nse": beta}
    return pd.DataFrame(frame).rename_axis("site")


def _kge(r: pd.Series, alpha: pd.Series, ratio: pd.Series) -> pd.Series:
    return 1 - ((r - 1) ** 2 + (alpha - 1) ** 2 + (ratio - 1) ** 2) ** 0.5


def kratzert_models(files: list[Path], stats: pd.DataFrame) -> list[ModelScores]:
    """LSTM and EA-LSTM of Kratzert et al. (2019): eight seeds each, and their ensemble."""
    frames: dict[str, dict[str, pd.DataFrame]] = {}
    for file in files:
        parts = KRATZERT.fullmatch(file.name)
        if parts is not None:
            frames.setdefault(parts[1], {})[parts[2]] = _kratzert_scores(file, stats)
    models = []
    for kind, by_seed in frames.items():
        seeds = tuple(frame for seed, frame in by_seed.items() if seed != "ensemble")
        if seeds:
            models.append(ModelScores(f"{kind}-kratzert2019", seeds, False))
        if "ensemble" in by_seed:
            name, frame = f"{kind}-kratzert2019-ensemble", by_seed["ensemble"]
            models.append(ModelScores(name, (frame,), False, len(seeds) or 1))
    return models


def _kratzert_scores(file: Path, stats: pd.DataFrame) -> pd.DataFrame:
    table = read_table(file, ("basin",))
    require_columns(table.columns, ["basin", "NSE", "alpha_nse", "beta_nse", "FHV", "FLV"], str(file))
    part = table[table["basin"].isin(stats.index)].set_index("basin").rename_axis("site")
    moments = stats.loc[part.index]
    alpha, beta = part["alpha_nse"], part["beta_nse"]
    r = (part["NSE"] + alpha**2 + beta**2) / (2 * alpha)
    ratio = 1 + beta * moments["deviation"] / moments["mean"]
    columns = {"nse": part["NSE"], "beta-nse": beta, "flv": part["FLV"], "fhv": part["FHV"]}
    return pd.DataFrame({**columns, "kge": _kge(r, alpha, ratio), "alpha-nse": alpha})
