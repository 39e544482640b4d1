"""Finished members in a small form that a repository can carry, so that no lost machine costs a training.

    python -m mclstm_paper.hydrology.keeping JOBS --out weights/members
    python -m mclstm_paper.hydrology.unpacked weights/members --data camels_us --basins LIST --out JOBS

A model's folder is a packed model without scores in the test years, which nobody has looked at yet. The
second command makes runs of it again: with the same weights to the bit, finished, ready for a recipe.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import copyfile
from typing import Any

from mclstm.config.same_model import Run, find_runs
from mclstm.data.scaling import moments_from_json, same_moments
from mclstm.deploy.pack import LARGEST, describe
from mclstm.deploy.runs_to_pack import read_members_to_pack
from mclstm.deploy.trained_model import MODEL, member_file, model_folders
from mclstm.errors import CheckpointError, ConfigError, DataError, StorageError
from mclstm.jobs.job import alone
from mclstm.training.atomic import make_folder, write_text_atomic
from mclstm.training.folder import RunFolder
from mclstm.training.state import read_progress
from mclstm_paper.hydrology.models import PREFIX

__all__ = ["keep", "kept_seeds", "main"]


def keep(paths: Sequence[Path], out: Path) -> list[Path]:
    """Add the finished ones of some runs to the folders of their models; the folders that changed.

    Members that are there already stay. All of `out` and of what lies beside it must fit a repository.
    """
    models: dict[str, list[Run]] = {}
    for run in find_runs(paths):
        model = run.config.name.removeprefix(PREFIX)
        if finished(run) and run.config.training.seed not in kept_seeds(out, model):
            models.setdefault(model, []).append(run)
    make_folder(out)
    with alone(out):
        return [add(runs, out / model) for model, runs in models.items()]


def finished(run: Run) -> bool:
    last = RunFolder(run.path).checkpoints / "last.safetensors"
    return last.is_file() and read_progress(last).finished


def add(runs: Sequence[Run], folder: Path) -> Path:
    """Add runs of one model to its folder; the list of members is written last."""
    require_room(runs, folder)
    make_folder(folder)
    about = json.loads(json.dumps(describe(read_members_to_pack([run.path for run in runs]), scored=False)))
    listed = json.loads((folder / MODEL).read_text()) if (folder / MODEL).is_file() else None
    if listed is not None and not alike(listed, about, folder):
        raise ConfigError(f"{folder} holds members of another model or of other data. Move it away.")
    for run in runs:
        copyfile(RunFolder(run.path).weights(), folder / member_file(run.config.training.seed))
    members = [*(listed["members"] if listed else []), *about["members"]]
    about["members"] = sorted(members, key=lambda member: int(member["seed"]))
    write_text_atomic(folder / MODEL, json.dumps(about, indent=1, allow_nan=False) + "\n")
    return folder


def alike(listed: Mapping[str, Any], about: Mapping[str, Any], folder: Path) -> bool:
    """Whether two packs are of one model: the same config and the same scaling."""
    one, other = (moments_from_json(pack["scaling"], str(folder)) for pack in (listed, about))
    return bool(listed["config"] == about["config"]) and same_moments(one, other)


def require_room(runs: Sequence[Run], folder: Path) -> None:
    """Refuse what would make all weights together larger than a repository should carry."""
    beside = folder.parent.parent  # weights/, with the models that are shipped
    present = sum(file.stat().st_size for file in beside.rglob("*.safetensors"))
    size = present + sum(RunFolder(run.path).weights().stat().st_size for run in runs)
    if size > LARGEST:
        raise StorageError(
            f"All weights in {beside} would take {size / 1e6:.1f} MB of at most {LARGEST / 1e6:g}. "
            f"Remove a model there, or keep fewer members of {folder.name}."
        )


def kept_seeds(weights: Path, model: str) -> set[int]:
    """The members of a model that are kept, or shipped in a folder beside.

    >>> kept_seeds(Path("weights", "members"), "no-such-model")
    set()
    """
    packs = (json.loads(file.read_text()) for file in weights.parent.glob(f"*/{model}/{MODEL}"))
    return {member["seed"] for pack in packs for member in pack["members"]}


def main(words: Sequence[str] | None = None) -> None:
    """Keep the finished members of some runs and say which models have how many."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=Path("weights/members"))
    options = parser.parse_args(words)
    try:
        keep(options.runs, options.out)
        folders = model_folders(options.out)
    except (CheckpointError, ConfigError, DataError, StorageError) as error:
        parser.error(str(error))
    for folder in folders:
        print(f"{folder}: members {', '.join(map(str, sorted(kept_seeds(options.out, folder.name))))}")


if __name__ == "__main__":
    main()
