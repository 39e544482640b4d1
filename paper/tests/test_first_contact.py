"""The count of what `mclstm check` says about many sites."""

import json
from pathlib import Path

import pandas as pd

from mclstm_paper.first_contact import main
from support.rivers import river


def test_sites_are_counted_by_what_is_said_of_them(tmp_path: Path) -> None:
    tables = [river(800, seed=seed).assign(site=f"s{seed}") for seed in range(3)]
    tables[1]["rain"] /= 3
    tables[2]["flow"] = tables[2]["flow"].where(tables[2].index > "2001-06-01")
    pd.concat(tables).to_csv(tmp_path / "rivers.csv")
    main(["--data", str(tmp_path / "rivers.csv"), "--out", str(tmp_path / "record" / "warnings.json")])
    content = json.loads((tmp_path / "record" / "warnings.json").read_text())
    assert content["sites"] == 3
    assert content["kinds"]["warning: budget"]["sites"] == ["s1"]
    assert content["kinds"]["warning: missing"]["sites"] == ["s2"]
    assert content["ratios"]["highest"] > 1 > content["ratios"]["median"]
