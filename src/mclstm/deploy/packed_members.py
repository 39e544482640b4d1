"""Which runs may be packed together: finished members of one model, trained on one set of data."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from torch import nn

from mclstm.config.members import Run, difference, essence, found, require_seeds
from mclstm.data.manifest import step_in, units_in
from mclstm.errors import CheckpointError, ConfigError, DataError
from mclstm.from_config import Opened, open_run
from mclstm.training.state import Progress, load_weights, read_progress

__all__ = ["Member", "members_of"]


class Member(NamedTuple):
    """A finished run with its weights in the model, and what its folder says of its data."""

    run: Opened
    manifest: dict[str, Any]
    progress: Progress  # of the weights that are used, the best by validation

    @property
    def seed(self) -> int:
        """The seed, which names the member."""
        return int(self.run.config.training.seed)

    @property
    def model(self) -> nn.Module:
        """The model with its weights."""
        return self.run.model


def members_of(paths: Sequence[Path]) -> list[Member]:
    """The members in these folders by seed, refused unless they are of one model.

    A folder that is no run stands for all runs directly below it.
    """
    runs = sorted(found(paths), key=lambda run: run.config.training.seed)
    for run in runs[1:]:
        _require_one_model(runs[0], run)
    require_seeds(runs)
    members = [_member(run.path) for run in runs]
    for member in members[1:]:
        _require_same_data(members[0], member)
    return members


def _member(path: Path) -> Member:
    """A run that came to its end, with the weights evaluation uses."""
    run = open_run(path)
    last = run.folder.checkpoints / "last.safetensors"
    if not last.is_file() or not read_progress(last).finished:
        raise CheckpointError(f"{path} is not finished. Go on with: mclstm resume {path}")
    progress = load_weights(run.folder.weights(), run.model, run.model_hash)
    about, where = run.folder.read_json(run.folder.manifest), str(run.folder.manifest)
    units_in(about, where)
    step_in(about, where)
    return Member(run, about, progress)


def _require_one_model(first: Run, second: Run) -> None:
    if essence(first.config) != essence(second.config):
        raise ConfigError(
            f"{first.path} and {second.path} are not members of one model: they differ in "
            f"{difference(first.config, second.config)}. Pack only runs that differ in their seed."
        )


def _require_same_data(first: Member, second: Member) -> None:
    """The same config on other data has another scaling: one set of moments would not serve both."""
    paths = first.run.folder.path, second.run.folder.path
    if first.manifest.get("sha256") != second.manifest.get("sha256"):
        raise DataError(f"{paths[0]} and {paths[1]} were trained on different data. Pack them apart.")
    if first.run.moments != second.run.moments:
        raise DataError(f"{paths[0]} and {paths[1]} scale their inputs differently. Pack them apart.")
