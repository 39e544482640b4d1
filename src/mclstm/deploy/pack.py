"""Finished runs of one model -> a folder with weights, model.json and the card."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from mclstm.deploy.card import card
from mclstm.deploy.facts import described
from mclstm.deploy.layout import CARD, LARGEST, MODEL, member_file
from mclstm.deploy.packed_members import members_of
from mclstm.errors import StorageError
from mclstm.training.atomic import new_folder, write_text_atomic
from mclstm.training.state import save_weights

__all__ = ["Packed", "pack"]


class Packed(NamedTuple):
    """A folder that was written: its members by seed, and its size in bytes."""

    folder: Path
    seeds: list[int]
    size: int


def pack(paths: Sequence[Path], out: Path, largest: int = LARGEST) -> Packed:
    """Pack runs that differ in their seed only; the folder appears whole, or not at all.

    largest: the most bytes it may have
    """
    members = members_of(paths)
    about = described(members)
    with new_folder(out) as folder:
        for member in members:
            path = folder / member_file(member.seed)
            save_weights(path, member.model, member.progress, member.run.model_hash)
        write_text_atomic(folder / MODEL, json.dumps(about, indent=1, allow_nan=False) + "\n")
        write_text_atomic(folder / CARD, card(about))
        size = sum(file.stat().st_size for file in folder.iterdir())
        if size > largest:
            raise StorageError(
                f"{len(members)} members would take {size / 1e6:.1f} MB, more than the {largest / 1e6:g} MB "
                "a packed model may have. Pack fewer members, or a smaller model."
            )
    return Packed(out, [member.seed for member in members], size)
