"""Evaluated runs as members of models, by name, and members of several models as one ensemble."""

import json
import re
from collections.abc import Mapping, Sequence

from mclstm.config.members import Run, difference, essence, require_seeds
from mclstm.config.values import NAME
from mclstm.errors import CheckpointError, ConfigError
from mclstm.report.comparison.paper import LABELS

__all__ = ["PREFIX", "evaluated", "grouped", "joined"]

PREFIX = "hydrology-"  # of the names of the experiment's runs; a table about hydrology need not say it


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
