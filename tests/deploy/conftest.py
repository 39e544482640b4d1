"""Two members of one tiny model, packed once for all tests."""

import os
from pathlib import Path

import pytest

from mclstm.cli.main import main
from support.layouts import LAYOUTS, Frames, as_csv, frames, member, member_config


@pytest.fixture(scope="session")
def tables() -> Frames:
    return frames()


@pytest.fixture(scope="session")
def data(tables: Frames, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data for training the members."""
    os.environ["MCLSTM_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    return as_csv(tmp_path_factory.mktemp("training") / "brooks", tables)


@pytest.fixture(scope="session")
def runs(data: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root = tmp_path_factory.mktemp("runs")
    return [member(root, member_config(data, seed)) for seed in (3, 8)]


@pytest.fixture(scope="session")
def pack(runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("packed") / "brooks"
    assert main(["pack", *map(str, runs), "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="session", params=LAYOUTS)
def layout(
    request: pytest.FixtureRequest, tables: Frames, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """The name of a layout, and the two brooks in it."""
    name: str = request.param
    return name, LAYOUTS[name](tmp_path_factory.mktemp("layout") / name, tables)
