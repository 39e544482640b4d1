"""Where a training may begin instead of at random weights: at those of a run, or of a packed model."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from mclstm.data.scaling import Moment, moments_from_json
from mclstm.errors import CheckpointError, ConfigError
from mclstm.training.folder import RunFolder

__all__ = ["MODEL", "Start", "member_file", "read_start"]

MODEL = "model.json"  # the description of a packed model, in its folder


class Start(NamedTuple):
    """The checkpoint to begin with, and the scaling it was trained with."""

    weights: Path
    moments: dict[str, Moment]


def member_file(seed: int) -> str:
    """The file of a member's weights in a packed model.

    >>> member_file(7)
    'member-7.safetensors'
    """
    return f"member-{seed}.safetensors"


def read_start(path: Path, seed: int, columns: Iterable[str]) -> Start:
    """The start in the folder of a run, or in that of a packed model, whose member with this seed begins.

    columns: what the new model reads and predicts; all must have been scaled there
    """
    folder = RunFolder(path)
    scaling: object
    if folder.config.is_file():
        weights, file = folder.weights(), folder.moments
        scaling = folder.read_json(file)
    elif (path / MODEL).is_file():
        weights, file = path / member_file(seed), path / MODEL
        scaling = folder.read_json(file).get("scaling")
    else:
        raise ConfigError(f"training.start: {path} is neither a run nor a packed model. Give such a folder.")
    if not weights.is_file():
        seeds = sorted(int(one.stem.partition("-")[2]) for one in path.glob("member-*.safetensors"))
        raise ConfigError(
            f"training.start: {path} has no member with the seed {seed}. Set training.seed to one of "
            f"{', '.join(map(str, seeds)) or 'its members'}."
        )
    if not isinstance(scaling, dict):
        raise CheckpointError(f"{file} has no section 'scaling'. Copy the folder again.")
    return Start(weights, moments_from_json(scaling, str(file), columns))
