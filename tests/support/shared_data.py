"""Real data that no repository may hold: beside the clone, or in $MCLSTM_DATA."""

import os
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def shared(name: str) -> Path:
    """A file or folder of ../shared/data; the test is skipped, with the reason, where there is none."""
    # A clone lies beside ../shared; a worktree may lie one folder deeper.
    found = [path for parent in ROOT.parents[:2] if (path := parent / "shared" / "data" / name).exists()]
    if not found:
        pytest.skip(f"no real data: put {name} into {ROOT.parent}/shared/data")
    return found[0]


def camels_us(folder: Path) -> Path:
    """Thirty basins of CAMELS-US: $MCLSTM_DATA/camels_us, or unpacked into a folder."""
    named = os.environ.get("MCLSTM_DATA")
    if named and (Path(named) / "camels_us").is_dir():
        return Path(named) / "camels_us"
    with tarfile.open(shared("camels_us_30.tar.xz")) as archive:
        archive.extractall(folder, filter="data")
    return folder
