"""The record of the examples: what a script printed, and every score of a table as a row."""

from pathlib import Path

import pandas as pd

from mclstm_paper.example_record import output_of, score_rows
from mclstm_paper.pages.example_tables import BLOCKS

ROOT = Path(__file__).parents[2]


def test_the_output_begins_where_the_scores_do(tmp_path: Path) -> None:
    script = tmp_path / "road.py"
    script.write_text("def main():\n    print('3/9')\n    print('cars, the last 2 days\\n\\nnse  \\n0.5')\n")
    assert output_of(script) == "cars, the last 2 days\n\nnse\n0.5"


def test_every_score_is_a_row() -> None:
    table = pd.DataFrame({"model": ["a"], "target": ["out"], "nse": [0.5], "rmse": [2.0], "mae": [1.0]})
    rows = [(one["model"], one["setting"], one["metric"], one["value"]) for one in score_rows(table)]
    assert rows == [("a", "out", "nse", 0.5), ("a", "out", "rmse", 2.0), ("a", "out", "mae", 1.0)]


def test_the_best_model_comes_first() -> None:
    _, models = BLOCKS["transport-config"](ROOT).split("All targets pooled")
    lines = [line.split("|") for line in models.splitlines() if line.startswith("| ")][1:]
    scores = [float(line[2]) for line in lines]
    assert scores == sorted(scores, reverse=True)
    assert [line[1].strip() for line in lines].count("this model") == 1
