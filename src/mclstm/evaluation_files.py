"""The results of an evaluation and their files: <folder>/evaluation/<split>/predictions.nc and its tables."""

from pathlib import Path
from typing import NamedTuple

import pandas as pd
import xarray as xr

from mclstm.evaluation.ensemble_scores import ensemble_table
from mclstm.evaluation.prediction_dataset import as_netcdf
from mclstm.evaluation.rival_scores import rival_table, together
from mclstm.evaluation.score_tables import read_table
from mclstm.explain.water_balance import sequence_balance
from mclstm.training.atomic import make_folder, write_bytes_atomic, write_text_atomic

__all__ = ["ENSEMBLE", "Evaluation", "Tables", "read_tables", "write_evaluation", "write_tables"]

ENSEMBLE = "ensemble.csv"  # CRPS and coverage, where several members were simulated


class Evaluation(NamedTuple):
    """The results of an evaluation, and the folder they are written to."""

    predictions: xr.Dataset
    scores: pd.DataFrame
    balance: pd.DataFrame
    folder: Path
    rivals: dict[str, xr.Dataset]  # their simulations by name, as `predictions`
    rival_scores: pd.DataFrame


class Tables(NamedTuple):
    """The tables of an earlier evaluation, read from its folder; the predictions stay unread."""

    scores: pd.DataFrame
    balance: pd.DataFrame
    folder: Path
    rival_scores: pd.DataFrame


def write_evaluation(result: Evaluation) -> None:
    """Write the predictions and tables of an evaluation into its folder."""
    make_folder(result.folder)
    if result.rivals:
        write_bytes_atomic(result.folder / "rivals.nc", as_netcdf(together(result.rivals)))
        write_text_atomic(result.folder / "rivals.csv", result.rival_scores.to_csv(index=False))
    write_bytes_atomic(result.folder / "predictions.nc", as_netcdf(result.predictions))
    write_tables(result, ensemble_table(result.predictions))
    if "sequence" in result.predictions:
        table = sequence_balance(result.predictions)
        write_text_atomic(result.folder / "sequence_balance.csv", table.to_csv(index=False))


def write_tables(result: Evaluation, by_member: pd.DataFrame) -> None:
    """Write the scores, the balance and, of several members, what `ensemble_table` gives."""
    write_text_atomic(result.folder / "metrics.csv", result.scores.to_csv(index=False))
    write_text_atomic(result.folder / "mass_balance.csv", result.balance.to_csv(index=False))
    if len(by_member):
        write_text_atomic(result.folder / ENSEMBLE, by_member.to_csv(index=False))


def read_tables(folder: Path) -> Tables:
    """The tables of an evaluation that was written into a folder."""
    scores, balance = (read_table(folder / f"{name}.csv") for name in ("metrics", "mass_balance"))
    rivals = folder / "rivals.csv"
    return Tables(scores, balance, folder, read_table(rivals) if rivals.is_file() else rival_table({}, []))
