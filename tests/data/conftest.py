"""Real data for the tests: 30 basins of CAMELS-US, unpacked once a session."""

import os
import tarfile
from pathlib import Path

import pytest

ARCHIVE = "camels_us_30.tar.xz"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def camels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of CAMELS-US: $MCLSTM_DATA/camels_us, or the archive in ../shared/data."""
    named = os.environ.get("MCLSTM_DATA")
    if named and (Path(named) / "camels_us").is_dir():
        return Path(named) / "camels_us"
    # A clone lies beside ../shared; a worktree may lie one folder deeper.
    found = [file for parent in ROOT.parents[:2] if (file := parent / "shared" / "data" / ARCHIVE).is_file()]
    if not found:
        pytest.skip(f"no real data: set MCLSTM_DATA, or put {ARCHIVE} into {ROOT.parent}/shared/data")
    folder = tmp_path_factory.mktemp("camels_us")
    with tarfile.open(found[0]) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tests never touch the user's cache."""
    os.environ["MCLSTM_CACHE"] = str(tmp_path_factory.mktemp("cache"))
