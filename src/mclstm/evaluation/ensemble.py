"""The members of one model: read from their run folders, averaged, scored alone and as an ensemble."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import xarray as xr

from mclstm.errors import DataError
from mclstm.evaluation.comparison import COMPARED, ERRORS, ModelScores
from mclstm.evaluation.outlets import targets, variable
from mclstm.evaluation.prediction_dataset import read_flows
from mclstm.evaluation.score_tables import score_table, target_scores

__all__ = ["ensemble_mean", "model_scores", "read_members", "require_alike"]

LEDGER = ("entered", "outflow", "storage", "storage_before", "residual")


def read_members(runs: Sequence[Path], split: str = "test") -> list[xr.Dataset]:
    """The flows of every run, (site, time); all must be of the same sites, dates and observations."""
    members = [read_flows(run / "evaluation" / split / "predictions.nc") for run in runs]
    for run, member in zip(runs[1:], members[1:], strict=True):
        require_alike(members[0], member, (str(runs[0]), str(run)))
    return members


def require_alike(first: xr.Dataset, second: xr.Dataset, names: tuple[str, str]) -> None:
    """Refuse two simulations of other sites, dates or observations: their scores would not compare."""
    for axis in ("site", "time"):
        if not np.array_equal(first[axis].to_numpy(), second[axis].to_numpy()):
            raise DataError(
                f"{names[0]} and {names[1]} were evaluated on different {axis}s. "
                "Evaluate all runs on the same sites and dates."
            )
    observed = [[variable("observed", target) for target in targets(flows)] for flows in (first, second)]
    if observed[0] != observed[1] or not all(
        np.allclose(first[name], second[name], rtol=1e-6, equal_nan=True) for name in observed[0]
    ):
        raise DataError(
            f"{names[0]} and {names[1]} were scored against different observations. "
            "Evaluate all of them on the same data."
        )


def ensemble_mean(members: Iterable[xr.Dataset]) -> xr.Dataset:
    """The mean of all simulations and ledgers; `simulated_low` and `simulated_high` are the extreme members.

    The ledger is linear: where every member's ledger closes, the mean closes. Cells of different members
    have nothing in common, so several members must give their total storage (`simulate(cells=False)`).
    A single member is returned unchanged.

    >>> days = {"site": ["A"], "time": [0, 1]}
    >>> low, high = (xr.Dataset({"simulated": (("site", "time"), [[v, v]])}, days) for v in (1.0, 3.0))
    >>> {name: item.to_numpy().tolist() for name, item in ensemble_mean([low, high]).data_vars.items()}
    {'simulated': [[2.0, 2.0]], 'simulated_low': [[1.0, 1.0]], 'simulated_high': [[3.0, 3.0]]}
    """
    remaining = iter(members)
    first = next(remaining)
    flows = [str(name) for name in first.data_vars if str(name).startswith("simulated")]
    total = {name: first[name].to_numpy() for name in [*flows, *(key for key in LEDGER if key in first)]}
    low, high = ({name: total[name] for name in flows} for _ in range(2))
    count = 1
    for member in remaining:
        count += 1
        total = {name: value + member[name].to_numpy() for name, value in total.items()}
        low = {name: np.fmin(value, member[name].to_numpy()) for name, value in low.items()}
        high = {name: np.fmax(value, member[name].to_numpy()) for name, value in high.items()}
    if count == 1:
        return first
    means = {name: first[name].copy(data=value / count) for name, value in total.items()}
    result = first.assign(means).assign_attrs(members=count, simulated=f"mean of {count} members")
    for word, ends in (("low", low), ("high", high)):
        for name, value in ends.items():
            about = {**first[name].attrs, "long_name": f"{word}est of {count} members"}
            result[f"{name}_{word}"] = first[name].copy(data=value).assign_attrs(about)
    return result


def model_scores(name: str, members: Sequence[xr.Dataset], conserving: bool) -> list[ModelScores]:
    """Scores of the single model, one frame per member, and of `<name>-ensemble` for several members."""
    single = _scores(name, members, conserving)
    if len(members) == 1:
        return [single]
    ensemble = _scores(f"{name}-ensemble", [ensemble_mean(members)], conserving)
    return [single, replace(ensemble, members=len(members))]


def _scores(name: str, members: Sequence[xr.Dataset], conserving: bool) -> ModelScores:
    """The scores of each member by site, or by site and target; those of targets over all sites."""
    tables = [score_table(member, (*COMPARED, *ERRORS)) for member in members]
    if "target" not in tables[0]:
        return ModelScores(
            name, tuple(table[["site", *COMPARED]].set_index("site") for table in tables), conserving
        )
    frames = [target_scores(table).set_index(["site", "target"])[[*COMPARED]] for table in tables]
    medians = [table.groupby("target", sort=False)[["nse", *ERRORS]].median() for table in tables]
    return ModelScores(name, tuple(frames), conserving, by_target=sum(medians[1:], medians[0]) / len(medians))
