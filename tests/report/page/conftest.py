"""Three small models of three brooks with hostile names and places, and their page."""

import json
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest

from mclstm import pipeline
from mclstm.cli.main import main
from mclstm.config import check_config
from support.small_run import brook, brook_config, brooks

SITES = ["<script>window.hacked=1", "<img src=x onerror=window.hacked=1>", "Fulda 'n' \"co\" & µ"]


class Built(NamedTuple):
    """A page of three runs, the last of two members, and the page of the first alone."""

    page: Path
    single: Path
    runs: list[Path]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    root = tmp_path_factory.mktemp("page")
    table = brooks(brook(root / "brook.csv", days=320), SITES)
    table.to_csv(root / "brooks.csv", index=False)
    places = pd.DataFrame({"site": SITES, "latitude": [50.0, 51.0, 50.5], "longitude": [9.0, 10.0, 9.7]})
    places.to_csv(root / "places.csv", index=False)
    runs = []
    hybrid = {"name": "hybrid", "memory_size": 3, "dropout": 0.0}
    for model, members in (({"name": "mclstm"}, None), ({"name": "lstm"}, None), (hybrid, 2)):
        sized = model | {"hidden_size": 3}
        raw = brook_config(root / "brooks.csv", sized, updates=20, members=members)
        raw["data"] |= {"site": "site", "attributes": str(root / "places.csv")}
        raw["periods"]["test"] = ["2001-07-01", "2001-11-15"]
        run = pipeline.train(check_config(raw), root / "runs", quiet=True)
        pipeline.evaluate(run, figures=False)
        runs.append(run.path)
    words = ["report", *map(str, runs), "--traced", "2"]
    assert main([*words, "--out", str(root / "report")]) == 0
    words = ["report", str(runs[0]), "--single-file", "--out", str(root / "one")]
    assert main(words) == 0
    alone = root / "alone" / "page.html"
    alone.parent.mkdir()
    (root / "one/report.html").rename(alone)
    return Built(root / "report/report.html", alone, runs)


def site_content(built: Built, number: int) -> dict[str, object]:
    """What the page knows of a site."""
    text = (built.page.parent / f"report_files/site-{number}.js").read_text()
    return json.loads(text.removeprefix(f"mclstm.site({number},").removesuffix(");\n"))
