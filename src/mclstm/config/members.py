"""Which runs are members of one model, by their configs: those that differ in their seed only."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mclstm.config.load import load_config
from mclstm.config.run import Config
from mclstm.errors import CheckpointError, ConfigError

__all__ = ["FREE", "Run", "conserving", "difference", "essence", "found", "require_seeds"]

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
