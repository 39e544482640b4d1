"""Real basins, and one tiny experiment on four of them that several tests look at."""

import os
import shutil
from pathlib import Path

import pytest

from mclstm.cli.main import main
from support.shared_data import camels_us

BASINS = ("01022500", "07291000", "11141280", "12189500")


@pytest.fixture(scope="session")
def camels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of thirty basins; what is read of it is cached for these tests alone."""
    os.environ["MCLSTM_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    return camels_us(tmp_path_factory.mktemp("camels_us"))


@pytest.fixture(scope="session")
def camels_without_test(camels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same basins, with the flow of the test years missing."""
    place = tmp_path_factory.mktemp("without_test") / "camels_us"
    shutil.copytree(camels, place)
    for file in (place / "usgs_streamflow").rglob("*_streamflow_qc.txt"):
        lines = [line.split() for line in file.read_text().splitlines()]
        hidden = [
            [*w[:4], "-999.00", "M"] if "1989 10" <= f"{w[1]} {w[2]}" <= "1999 09" else w for w in lines
        ]
        assert sum(w[4] == "-999.00" for w in hidden) > 3600
        file.write_text("\n".join(" ".join(words) for words in hidden) + "\n")
    return place


@pytest.fixture(scope="session")
def command(camels: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The experiment as a user runs it, small: --out is left to the caller."""
    basins = tmp_path_factory.mktemp("basins") / "four.txt"
    basins.write_text("\n".join(BASINS) + "\n")
    sizes = ["--members", "2", "--updates", "6", "--cells", "4", "--quiet"]
    return ["experiment", "hydrology", "--data", str(camels), "--basins", str(basins), *sizes]


@pytest.fixture(scope="session")
def made(command: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the finished experiment: jobs, results, table."""
    out = tmp_path_factory.mktemp("experiment")
    assert main([*command, "--out", str(out)]) == 0
    return out / "hydrology" / "quick-stated"
