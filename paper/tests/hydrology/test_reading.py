"""How long reading takes is measured in processes of their own, with caches of their own."""

import json
from pathlib import Path

from mclstm.data.readers import cache
from mclstm_paper.hydrology.page import BLOCKS
from mclstm_paper.hydrology.reading_time import main


def test_both_ways_of_reading_are_measured(camels: Path, tmp_path: Path) -> None:
    before = sorted(cache.folder().glob("*"))
    file = tmp_path / "results" / "hydrology" / "reading.json"
    main(["--data", str(camels), "--repeats", "1", "--results", str(file)])
    first, cached = json.loads(file.read_text())["rows"]
    assert (first["setting"], first["n"], cached["setting"], cached["n"]) == ("first", 1, "cached", 3)
    assert min(*first["values"], *cached["values"]) > 0
    assert sorted(cache.folder().glob("*")) == before
    assert f"{first['value']:.1f} s" in BLOCKS["hydrology-reading"](tmp_path)
