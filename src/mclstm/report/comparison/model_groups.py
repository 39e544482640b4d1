"""Evaluated runs as members of models: found, grouped by name, read, scored and balanced."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from mclstm.config.field_types import NAME
from mclstm.config.same_model import Run, conserving, difference, require_seeds, shared_by_members
from mclstm.errors import CheckpointError, ConfigError, DataError
from mclstm.evaluation.comparison import ModelScores
from mclstm.evaluation.ensemble import ensemble_mean, model_scores, read_members, require_alike
from mclstm.evaluation.ensemble_weights import site_weights_of_members
from mclstm.evaluation.outlets import targets, variable
from mclstm.evaluation.prediction_store import has_predictions
from mclstm.evaluation.rival_scores import read_rivals
from mclstm.evaluation.score_tables import read_table
from mclstm.explain.water_balance import mean_balance, water_balance
from mclstm.report.comparison.score_section import KINDS, OTHER_MODELS

__all__ = ["Group", "evaluated", "grouped", "groups_of", "joined", "zero_shares"]


class Group(NamedTuple):
    """The members of one model: their scores, their mean simulation, and where their mass went."""

    name: str
    runs: list[Run]
    scores: list[ModelScores]
    flows: xr.Dataset  # of the ensemble, or of the only member
    balance: pd.DataFrame
    rivals: list[ModelScores]  # simple models beside the first member
    zeros: pd.DataFrame  # the share of steps without simulated flow, by site and member


def evaluated(runs: Sequence[Run], split: str) -> tuple[list[Run], list[str]]:
    """The runs that were scored on a period, and a sentence on each other run: it may be in training."""
    there = {run.path: has_predictions(run.path / "evaluation" / split / "predictions.nc") for run in runs}
    if not any(there.values()):
        raise CheckpointError(
            f"{runs[0].path} has not been evaluated on {split}. "
            f"When its training is finished: mclstm evaluate {runs[0].path} --split {split}"
        )
    absent = [path for path, is_there in there.items() if not is_there]
    notes = [f"{path} has not been evaluated on {split}: left out." for path in absent]
    return [run for run in runs if there[run.path]], notes


def grouped(runs: Sequence[Run], prefix: str = "") -> dict[str, list[Run]]:
    """Members by the name of their model: `mclstm`, `lstm`, or the name of the runs where that says more.

    The name of the runs counts if two models would share a name, or if it begins with the model's name and a
    dash, or with `prefix`, which is left out.
    """
    kinds: dict[str, list[Run]] = {}
    for run in runs:
        kinds.setdefault(json.dumps(shared_by_members(run.config), sort_keys=True), []).append(run)
    shared = [members[0].config.model.name for members in kinds.values()]
    groups: dict[str, list[Run]] = {}
    for members in kinds.values():
        require_seeds(members)
        config = members[0].config
        kind = config.model.name
        special = config.name.startswith(f"{kind}-") or (prefix and config.name.startswith(prefix))
        name = config.name.removeprefix(prefix) if special or shared.count(kind) > 1 else kind
        if name in groups:
            raise ConfigError(
                f"{groups[name][0].path} and {members[0].path} are both called {name!r} but differ in "
                f"{difference(groups[name][0].config, config)}. Give them other names in their configs."
            )
        groups[name] = members
    return groups


def joined(groups: Mapping[str, list[Run]], together: Sequence[str]) -> dict[str, list[Run]]:
    """The members of several models as one ensemble, for each option "name=model,model"."""
    mixtures: dict[str, list[Run]] = {}
    for option in together:
        name, _, listed = option.partition("=")
        parts = list(dict.fromkeys(listed.split(",")))
        unknown = [part for part in parts if part not in groups]
        taken = name in {*groups, *mixtures, *OTHER_MODELS, *KINDS} or name.endswith("-ensemble")
        if not re.fullmatch(NAME, name) or taken or unknown or len(parts) < 2:
            raise ConfigError(
                f"--together {option} does not join two models under a new name. Write name=model,model "
                f"with some of {', '.join(groups)}."
            )
        mixtures[name] = [run for part in parts for run in groups[part]]
    return mixtures


def groups_of(
    models: Mapping[str, list[Run]], mixtures: Mapping[str, list[Run]], split: str, weighed_on: str = ""
) -> list[Group]:
    """Every model and then every mixture of models, all of the same sites and days.

    The first is the subject of the comparison: a model that conserves mass, with the most members.
    weighed_on: the period on which weights of members are fitted; without it all count alike
    """
    groups = [group(name, members, split, weighed_on) for name, members in models.items()]
    groups.sort(key=lambda item: (not item.scores[0].conserving, -len(item.runs)))
    for name, members in mixtures.items():
        whole = group(name, members, split, weighed_on)
        groups.append(whole._replace(scores=whole.scores[1:]))  # several models have no single one
    for other in groups[1:]:
        require_alike(groups[0].flows, other.flows, (groups[0].name, other.name))
    return groups


def group(name: str, runs: list[Run], split: str, weighed_on: str = "") -> Group:
    """Read, score, average and balance the members of one model."""
    paths = [run.path for run in runs]
    members = read_members(paths, split)
    weights = weights_from(paths, weighed_on, members[0]) if weighed_on and len(runs) > 1 else None
    books = [read_table(run.path / "evaluation" / split / "mass_balance.csv") for run in runs]
    balances = [water_balance(table, member) for table, member in zip(books, members, strict=True)]
    scores = model_scores(name, members, all(conserving(run.config) for run in runs), weights)
    beside = read_rivals(runs[0].path / "evaluation" / split / "rivals.nc", members[0])
    rivals = [model for rival, flows in beside.items() for model in model_scores(rival, [flows], False)]
    mean, balance = ensemble_mean(members), mean_balance(balances)
    return Group(name, runs, scores, mean, balance, rivals, zero_shares(members))


def weights_from(runs: Sequence[Path], period: str, flows: xr.Dataset) -> NDArray[np.float64]:
    """The weights of members at each site of `flows`, fitted on another period: (site, members)."""
    if len(targets(flows)) > 1:
        raise ConfigError("--weights knows one target, and the runs have several. Leave it out.")
    members = read_members(runs, period)
    if not np.array_equal(members[0]["site"].to_numpy(), flows["site"].to_numpy()):
        raise DataError(f"{runs[0]} has other sites in the period {period}. Evaluate it on {period} again.")
    return site_weights_of_members(members)


def zero_shares(members: Sequence[xr.Dataset]) -> pd.DataFrame:
    """By site and member, the share of simulated steps at or below zero; of the first target."""
    name = variable("simulated", targets(members[0])[0])
    flows = [member[name].to_numpy() for member in members]
    shares = [(flow <= 0).sum(1) / np.isfinite(flow).sum(1).clip(min=1) for flow in flows]
    return pd.DataFrame(np.stack(shares, axis=1), index=[str(site) for site in members[0]["site"].to_numpy()])
