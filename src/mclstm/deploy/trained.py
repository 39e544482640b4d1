"""What can predict: a run, or a packed model with several members; a run is an ensemble of one."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from mclstm.config import Config
from mclstm.config.load import checked, unshared
from mclstm.data.manifest import step_in, units_in
from mclstm.data.scaling import Moment, moments_from_json
from mclstm.deploy.layout import FORMAT, MODEL, member_file
from mclstm.errors import CheckpointError, ConfigError
from mclstm.from_config import build, inputs, open_run
from mclstm.training.folder import RunFolder
from mclstm.training.state import load_weights

__all__ = ["Trained", "opened", "packs_in", "require_one_ensemble"]

MOST_MEMBERS = 1000
DAMAGED = "Copy the folder again, or pack the runs again with mclstm pack."


@dataclass(frozen=True)
class Trained:
    """A model with its weights and all that is known of the data it was made for."""

    config: Config
    moments: dict[str, Moment]
    members: dict[str, nn.Module]  # by name; the only member of a run has none
    model_hash: str
    step: str  # of the training data; empty where an old run does not say
    units: dict[str, str]  # of every column the model was trained on


def packs_in(path: Path) -> list[Path]:
    """The packed models in a folder that holds several, such as two kinds of one ensemble; else the path."""
    if (path / MODEL).is_file() or RunFolder(path).config.is_file():
        return [path]
    return sorted(file.parent for file in path.glob(f"*/{MODEL}")) or [path]


def require_one_ensemble(kinds: Mapping[Path, Trained]) -> None:
    """Refuse to average models that predict other things, or one model with itself."""
    (first, one), *rest = kinds.items()
    seen = {name: [(first, model)] for name, model in one.members.items()}
    for folder, other in rest:
        if _predicts(one) != _predicts(other):
            raise ConfigError(
                f"{first} and {folder} do not predict the same targets in the same units and steps from the "
                "same kind of stores. Predict with each alone."
            )
        for name, model in other.members.items():
            for where, known in seen.setdefault(name, []):
                if _same(model, known):
                    raise ConfigError(f"{folder} holds {name} of {where} again. Remove one.")
            seen[name].append((folder, model))


def _same(one: nn.Module, other: nn.Module) -> bool:
    """Whether two models have the same weights; of others the names or shapes differ."""
    first, second = one.state_dict(), other.state_dict()
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def _predicts(trained: Trained) -> tuple[Any, ...]:
    """What must be the same in models whose simulations and ledgers are averaged."""
    model, data = trained.config.model, trained.config.data
    outlets = model.model_dump(include={"name", "head", "trash_cell", "evapotranspiration", "input_scaling"})
    return tuple(data.target), [trained.units.get(name) for name in data.target], trained.step, outlets


def opened(path: Path) -> Trained:
    """The model in a folder, which may be far from the data it was trained on."""
    return _packed(path) if (path / MODEL).is_file() else _of_run(path)


def _of_run(path: Path) -> Trained:
    run = open_run(path)
    load_weights(run.folder.weights(), run.model, run.model_hash)
    about, where = run.folder.read_json(run.folder.manifest), str(run.folder.manifest)
    return Trained(
        run.config,
        run.moments,
        {"": run.model},
        run.model_hash,
        step_in(about, where),
        units_in(about, where),
    )


def _packed(path: Path) -> Trained:
    where = str(path / MODEL)
    about = RunFolder(path).read_json(path / MODEL)
    if about.get("format") != FORMAT:
        raise CheckpointError(
            f"{where} has format {str(about.get('format'))[:20]!r}, this version reads {FORMAT}. "
            "Use the version of mclstm that wrote it, or a newer one."
        )
    config, data, scaling = (_section(about, key, where) for key in ("config", "data", "scaling"))
    # Whoever predicts names the data; the packed config knows of none.
    own = _section(config, "data", where) | {"path": str(path)}
    checked_config = checked(Config, unshared({**config, "data": own}), {(): where})
    needed = [name for columns in inputs(checked_config).values() for name in columns]
    found, units = moments_from_json(scaling, where, needed), units_in(data, where)
    absent = [name for name in needed if name not in units]
    if absent:
        raise CheckpointError(f"{where} does not describe the column {absent[0]!r}. {DAMAGED}")
    members: dict[str, nn.Module] = {}
    fingerprint = ""
    for seed in _seeds(about, where):
        file = path / member_file(seed)
        model, fingerprint = build(checked_config, found)
        load_weights(file, model, fingerprint)
        members[file.stem] = model
    return Trained(checked_config, found, members, fingerprint, step_in(data, where), units)


def _section(about: dict[str, Any], key: str, where: str) -> dict[str, Any]:
    section = about.get(key)
    if not isinstance(section, dict):
        raise CheckpointError(f"{where} has no section {key!r}. {DAMAGED}")
    return section


def _seeds(about: dict[str, Any], where: str) -> list[int]:
    """The members by their seeds, from which their files are named: no path is ever taken from the file."""
    members = about.get("members")
    entries = members if isinstance(members, list) else []
    seeds = [entry.get("seed") if isinstance(entry, dict) else None for entry in entries[: MOST_MEMBERS + 1]]
    numbers = [seed for seed in seeds if type(seed) is int and seed >= 0]
    if not numbers or numbers != seeds or len(set(numbers)) != len(numbers) or len(numbers) > MOST_MEMBERS:
        raise CheckpointError(f"{where} does not list its members by their seeds. {DAMAGED}")
    return numbers
