"""The README's table: one line for every comparison that has a result, with the paper's number beside it."""

import json
from pathlib import Path

from mclstm.evaluation.statistics import Interval
from mclstm.report.results import interval_row
from mclstm.report.summary import LINES, summary


def put(root: Path, experiment: str, protocol: str, *rows: dict[str, object]) -> None:
    path = root / "results" / experiment / f"{protocol}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"rows": rows}))


def test_nothing_is_shown_without_results(tmp_path: Path) -> None:
    assert summary(tmp_path) == "No results yet."


def test_a_line_has_the_papers_number_and_ours_by_protocol(tmp_path: Path) -> None:
    rate = interval_row("addition", "mclstm", "success", Interval(0.97, 0.9, 0.99, 100), [], 0.96)
    put(tmp_path, "recurrent-arithmetic", "published", rate)
    table = summary(tmp_path)
    assert len(table.splitlines()) == 3
    cells = [cell.strip() for cell in table.splitlines()[-1].strip("|").split("|")]
    assert cells == [
        "recurrent addition: solved by mclstm", "96 %", "not run", "97 % (90 % to 99 %; n = 100)",
    ]  # fmt: skip


def test_cells_that_only_the_paper_has_are_no_result(tmp_path: Path) -> None:
    blank = {"setting": "447 basins", "model": "mclstm", "metric": "nse", "value": None, "paper": 0.726}
    put(tmp_path, "hydrology", "stated", blank)
    assert summary(tmp_path) == "No results yet."


def test_lines_are_told_apart() -> None:
    assert len({line.text for line in LINES}) == len(LINES)
