"""The runs to pack: finished members of one model, trained on the same data."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from torch import nn

from mclstm.config.same_model import difference, find_runs, require_seeds, seeds_of, shared_by_members
from mclstm.data.manifest import step_in, units_in
from mclstm.data.scaling import same_moments
from mclstm.errors import CheckpointError, ConfigError, DataError
from mclstm.from_config import SavedRun, open_run
from mclstm.models.members import Members
from mclstm.training.state import Progress, load_weights, read_progress

__all__ = ["Member", "read_members_to_pack"]


class Member(NamedTuple):
    """A trained model of a finished run, and the manifest of its data."""

    seed: int
    model: nn.Module
    run: SavedRun
    manifest: dict[str, Any]
    progress: Progress  # of the weights in use, the best by validation


def read_members_to_pack(paths: Sequence[Path]) -> list[Member]:
    """The members in these folders, sorted by seed; all must be of one model and of the same data.

    A folder that is no run stands for all runs directly below it.
    """
    runs = sorted(find_runs(paths), key=lambda run: run.config.training.seed)
    for run in runs[1:]:
        if shared_by_members(runs[0].config) != shared_by_members(run.config):
            raise ConfigError(
                f"{runs[0].path} and {run.path} are not members of one model: they differ in "
                f"{difference(runs[0].config, run.config)}. Pack only runs that differ in their seed."
            )
    require_seeds(runs)
    members = [member for run in runs for member in _members(run.path)]
    for member in members[1:]:
        _require_same_data(members[0], member)
    return members


def _members(path: Path) -> list[Member]:
    """The models of a finished run, one or several, with the weights that evaluation uses."""
    run = open_run(path)
    last = run.folder.checkpoints / "last.safetensors"
    if not last.is_file() or not read_progress(last).finished:
        raise CheckpointError(f"{path} is not finished. Continue it with: mclstm resume {path}")
    progress = load_weights(run.folder.weights(), run.model, run.model_hash)
    about, where = run.folder.read_json(run.folder.manifest), str(run.folder.manifest)
    units_in(about, where)  # refuses a manifest that prediction could not use
    step_in(about, where)
    models = run.model.alone() if isinstance(run.model, Members) else [run.model]
    pairs = zip(seeds_of(run.config), models, strict=True)
    return [Member(seed, model, run, about, progress) for seed, model in pairs]


def _require_same_data(first: Member, second: Member) -> None:
    """Refuse other data: its scaling differs, and a packed model has one scaling for all members."""
    paths = first.run.folder.path, second.run.folder.path
    if first.manifest.get("sha256") != second.manifest.get("sha256"):
        raise DataError(f"{paths[0]} and {paths[1]} were trained on different data. Pack them apart.")
    if not same_moments(first.run.moments, second.run.moments):
        raise DataError(f"{paths[0]} and {paths[1]} scale their inputs differently. Pack them apart.")
