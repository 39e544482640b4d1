"""Packed members as runs again, so that a new recipe can count members whose runs are gone.

    python -m mclstm_paper.hydrology.unpacked weights/camels-us --data camels_us --basins LIST --out JOBS

A run that is made here is finished: it can be evaluated and packed, and an experiment counts it as a member.
It cannot go on training, because a pack holds no state of the optimiser.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from shutil import copyfile

import torch

from mclstm.config import Config, dump_config
from mclstm.data.manifest import manifest
from mclstm.deploy.trained_model import MODEL, TrainedModel, model_folders, open_model, seed_of
from mclstm.errors import CheckpointError, ConfigError, DataError, StorageError
from mclstm.series_from_config import read_series
from mclstm.training import checkpoint
from mclstm.training.atomic import write_text_atomic
from mclstm.training.folder import RunFolder
from mclstm_paper.hydrology.basins import read_basins
from mclstm_paper.hydrology.models import PREFIX, reader_of

__all__ = ["main", "unpacked"]


def unpacked(pack: Path, data: Path, basins: Sequence[str], out: Path) -> list[Path]:
    """A run folder for each member of a packed model: `out/<model>-<seed>`."""
    packed = open_model(pack)
    config = with_data(packed.config, data, basins)
    series = read_series(config, require_target=True)
    about = json.dumps(manifest(series, config.data.path), indent=1) + "\n"
    return [run_of(packed, name, config, about, pack, out) for name in packed.members]


def with_data(config: Config, data: Path, basins: Sequence[str]) -> Config:
    """The config of a pack, which names no data, with the place of CAMELS-US and its basins."""
    place = {"path": str(data.resolve()), "reader": reader_of(data), "sites": list(basins)}
    return config.model_copy(update={"data": config.data.model_copy(update=place)})


def run_of(packed: TrainedModel, name: str, config: Config, about: str, pack: Path, out: Path) -> Path:
    """The run of one member; its config is written last, because a folder that has one is a run."""
    seed = seed_of(name, packed)
    folder = RunFolder.at(out / f"{config.name.removeprefix(PREFIX)}-{seed}", new=True)
    write_text_atomic(folder.moments, json.dumps(packed.moments, indent=1) + "\n")
    write_text_atomic(folder.manifest, about)
    best = folder.checkpoints / "best.safetensors"
    copyfile(pack / f"{name}.safetensors", best)
    end_at(best)
    write_cost(pack, seed, folder.path)
    training = config.training.model_copy(update={"seed": seed})
    write_text_atomic(folder.config, dump_config(config.model_copy(update={"training": training})))
    folder.note(f"unpacked from {pack}")
    return folder.path


def end_at(best: Path) -> None:
    """Beside the weights in use a last checkpoint that says that the training has ended."""
    tensors, about = checkpoint.load(best)
    ended = about["progress"] | {"finished": True, "journal": 0}  # the journal is gone
    tensors["random.torch"] = torch.get_rng_state()  # every last checkpoint has one
    checkpoint.save(best.with_name("last.safetensors"), tensors, about | {"progress": ended})


def write_cost(pack: Path, seed: int, run: Path) -> None:
    """What the training of a member cost, where its pack says so."""
    members = json.loads((pack / MODEL).read_text(encoding="utf-8"))["members"]
    costs = [member["training"] for member in members if member["seed"] == seed and "training" in member]
    if costs:
        write_text_atomic(run / "cost.json", json.dumps(costs, indent=1) + "\n")


def main(words: Sequence[str] | None = None) -> None:
    """Make runs of packed members and print their folders."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pack", type=Path, help="a packed model, or a folder of several")
    parser.add_argument("--data", required=True, type=Path, help="the folder of CAMELS-US")
    parser.add_argument("--basins", required=True, type=Path, help="the basins of the training, one per line")
    parser.add_argument("--out", required=True, type=Path, help="a folder of runs")
    options = parser.parse_args(words)
    try:
        basins = read_basins(options.basins)
        folders = model_folders(options.pack)
        runs = [run for pack in folders for run in unpacked(pack, options.data, basins, options.out)]
    except (CheckpointError, ConfigError, DataError, StorageError) as error:
        parser.error(str(error))
    print(*runs, sep="\n")


if __name__ == "__main__":
    main()
