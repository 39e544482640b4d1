"""When configs describe the same model: members of an ensemble, and the fingerprint of a checkpoint."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mclstm.config.load import Config, load_config
from mclstm.config.model import ConservingConfig, ModelConfig
from mclstm.errors import CheckpointError, ConfigError

__all__ = [
    "FREE", "Run", "conserving", "difference", "find_runs", "fingerprinted", "require_seeds", "seeds_of",
    "shared_by_members",
]  # fmt: skip

# Keys in which members may differ, by section; everything else defines the model.
FREE = {
    "data": {"path", "attributes", "budget"},
    "model": {"backend", "losses"},
    "training": {"seed", "members", "threads", "device", "checkpoint_every"},
}
# Keys added in later versions, each with the value that changes nothing: runs, packed models and saved states
# of earlier versions keep their fingerprints.
LATER: dict[str, Any] = {
    "dropout": 0.0,
    "residence": None,
    "trash_budget": None,
    "learned_from": 1.0,
    "outlet": "gate",
    "head_gate": False,
    "balance_penalty": 0.0,
    "guided": {},
}


class Run(NamedTuple):
    """A run folder and its config."""

    path: Path
    config: Config


def find_runs(paths: Sequence[Path]) -> list[Run]:
    """The runs in these folders: a folder without a config.yaml stands for all runs directly below it."""
    runs = []
    for path in paths:
        candidates = [path] if (path / "config.yaml").is_file() else sorted(path.glob("*/"))
        folders = [folder for folder in candidates if (folder / "config.yaml").is_file()]
        if not path.exists():
            raise CheckpointError(f"{path}: there is no such folder. Give the folder of a run.")
        if not folders:
            raise CheckpointError(f"{path} is neither a run nor a folder of runs. Give the folder of a run.")
        runs += [Run(folder, load_config(folder / "config.yaml")) for folder in folders]
    return runs


def shared_by_members(config: Config) -> dict[str, Any]:
    """A config without the keys in which members may differ."""
    scored = {"metrics", "nonnegative", "against"}
    sections = config.model_dump(exclude={"name": True, "tune": True, "evaluation": scored})
    return {
        section: {key: value for key, value in values.items() if key not in FREE.get(section, set())}
        for section, values in sections.items()
    }


def difference(first: Config, second: Config) -> str:
    """The first key in which two configs differ."""
    a, b = shared_by_members(first), shared_by_members(second)
    keys = [(section, key) for section in a for key in {**a[section], **b[section]}]
    differ = (f"{section}.{key}" for section, key in keys if a[section].get(key) != b[section].get(key))
    return next(differ, "nothing")


def require_seeds(members: Sequence[Run]) -> None:
    """Refuse a seed that occurs twice: copies of one model are no ensemble."""
    seen: dict[int, Path] = {}
    for run in members:
        for seed in seeds_of(run.config):
            if seed in seen:
                both = f"{seen[seed]} and {run.path}"
                raise ConfigError(f"{both} are the same model with the same seed {seed}. Leave one out.")
            seen[seed] = run.path


def seeds_of(config: Config) -> range:
    """The seeds of a run's members, one after the other; a run of one model has one."""
    first = config.training.seed
    return range(first, first + (config.training.members or 1))


def conserving(config: Config) -> bool:
    """Whether the config describes a model whose predictions are mass that entered it."""
    model = config.model
    if not isinstance(model, ConservingConfig):
        return False
    return model.head in ("sum", "mcfc") and not model.not_conserving and not model.input_scaling


def fingerprinted(model: ModelConfig) -> dict[str, Any]:
    """The section `model` as it enters the fingerprint: without free keys, and without later keys unused.

    >>> from mclstm.config.model import LSTMConfig
    >>> fingerprinted(LSTMConfig(name="lstm"))
    {'name': 'lstm', 'hidden_size': 16, 'forget_bias': 3.0}
    >>> "dropout" in fingerprinted(LSTMConfig(name="lstm", dropout=0.4))
    True
    """
    keys = model.model_dump(exclude=FREE["model"])
    return {key: value for key, value in keys.items() if key not in LATER or value != LATER[key]}
