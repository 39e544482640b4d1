"""A model that can predict, opened from its folder: a packed model with several members, or a run with one.

A packed model is a folder with model.json, the card README.md, and one file of weights per member.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import torch
from torch import nn

from mclstm.config import Config
from mclstm.config.load import checked, unshared
from mclstm.config.same_model import seeds_of
from mclstm.data.manifest import ranges_in, step_in, units_in
from mclstm.data.scaling import Moment, moments_from_json
from mclstm.errors import CheckpointError, ConfigError
from mclstm.from_config import build, open_run
from mclstm.models.members import Members
from mclstm.series_from_config import inputs
from mclstm.training.folder import RunFolder
from mclstm.training.start import MODEL, member_file
from mclstm.training.state import load_weights

__all__ = [
    "FORMAT", "MODEL", "TrainedModel", "by_seed", "in_dtype", "member_file", "model_folders", "only_member",
    "open_model", "require_one_ensemble", "seed_of",
]  # fmt: skip

FORMAT = 1
MOST_MEMBERS = 1000
DAMAGED = "Copy the folder again, or pack the runs again with mclstm pack."


@dataclass(frozen=True)
class TrainedModel:
    """A model with its weights and what it demands of data."""

    config: Config
    moments: dict[str, Moment]
    members: dict[str, nn.Module]  # by the name of its file; the single member of a run is named ""
    model_hash: str
    step: str  # of the training data; empty where an old run does not state it
    units: dict[str, str]  # of every column the model was trained on
    # lowest and highest value of every column in training; empty where an old run does not state them
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)


def seed_of(member: str, model: TrainedModel) -> int:
    """The seed of a member by its name; the single member of a run has that of the run."""
    return int(member.removeprefix("member-")) if member else model.config.training.seed


def by_seed(model: TrainedModel) -> dict[int, nn.Module]:
    return {seed_of(name, model): member for name, member in model.members.items()}


def only_member(model: TrainedModel, seed: int, path: Path) -> TrainedModel:
    """The model with one of its members alone; path: where it was opened, for the message."""
    seeds = {seed_of(name, model): name for name in model.members}
    if seed not in seeds:
        known = ", ".join(map(str, seeds))
        raise ConfigError(f"--member {seed}: the members of {path} have the seeds {known}. Choose one.")
    return replace(model, members={seeds[seed]: model.members[seeds[seed]]})


def in_dtype(model: TrainedModel, dtype: torch.dtype) -> TrainedModel:
    """The model with weights of this dtype; its own stay as they are."""
    members = model.members.items()
    if all(value.dtype == dtype for _, member in members for value in member.parameters()):
        return model
    return replace(model, members={name: copy.deepcopy(member).to(dtype) for name, member in members})


def model_folders(path: Path) -> list[Path]:
    """The folders of the packed models in a folder of several, which form one ensemble; else the path."""
    if (path / MODEL).is_file() or RunFolder(path).config.is_file():
        return [path]
    return sorted(file.parent for file in path.glob(f"*/{MODEL}")) or [path]


def require_one_ensemble(models: Mapping[Path, TrainedModel]) -> None:
    """Refuse to average models that predict different things, or a model with itself."""
    for (first, one), (second, two) in combinations(models.items(), 2):
        if _predicts(one) != _predicts(two):
            raise ConfigError(
                f"{first} and {second} do not predict the same targets in the same units and steps from the "
                "same kind of stores. Predict with each alone."
            )
        for name, member in two.members.items():
            if name in one.members and _same(member, one.members[name]):
                raise ConfigError(f"{second} holds {name} of {first} again. Remove one.")


def _same(one: nn.Module, other: nn.Module) -> bool:
    """Whether two models have the same weights."""
    first, second = one.state_dict(), other.state_dict()
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def _predicts(trained: TrainedModel) -> tuple[Any, ...]:
    """What models must have in common so that their simulations and ledgers can be averaged."""
    model, data = trained.config.model, trained.config.data
    about = {"head", "head_gate", "trash_cell", "evapotranspiration", "input_scaling"}  # an LSTM has none
    outlets = model.model_dump(include=about)
    return tuple(data.target), [trained.units.get(name) for name in data.target], trained.step, outlets


def open_model(path: Path) -> TrainedModel:
    """The model in a folder; the data it was trained on is not needed."""
    return _open_pack(path) if (path / MODEL).is_file() else _open_run(path)


def _open_run(path: Path) -> TrainedModel:
    run = open_run(path)
    load_weights(run.folder.weights(), run.model, run.model_hash)
    about, where = run.folder.read_json(run.folder.manifest), str(run.folder.manifest)
    step, units = step_in(about, where), units_in(about, where)
    members = {"": run.model}
    if isinstance(run.model, Members):
        names = [Path(member_file(seed)).stem for seed in seeds_of(run.config)]
        members = dict(zip(names, run.model.alone(), strict=True))
    return TrainedModel(run.config, run.moments, members, run.model_hash, step, units, ranges_in(about))


def _open_pack(path: Path) -> TrainedModel:
    where = str(path / MODEL)
    about = RunFolder(path).read_json(path / MODEL)
    if about.get("format") != FORMAT:
        raise CheckpointError(
            f"{where} has format {str(about.get('format'))[:20]!r}, this version reads {FORMAT}. "
            "Use the version of mclstm that wrote it, or a newer one."
        )
    raw, data, scaling = (_section(about, key, where) for key in ("config", "data", "scaling"))
    # A packed config names no data; a path is needed for the check alone.
    raw["data"] = _section(raw, "data", where) | {"path": str(path)}
    config = checked(Config, unshared(raw), {(): where})
    columns = [name for names in inputs(config).values() for name in names]
    moments, units = moments_from_json(scaling, where, columns), units_in(data, where)
    absent = [name for name in columns if name not in units]
    if absent:
        raise CheckpointError(f"{where} does not describe the column {absent[0]!r}. {DAMAGED}")
    members: dict[str, nn.Module] = {}
    fingerprint = ""
    for seed in _seeds(about, where):
        file = path / member_file(seed)
        model, fingerprint = build(config, moments)
        load_weights(file, model, fingerprint)
        members[file.stem] = model
    _require_members(path, members)
    step = step_in(data, where)
    return TrainedModel(config, moments, members, fingerprint, step, units, ranges_in(data))


def _require_members(path: Path, members: Mapping[str, nn.Module]) -> None:
    """Refuse files of members that model.json does not list, and one model under two names."""
    files = {file.stem for file in path.glob("member-*.safetensors")}
    strangers = sorted(files - members.keys())
    if strangers:
        raise CheckpointError(
            f"{path / MODEL} does not list {strangers[0]}, which is in its folder. {DAMAGED}"
        )
    for first, second in combinations(members, 2):
        if _same(members[first], members[second]):
            raise CheckpointError(f"{path}: {second} has the weights of {first}. {DAMAGED}")


def _section(about: dict[str, Any], key: str, where: str) -> dict[str, Any]:
    section = about.get(key)
    if not isinstance(section, dict):
        raise CheckpointError(f"{where} has no section {key!r}. {DAMAGED}")
    return section


def _seeds(about: dict[str, Any], where: str) -> list[int]:
    """The seeds of the members, which name their files: no path is taken from model.json."""
    members = about.get("members")
    entries = members if isinstance(members, list) else []
    seeds = [entry.get("seed") if isinstance(entry, dict) else None for entry in entries[: MOST_MEMBERS + 1]]
    numbers = [seed for seed in seeds if type(seed) is int and seed >= 0]
    if not numbers or numbers != seeds or len(set(numbers)) != len(numbers) or len(numbers) > MOST_MEMBERS:
        raise CheckpointError(f"{where} does not list its members by their seeds. {DAMAGED}")
    return numbers
