"""Finished runs of one model become a folder to give away: weights, model.json and the card README.md.

model.json describes the model completely, and says nothing about the machine that trained it.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mclstm.config import Config
from mclstm.config.same_model import FREE, conserving, fingerprinted
from mclstm.data.readers import UNITS
from mclstm.deploy.card import card
from mclstm.deploy.runs_to_pack import Member, read_members_to_pack
from mclstm.deploy.site_weights import save_site_weights
from mclstm.deploy.trained_model import FORMAT, MODEL, member_file
from mclstm.errors import StorageError
from mclstm.evaluation.comparison import COMPARED, ModelScores
from mclstm.evaluation.ensemble import model_scores, read_members
from mclstm.evaluation.ensemble_weights import site_weights_of_members
from mclstm.evaluation.score_tables import read_table
from mclstm.training import cost
from mclstm.training.atomic import new_folder, write_text_atomic
from mclstm.training.journal import without_nan
from mclstm.training.state import save_weights

__all__ = ["LARGEST", "Packed", "describe", "pack"]

CARD = "README.md"
LARGEST = 25_000_000  # bytes, so that a repository can carry the folder
# Keys of the config's section `data` that describe the model; the others describe files on one machine.
DATA_KEYS = ("mass", "aux", "static", "target", "day_of_year", "pet", "missing_mass", "missing_aux")
# Written only where set, so that older versions can read the other packs:
NEW_DATA_KEYS = ("antecedent", "time_of_day", "time_of_week", "weekend", "vapour_pressure")
NEW_TRAINING_KEYS = ("scored", "impute")  # likewise
Notes = Mapping[str, str]
WEIGHED = """At the {} sites of `weights.json` members count by weights that were fitted on the {} period; at
all other sites they count alike. The scores above are those of the plain mean."""
QUARTILES = {"low": 0.25, "median": 0.5, "high": 0.75}


class Packed(NamedTuple):
    """A packed model: its folder, the seeds of its members, and its size in bytes."""

    folder: Path
    seeds: list[int]
    size: int


def pack(
    paths: Sequence[Path], out: Path, largest: int = LARGEST, *, weights: str = "", notes: Notes | None = None
) -> Packed:
    """Pack runs that differ only in their seed; the folder `out` appears whole, or not at all.

    largest: the most bytes it may have · weights: a period, on which weights of members are fitted for each
    site · notes: further sections of the card, Markdown by title
    """
    members = read_members_to_pack(paths)
    shares = site_shares(members, weights) if weights else None
    weighed = {} if shares is None else {"Weights of members": WEIGHED.format(len(shares), weights)}
    sections = dict(notes or {}) | weighed
    about = describe(members) | ({"notes": sections} if sections else {})
    with new_folder(out) as folder:
        for member in members:
            path = folder / member_file(member.seed)
            save_weights(path, member.model, member.progress, member.run.model_hash)
        write_text_atomic(folder / MODEL, json.dumps(about, indent=1, allow_nan=False) + "\n")
        write_text_atomic(folder / CARD, card(about))
        if shares is not None:
            save_site_weights(folder, [Path(member_file(member.seed)).stem for member in members], shares)
        size = sum(file.stat().st_size for file in folder.iterdir())
        if size > largest:
            raise StorageError(
                f"{len(members)} members would take {size / 1e6:.1f} MB, more than the {largest / 1e6:g} MB "
                "a packed model may have. Pack fewer members, or a smaller model."
            )
    return Packed(out, [member.seed for member in members], size)


def site_shares(members: Sequence[Member], period: str) -> dict[str, list[float]]:
    """The weights of members by site, fitted on a period on which the runs were evaluated."""
    flows = read_members(list(dict.fromkeys(member.run.folder.path for member in members)), period, each=True)
    sites = [str(site) for site in flows[0]["site"].to_numpy()]
    return dict(zip(sites, site_weights_of_members(flows).round(6).tolist(), strict=True))


def describe(members: Sequence[Member], scored: bool = True) -> dict[str, Any]:
    """The content of model.json, from which the card is written; without `scored` no score of the test."""
    first = members[0].run
    software = first.folder.read_json(first.folder.environment)
    content: dict[str, Any] = {
        "format": FORMAT,
        "name": first.config.name,
        "config": _config(first.config),
        "data": _data(members[0]),
        "scaling": {name: list(moment) for name, moment in first.moments.items()},
        "members": [_member(member) for member in members],
        "software": {"python": software.get("python"), **software.get("packages", {})},
    }
    if scored:
        content |= {"test": _test(members), "conservation": _conservation(members)}
    return {key: without_nan(value) for key, value in content.items()}


def _member(member: Member) -> dict[str, Any]:
    """How far a member was trained, its score in validation, and what the training cost."""
    progress = member.progress
    about = {"seed": member.seed, "updates": progress.update, "validation": progress.best}
    return about | {"training": cost.total(member.run.folder.path)}


def _config(config: Config) -> dict[str, Any]:
    free = {section: keys for section, keys in FREE.items() if section != "data"}
    free["training"] = free["training"] | {"start"}  # a path of one machine
    raw = config.model_dump(exclude={**free, "evaluation": {"against"}})
    data = config.data.model_dump()
    new = {key: data[key] for key in NEW_DATA_KEYS if data[key]}
    training = {key: value for key, value in raw["training"].items() if value or key not in NEW_TRAINING_KEYS}
    return {
        **raw, "data": {key: data[key] for key in DATA_KEYS} | new, "model": fingerprinted(config.model),
        "training": training,
    }  # fmt: skip


def _data(member: Member) -> dict[str, Any]:
    """The manifest of the training data without its paths, with the units that the file format fixes."""
    about, reader = member.manifest, member.run.config.data.reader
    fixed = UNITS.get(reader.partition("/")[0], {})
    variables = {
        name: {
            "role": variable.get("role", ""),
            "units": variable["units"] or fixed.get(name, ""),
            **{key: variable.get(key) for key in ("min", "max", "missing")},
        }
        for name, variable in about["variables"].items()
        if variable.get("role") != "filled"
    }
    extent = {key: about.get(key) for key in ("sites", "steps", "first", "last", "step", "sha256")}
    return {**extent, "reader": reader, "source": _source(about), "variables": variables}


def _source(about: dict[str, Any]) -> str:
    """The first file of the data, relative to their folder: its name often tells the data product."""
    sources = [str(variable.get("source", "")) for variable in about["variables"].values()]
    file, folder = Path(sources[0].partition("; ")[0] if sources else ""), Path(str(about.get("path", "")))
    inside = file.is_relative_to(folder) and file != folder
    return str(file.relative_to(folder)) if inside else file.name


def _test(members: Sequence[Member]) -> dict[str, Any]:
    """Scores in the test period: the mean over members, and the ensemble."""
    runs = dict.fromkeys(member.run.folder.path for member in members)
    flows = read_members(list(runs), each=True)
    config = members[0].run.config
    models = model_scores(config.model.name, flows, conserving(config))
    scores = dict(zip(("single", "ensemble"), map(_quartiles, models), strict=False))
    return {"period": config.periods.pair("test"), "sites": int(flows[0].sizes["site"]), **scores}


def _quartiles(model: ModelScores) -> dict[str, dict[str, float]]:
    """Median and quartiles over sites of every score, each averaged over seeds."""
    scores = {}
    for metric in COMPARED:
        columns = [frame[metric].to_numpy(np.float64) for frame in model.frames]
        known = [column[np.isfinite(column)] for column in columns]
        if all(column.size for column in known):
            values = np.mean([np.quantile(column, list(QUARTILES.values())) for column in known], axis=0)
            scores[metric] = dict(zip(QUARTILES, map(float, values), strict=True))
    return scores


def _conservation(members: Sequence[Member]) -> dict[str, Any]:
    """The largest relative residual of each member's ledger over the sites of the test period."""
    folders = {str(member.seed): member.run.folder.evaluation("test") for member in members}
    tables = {seed: read_table(folder / "mass_balance.csv") for seed, folder in folders.items()}
    key = "relative error"  # models without stores have none
    residuals = {seed: float(table[key].max()) for seed, table in tables.items() if key in table}
    return {"conserving": conserving(members[0].run.config), "residual": residuals}
