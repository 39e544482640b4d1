"""The small city, written once."""

from pathlib import Path

import pytest

from mclstm_paper.traffic.days import City, read_city
from traffic.small_city import write_city


@pytest.fixture(scope="session")
def smallville(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_city(tmp_path_factory.mktemp("cities") / "SMALLVILLE")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCLSTM_CACHE", str(tmp_path_factory.getbasetemp() / "traffic-cache"))


@pytest.fixture
def city(smallville: Path) -> City:
    return read_city(str(smallville))
