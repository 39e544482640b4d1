"""The experiment with a cell that is told to be the snow, small, on the real basin."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mclstm.cli.main import main
from support.shared_data import shared


def test_both_models_see_the_same_record_and_one_its_snow(
    camels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "experiment",
        "hydrology-guided",
        "--data",
        str(camels),
        "--members",
        "1",
        "--updates",
        "3",
        "--cells",
        "3",
    ]
    assert main([*words, "--out", str(tmp_path)]) == 2
    assert "and --snow, the output of Snow-17" in capsys.readouterr().err
    assert (
        main([*words, "--snow", str(shared("snow17")), "--no-test", "--quiet", "--out", str(tmp_path)]) == 0
    )
    folder = tmp_path / "hydrology-guided" / "quick-stated"
    records = [pd.read_csv(folder / f"jobs/{model}-0/basin.csv") for model in ("mclstm", "mclstm-guided")]
    pd.testing.assert_frame_equal(*records)
    snow = records[0].set_index("date")["swe"]
    assert snow["1981-02-01":"1981-02-28"].min() > 0
    assert np.isnan(snow["1980-05-01"])  # Snow-17 was run from October 1980
    content = json.loads((folder / "guided.json").read_text())
    rows = {(row["model"], row["metric"]): row for row in content["rows"]}
    assert len(rows) == 8
    assert {row["setting"] for row in rows.values()} == {"basin 01031500, validation"}
    assert all(row["seeds"] == [0] and np.isfinite(row["value"]) for row in rows.values())
    assert rows["mclstm", "swe-nse"]["value"] != rows["mclstm-guided", "swe-nse"]["value"]
    assert "evaluated test" not in (folder / "jobs/mclstm-0/log.txt").read_text()
