"""The members of every model, read, scored and balanced: what a report compares."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
import xarray as xr

from mclstm.config.members import Run, conserving
from mclstm.evaluation.comparison import Scored
from mclstm.evaluation.ensemble import averaged, read_flows, require_alike, scored
from mclstm.evaluation.score_tables import read_table
from mclstm.explain.balance import mean_balance, water_balance

__all__ = ["Group", "balances", "closed", "groups_of"]

CLOSED = 1e-5  # of a site's mass over the whole period: what counts as conserved in float32


class Group(NamedTuple):
    """The members of one model: their scores, what they simulated on average, and where their mass went."""

    name: str
    runs: list[Run]
    scores: list[Scored]
    flows: xr.Dataset  # of the ensemble, or of the only member
    balance: pd.DataFrame


def groups_of(alike: Mapping[str, list[Run]], mixed: Mapping[str, list[Run]], split: str) -> list[Group]:
    """Every model and then every mixture of models, all of the same sites and days.

    The first is what the claims are about: a model that conserves, the one with most members.
    """
    groups = [group(name, members, split) for name, members in alike.items()]
    groups.sort(key=lambda item: (not item.scores[0].conserving, -len(item.runs)))
    for name, members in mixed.items():
        whole = group(name, members, split)
        groups.append(whole._replace(scores=whole.scores[-1:]))  # several models have no single one
    for other in groups[1:]:
        require_alike(groups[0].flows, other.flows, (groups[0].name, other.name))
    return groups


def group(name: str, runs: list[Run], split: str) -> Group:
    """Read, score, average and balance the members of one model."""
    members = [read_flows(run.path / "evaluation" / split / "predictions.nc") for run in runs]
    for run, member in zip(runs, members, strict=True):
        require_alike(members[0], member, (str(runs[0].path), str(run.path)))
    books = [read_table(run.path / "evaluation" / split / "mass_balance.csv") for run in runs]
    parts = [water_balance(table, member) for table, member in zip(books, members, strict=True)]
    scores = scored(name, members, all(conserving(run.config) for run in runs))
    return Group(name, runs, scores, averaged(members), mean_balance(parts))


def balances(groups: Sequence[Group]) -> pd.DataFrame:
    """The water balance of all models, one row a model and site, amounts a year."""
    return pd.concat([item.balance.reset_index().assign(model=item.name) for item in groups])


def closed(item: Group) -> list[dict[str, Any]]:
    """Whether mass closes in every site of every member; a model without stores makes no such claim."""
    if "relative error" not in item.balance:
        return []
    worst = float(item.balance["relative error"].max())
    about = f"largest relative error of {len(item.balance)} sites and {len(item.runs)} members: {worst:.1e}"
    claim = f"{item.name} closes the mass balance of every site to {CLOSED:g}"
    return [{"claim": claim, "test": about, "p": None, "holds": worst < CLOSED}]
