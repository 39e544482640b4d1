"""Which runs are members of one model: those that differ in their seed and in nothing that matters."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mclstm.config import Config, load_config
from mclstm.config.values import NAME
from mclstm.errors import CheckpointError, ConfigError
from mclstm.report.hydrology.paper import LABELS

__all__ = ["Run", "conserving", "evaluated", "found", "grouped", "joined"]

PREFIX = "hydrology-"  # of the names of the experiment's runs; a table about hydrology need not say it
# What may differ between members, by section; everything else defines the model.
FREE = {
    "data": {"path", "attributes"},
    "model": {"backend"},
    "training": {"seed", "threads", "checkpoint_every"},
}


class Run(NamedTuple):
    """A run folder and its config."""

    path: Path
    config: Config


def found(paths: Sequence[Path]) -> list[Run]:
    """The runs in these folders: a folder without a config.yaml stands for all runs directly below it."""
    runs = []
    for path in paths:
        own = [path] if (path / "config.yaml").is_file() else sorted(path.glob("*/"))
        here = [folder for folder in own if (folder / "config.yaml").is_file()]
        if not here:
            raise CheckpointError(f"{path} is neither a run nor a folder of runs. Give the folder of a run.")
        runs += [Run(folder, load_config(folder / "config.yaml")) for folder in here]
    return runs


def evaluated(runs: Sequence[Run], split: str) -> tuple[list[Run], list[str]]:
    """The runs that were scored on a period, and a sentence on each that was not: it may be in training."""
    there = {run.path: (run.path / "evaluation" / split / "predictions.nc").is_file() for run in runs}
    if not any(there.values()):
        raise CheckpointError(
            f"{runs[0].path} has not been evaluated on {split}. "
            f"When its training is finished: mclstm evaluate {runs[0].path} --split {split}"
        )
    absent = [
        f"{path} has not been evaluated on {split}: left out."
        for path, is_there in there.items()
        if not is_there
    ]
    return [run for run in runs if there[run.path]], absent


def grouped(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Members by the name of their model; those of the experiments, or of two that share it, by their own."""
    kinds: dict[str, list[Run]] = {}
    for run in runs:
        kinds.setdefault(json.dumps(essence(run.config), sort_keys=True), []).append(run)
    groups: dict[str, list[Run]] = {}
    for members in kinds.values():
        require_seeds(members)
        config = members[0].config
        alone = [group[0].config.model.name for group in kinds.values()].count(config.model.name) == 1
        named = config.name.startswith((PREFIX, f"{config.model.name}-"))
        name = config.model.name if alone and not named else config.name.removeprefix(PREFIX)
        if name in groups:
            raise ConfigError(
                f"{groups[name][0].path} and {members[0].path} are both called {name!r} but differ in "
                f"{difference(groups[name][0].config, config)}. Give them other names in their configs."
            )
        groups[name] = members
    return groups


def joined(groups: Mapping[str, list[Run]], together: Sequence[str]) -> dict[str, list[Run]]:
    """The members of several models as one ensemble, by what was asked: "name=model,model"."""
    made = {}
    for asked in together:
        name, _, listed = asked.partition("=")
        parts = list(dict.fromkeys(listed.split(",")))
        unknown = [part for part in parts if part not in groups]
        taken = name in groups or name in made or name in LABELS or name.endswith("-ensemble")
        if not re.fullmatch(NAME, name) or taken or unknown or len(parts) < 2:
            raise ConfigError(
                f"--together {asked} does not join two models under a new name. Write name=model,model "
                f"with some of {', '.join(groups)}."
            )
        made[name] = [run for part in parts for run in groups[part]]
    return made


def essence(config: Config) -> dict[str, Any]:
    """A config without what members may differ in."""
    kept = config.model_dump(exclude={"name": True, "evaluation": {"metrics", "nonnegative"}})
    return {
        section: {key: value for key, value in values.items() if key not in FREE.get(section, set())}
        for section, values in kept.items()
    }


def difference(first: Config, second: Config) -> str:
    """The first key in which two configs differ."""
    a, b = essence(first), essence(second)
    keys = [(section, key) for section in a for key in {**a[section], **b[section]}]
    return next(
        (f"{section}.{key}" for section, key in keys if a[section].get(key) != b[section].get(key)), "nothing"
    )


def require_seeds(members: Sequence[Run]) -> None:
    """Refuse one seed twice: an ensemble of copies is no ensemble."""
    seen: dict[int, Path] = {}
    for run in members:
        seed = run.config.training.seed
        if seed in seen:
            raise ConfigError(
                f"{seen[seed]} and {run.path} are the same model with the same seed {seed}. Leave one out."
            )
        seen[seed] = run.path


def conserving(config: Config) -> bool:
    """Whether what the model predicts is mass it was given, by its config alone."""
    model = config.model
    if model.name != "mclstm":
        return False
    return model.head in ("sum", "mcfc") and not model.not_conserving and not model.input_scaling
