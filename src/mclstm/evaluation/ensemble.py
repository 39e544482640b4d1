"""The members of one model: read from their run folders, averaged, scored alone and as an ensemble."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from torch import nn

from mclstm.errors import DataError
from mclstm.evaluation.comparison import COMPARED, ERRORS, ModelScores
from mclstm.evaluation.outlets import targets, variable
from mclstm.evaluation.prediction_dataset import read_flows
from mclstm.evaluation.prediction_store import open_predictions
from mclstm.evaluation.score_tables import score_table, target_scores
from mclstm.models.members import Members

__all__ = [
    "BY_MEMBER",
    "ensemble_mean",
    "model_scores",
    "read_members",
    "require_alike",
    "simulate_all",
    "with_members",
    "without_cells",
]

Shares = NDArray[np.float64]  # weights of members, (site, members)
BY_MEMBER = "by_member"  # begins the names of what each member of a run simulated
LEDGER = ("entered", "outflow", "storage", "storage_before", "storage_left", "residual")


def read_members(runs: Sequence[Path], split: str = "test", *, each: bool = False) -> list[xr.Dataset]:
    """The flows of every run, (site, time); all must be of the same sites, dates and observations.

    A run that trained several members counts as one, their mean; `each` gives the flows of every member.
    """
    paths = [run / "evaluation" / split / "predictions.nc" for run in runs]
    members = [read_flows(path) for path in paths]
    for run, member in zip(runs[1:], members[1:], strict=True):
        require_alike(members[0], member, (str(runs[0]), str(run)))
    if not each:
        return members
    return [one for path, mean in zip(paths, members, strict=True) for one in _by_member(path, mean)]


def _by_member(path: Path, mean: xr.Dataset) -> list[xr.Dataset]:
    """The flows of the members whose mean was read from a path, or the mean where there is one model."""
    with open_predictions(path) as file:
        names = [str(name) for name in file.data_vars if str(name).startswith(BY_MEMBER)]
        flows = {name.replace(BY_MEMBER, "simulated", 1): file[name].to_numpy() for name in names}
    count = len(next(iter(flows.values()))) if flows else 0
    alone = [
        {name: mean[name].copy(data=values[at]) for name, values in flows.items()} for at in range(count)
    ]
    return [mean.assign(one) for one in alone] or [mean]


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


def ensemble_mean(members: Iterable[xr.Dataset], weights: Shares | None = None) -> xr.Dataset:
    """The mean of all simulations and ledgers; `simulated_low` and `simulated_high` are the extreme members.

    The ledger is linear: where every member's ledger closes, the mean closes. Cells of different members
    have nothing in common, so several members must give their total storage (`simulate(cells=False)`).
    A single member is returned unchanged.
    weights: convex, (site, members), for a weighted mean; None weighs all members alike

    >>> days = {"site": ["A"], "time": [0, 1]}
    >>> low, high = (xr.Dataset({"simulated": (("site", "time"), [[v, v]])}, days) for v in (1.0, 3.0))
    >>> {name: item.to_numpy().tolist() for name, item in ensemble_mean([low, high]).data_vars.items()}
    {'simulated': [[2.0, 2.0]], 'simulated_low': [[1.0, 1.0]], 'simulated_high': [[3.0, 3.0]]}
    """
    remaining = iter(members)
    first = next(remaining)
    flows = [str(name) for name in first.data_vars if str(name).startswith("simulated")]
    means = [*flows, *(key for key in LEDGER if key in first)]
    total = {name: _share(first, name, weights, 0) for name in means}
    low, high = ({name: first[name].to_numpy() for name in flows} for _ in range(2))
    count = 1
    for member in remaining:
        total = {name: value + _share(member, name, weights, count) for name, value in total.items()}
        count += 1
        low = {name: np.fmin(value, member[name].to_numpy()) for name, value in low.items()}
        high = {name: np.fmax(value, member[name].to_numpy()) for name, value in high.items()}
    if count == 1:
        return first
    parts = count if weights is None else 1
    of_all = {name: first[name].copy(data=value / parts) for name, value in total.items()}
    word = "mean" if weights is None else "weighted mean"
    result = first.assign(of_all).assign_attrs(members=count, simulated=f"{word} of {count} members")
    for word, ends in (("low", low), ("high", high)):
        for name, value in ends.items():
            about = {**first[name].attrs, "long_name": f"{word}est of {count} members"}
            result[f"{name}_{word}"] = first[name].copy(data=value).assign_attrs(about)
    return result


def without_cells(predictions: xr.Dataset) -> xr.Dataset:
    """The predictions with one store, the total: the cells of different members have nothing in common."""
    if "storage" not in predictions:
        return predictions
    total = predictions["storage"].sum("cell", skipna=False, keep_attrs=True)
    total = total.expand_dims(cell=[0], axis=-1).assign_attrs(trash_cell=-1)
    return predictions.drop_dims("cell").assign(storage=total)


def _share(member: xr.Dataset, name: str, weights: Shares | None, at: int) -> NDArray[np.float64]:
    """What a member adds to the sum over members, with its own weight at each site if there are any."""
    values: NDArray[np.float64] = member[name].to_numpy()
    if weights is None:
        return values
    return values * weights[:, at].reshape(-1, *[1] * (values.ndim - 1))


def simulate_all(
    model: nn.Module, simulate: Callable[[nn.Module, bool], xr.Dataset], seeds: Sequence[int]
) -> xr.Dataset:
    """The simulation of a model, or the mean of those of `Members` with each of them beside it.

    simulate: from a single model, and whether to keep its cells, to its simulation. The cells of different
    members have nothing in common: their storage is one number, the total.
    """
    if not isinstance(model, Members):
        return simulate(model, True)
    members = [simulate(one, False) for one in model.alone()]
    return with_members(ensemble_mean(members), members, seeds)


def with_members(mean: xr.Dataset, members: Sequence[xr.Dataset], seeds: Sequence[int]) -> xr.Dataset:
    """The mean with every member's simulation as `by_member` (member, site, time) instead of the extremes.

    >>> days = {"site": ["A"], "time": [0]}
    >>> members = [xr.Dataset({"simulated": (("site", "time"), [[v]])}, days) for v in (1.0, 3.0)]
    >>> with_members(ensemble_mean(members), members, [7, 8])["by_member"].sel(member=8).item()
    3.0
    """
    flows = [str(name) for name in members[0].data_vars if str(name).startswith("simulated")]
    result = mean.drop_vars([f"{name}_{word}" for name in flows for word in ("low", "high")])
    for name in flows:
        values = np.stack([member[name].to_numpy() for member in members])
        about = {**members[0][name].attrs, "long_name": "simulated by each member, by its seed"}
        result[name.replace("simulated", BY_MEMBER, 1)] = (("member", *mean[name].dims), values, about)
    return result.assign_coords(member=list(seeds))


def model_scores(
    name: str, members: Sequence[xr.Dataset], conserving: bool, weights: Shares | None = None
) -> list[ModelScores]:
    """Scores of the single model, one frame per member, and of `<name>-ensemble` for several members.

    weights: (site, members); `<name>-weighted-ensemble` then stands beside the plain mean
    """
    single = _scores(name, members, conserving)
    if len(members) == 1:
        return [single]
    ensemble = _scores(f"{name}-ensemble", [ensemble_mean(members)], conserving)
    if weights is None:
        return [single, replace(ensemble, members=len(members))]
    weighted = _scores(f"{name}-weighted-ensemble", [ensemble_mean(members, weights)], conserving)
    return [single, *(replace(one, members=len(members)) for one in (ensemble, weighted))]


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
