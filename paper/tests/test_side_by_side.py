"""What neuralhydrology's command and ours say of a sound table, and of two wrong ones."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from mclstm_paper import side_by_side
from support.wrong_tables import main as write_tables

pytest.importorskip("neuralhydrology")
CASES = ("no mistake", "rain in mm/h, declared mm/day", "thousands separators")


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The three cases out of all tables."""
    folder = tmp_path_factory.mktemp("tables")
    write_tables(folder)
    for home in folder.iterdir():
        if json.loads((home / "declared.json").read_text())["name"] not in CASES:
            shutil.rmtree(home)
    return folder


def test_both_are_asked_about_every_table(tables: Path, tmp_path: Path) -> None:
    record = tmp_path / side_by_side.FILE
    side_by_side.main([str(tables), "--python", sys.executable, "--out", str(record)])
    units, thousands = json.loads(record.read_text())["tables"]
    assert units["ours"]["named"]
    assert units["ours"]["refused"]
    assert units["theirs"] == {"ended": True, "said": [], "by": "neuralhydrology"}
    assert thousands["ours"]["named"]
    assert not thousands["theirs"]["ended"]
    text = side_by_side.side_by_side_table(tmp_path)
    assert "Of 2 wrong tables `mclstm check` names 2." in text
    assert "trains on 1 without a word and ends with a traceback on 1." in text
    assert "| rain in mm/h, declared mm/day |" in text


def test_a_declared_volume_becomes_a_depth(tmp_path: Path) -> None:
    (tmp_path / "river.csv").write_text("date,rain,flow\n2001-01-01,1,10\n2001-01-02,0,20\n")
    table = side_by_side.read_as_their_tutorial(tmp_path / "river.csv", {"area_km2": 86.4})
    assert table["flow"].tolist() == pytest.approx([10, 20])
