"""Real data that no repository may hold: in $MCLSTM_DATA, which tests/conftest.py sets where it is not."""

import os
import tarfile
from pathlib import Path

import pytest


def shared(name: str) -> Path:
    """A file or folder of $MCLSTM_DATA; the test is skipped, with the reason, where there is none."""
    place = Path(os.environ["MCLSTM_DATA"]) / name
    if not os.environ["MCLSTM_DATA"] or not place.exists():
        pytest.skip(f"no real data: put {name} into the folder that MCLSTM_DATA names")
    return place


def camels_us(folder: Path) -> Path:
    """Thirty basins of CAMELS-US: $MCLSTM_DATA/camels_us, or unpacked into a folder."""
    named = Path(os.environ["MCLSTM_DATA"]) / "camels_us"
    if named.is_dir():
        return named
    with tarfile.open(shared("camels_us_30.tar.xz")) as archive:
        archive.extractall(folder, filter="data")
    return folder
