"""Real data for the tests: 30 basins of CAMELS-US, unpacked once a session."""

import os
from pathlib import Path

import pytest

from support.shared_data import camels_us


@pytest.fixture(scope="session")
def camels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of CAMELS-US."""
    return camels_us(tmp_path_factory.mktemp("camels_us"))


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tests never touch the user's cache."""
    os.environ["MCLSTM_CACHE"] = str(tmp_path_factory.mktemp("cache"))
