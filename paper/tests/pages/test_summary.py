"""The table of all results: one line for every comparison that has one, with the paper's number beside it."""

import json
from pathlib import Path

from mclstm_paper.pages.summary import summary
from mclstm_paper.registry import every_experiment
from mclstm_paper.results import interval_row
from mclstm_paper.statistics import Interval


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
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    assert lines[0] == [
        "recurrent addition: solved by mclstm", "96 %", "not run", "97 % (90 % to 99 %; n = 100)",
    ]  # fmt: skip
    # What the paper has and we have not is not left out.
    assert ["recurrent multiplication: solved by nmu", "34 %", "not run", "not run"] in lines
    assert not any("mclstm-tuned" in line[0] or "static" in line[0] for line in lines)


def test_runs_that_both_protocols_share_are_judged_by_both_thresholds(tmp_path: Path) -> None:
    rates = [
        interval_row("addition", "mcfc", metric, Interval(value, 0.0, 1.0, 20), [], 1.0)
        for metric, value in (("success", 0.5), ("success (published threshold)", 0.75))
    ]
    put(tmp_path, "static-arithmetic", "stated", *rates)
    (line,) = [line for line in summary(tmp_path).splitlines() if "static addition" in line]
    assert "50 % (" in line.split("|")[3]
    assert "75 % (" in line.split("|")[4]


def test_the_papers_figure_is_a_line_before_it_was_run(tmp_path: Path) -> None:
    """The paper has no number of it: a missing line would hide that it was not run."""
    error = interval_row("combo", "mclstm", "mse", Interval(0.6, 0.5, 0.8, 100), [], 4.0)
    put(tmp_path, "addition", "stated", error)
    assert [line[2:] for line in digits(tmp_path)] == [["not run", "–"], ["–", "not run"]]
    rate = interval_row("length 1000", "mclstm-softplus", "success", Interval(0.8, 0.4, 1.0, 5), [], None)
    put(tmp_path, "mnist-sum", "stated", rate)
    assert digits(tmp_path)[0][2:] == ["80 % (40 % to 100 %; n = 5)", "–"]


def digits(root: Path) -> list[list[str]]:
    """The cells of the lines of MC-LSTM on a thousand digits, as stated and as published."""
    lines = [line for line in summary(root).splitlines() if "1000 MNIST digits: solved by mclstm" in line]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_constant_has_no_runs_and_our_own_models_only_their_protocol(tmp_path: Path) -> None:
    put(tmp_path, "addition", "stated", interval_row("combo", "constant", "mse", Interval(147, 0, 0, 1), []))
    tuned = interval_row("length 10", "mclstm-tuned", "success", Interval(0.8, 0.4, 1.0, 5), [], None)
    put(tmp_path, "mnist-sum", "stated", tuned)
    cells = [[cell.strip() for cell in line.split("|")[1:5]] for line in summary(tmp_path).splitlines()]
    assert ["addition problem, combo: error of constant", "–", "1.5e+02", "not run"] in cells
    digits = "sum of 10 MNIST digits: solved by mclstm-tuned"
    assert [digits, "–", "80 % (40 % to 100 %; n = 5)", "–"] in cells


def test_cells_that_only_the_paper_has_are_no_result(tmp_path: Path) -> None:
    blank = {"setting": "447 basins", "model": "mclstm", "metric": "nse", "value": None, "paper": 0.726}
    put(tmp_path, "hydrology", "stated", blank)
    assert summary(tmp_path) == "No results yet."


def test_lines_are_told_apart() -> None:
    lines = [line.text for task in every_experiment() for line in task.summary]
    assert len(set(lines)) == len(lines) > 0
