"""What model.json says of a packed model: nothing of the machine that trained it, everything else."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mclstm.config import Config
from mclstm.config.members import FREE, conserving
from mclstm.data.readers import UNITS
from mclstm.deploy.layout import FORMAT
from mclstm.deploy.packed_members import Member
from mclstm.evaluation.comparison import COMPARED, Scored
from mclstm.evaluation.ensemble import read_flows, require_alike, scored
from mclstm.evaluation.score_tables import read_table
from mclstm.training.journal import without_nan

__all__ = ["described"]

# What a config says of the model; the rest of its section describes files on somebody's machine.
KEPT = ("mass", "aux", "static", "target", "day_of_year", "pet", "missing_mass", "missing_aux")
LATER = ("antecedent",)
OWN = {section: keys for section, keys in FREE.items() if section != "data"}
QUARTILES = {"low": 0.25, "median": 0.5, "high": 0.75}


def described(members: Sequence[Member]) -> dict[str, Any]:
    """The whole content of model.json, which JSON can hold and from which the card is written."""
    first = members[0].run
    software = first.folder.read_json(first.folder.environment)
    content = {
        "format": FORMAT,
        "name": first.config.name,
        "config": _config(first.config),
        "data": _data(members[0]),
        "scaling": {name: list(moment) for name, moment in first.moments.items()},
        "members": [
            {"seed": one.seed, "updates": one.progress.update, "validation": one.progress.best}
            for one in members
        ],
        "software": {"python": software.get("python"), **software.get("packages", {})},
        "test": _test(members),
        "conservation": _conservation(members),
    }
    plain: dict[str, Any] = without_nan(content)
    return plain


def _config(config: Config) -> dict[str, Any]:
    raw = config.model_dump()
    for section, keys in OWN.items():
        for key in keys:
            raw[section].pop(key, None)
    # A key that older versions do not know stands there only where it changes the model.
    later = {key: raw["data"][key] for key in LATER if raw["data"][key]}
    return {**raw, "data": {key: raw["data"][key] for key in KEPT} | later}


def _data(member: Member) -> dict[str, Any]:
    """The manifest of the training data without its paths; of formats that fix units, with those."""
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
    kept = {key: about.get(key) for key in ("sites", "steps", "first", "last", "step", "sha256")}
    return {**kept, "reader": reader, "source": _source(about), "variables": variables}


def _source(about: dict[str, Any]) -> str:
    """The first file of the data, as seen from their folder: the name of a product is often part of it."""
    sources = [str(variable.get("source", "")) for variable in about["variables"].values()]
    file, folder = Path(sources[0].partition("; ")[0] if sources else ""), Path(str(about.get("path", "")))
    inside = file.is_relative_to(folder) and file != folder
    return str(file.relative_to(folder)) if inside else file.name


def _test(members: Sequence[Member]) -> dict[str, Any]:
    """Scores in the test period: of the members as the mean over them, and of their ensemble."""
    folders = [member.run.folder for member in members]
    flows = [read_flows(folder.evaluation("test") / "predictions.nc") for folder in folders]
    for folder, other in zip(folders[1:], flows[1:], strict=True):
        require_alike(flows[0], other, (str(folders[0].path), str(folder.path)))
    config = members[0].run.config
    names = ("single", "ensemble")
    models = scored(config.model.name, flows, conserving(config))
    return {
        "period": config.periods.pair("test"),
        "sites": int(flows[0].sizes["site"]),
        **{name: _quartiles(model) for name, model in zip(names, models, strict=False)},
    }


def _quartiles(model: Scored) -> dict[str, dict[str, float]]:
    """Median and quartiles over sites of every score, each the mean over seeds."""
    found = {}
    for metric in COMPARED:
        columns = [frame[metric].to_numpy(np.float64) for frame in model.frames]
        known = [column[np.isfinite(column)] for column in columns]
        if all(column.size for column in known):
            values = np.mean([np.quantile(column, list(QUARTILES.values())) for column in known], axis=0)
            found[metric] = dict(zip(QUARTILES, map(float, values), strict=True))
    return found


def _conservation(members: Sequence[Member]) -> dict[str, Any]:
    """The certificate: each member's largest relative residual of the ledger over the sites of the test."""
    residuals = {str(member.seed): _residual(member) for member in members}
    return {
        "conserving": conserving(members[0].run.config),
        "residual": {seed: value for seed, value in residuals.items() if value is not None},
    }


def _residual(member: Member) -> float | None:
    """None of a model without stores."""
    balance = read_table(member.run.folder.evaluation("test") / "mass_balance.csv")
    return float(balance["relative error"].max()) if "relative error" in balance else None
