"""Process models as an experiment: jobs of some basins each, one row per model over all of them."""

import json
from pathlib import Path

import numpy as np
import pytest

from mclstm.cli.main import main
from mclstm_paper.hydrology.page import read
from mclstm_paper.hydrology.process_models import block

pytestmark = pytest.mark.filterwarnings("ignore::mclstm.errors.DataWarning")

BASINS = ("01022500", "12189500")


@pytest.fixture(scope="module")
def root(camels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository's root with the results of two updates at two basins."""
    root = tmp_path_factory.mktemp("process")
    (root / "two.txt").write_text("\n".join(BASINS) + "\n")
    words = [
        "--data",
        str(camels),
        "--basins",
        str(root / "two.txt"),
        "--updates",
        "2",
        "--models",
        "hbv-gradient",
    ]
    words += ["--no-test", "--quiet", "--out", str(root / "runs"), "--results", str(root / "results")]
    assert main(["experiment", "hydrology-process", *words]) == 0
    return root


def test_the_row_holds_the_scores_of_every_basin(root: Path) -> None:
    folder = root / "runs/hydrology-process/quick-stated/jobs/hbv-gradient/basins-0-1"
    result = json.loads((folder / "result.json").read_text())["result"]
    row = next(row for row in read(root, "process.json")["rows"] if row["metric"] == "nse")
    assert row["sites"] == sorted(BASINS) == sorted(result["sites"])
    assert row["value"] == pytest.approx(np.median(result["scores"]["nse"]))
    assert row["setting"] == "2 basins, validation"
    assert "HBV" in block(root) or "hbv" in block(root)
