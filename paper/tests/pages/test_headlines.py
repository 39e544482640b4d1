"""The README's short table: ours beside the paper's and the best of all others; the claims that failed."""

from pathlib import Path

from mclstm_paper.experiment import Headline, percent, two_digits
from mclstm_paper.pages.headlines import best_rival, cells, counts, failures, headlines
from mclstm_paper.registry import every_experiment, experiment
from mclstm_paper.results import interval_row
from mclstm_paper.statistics import Interval

SOLVED = Headline("adding", "addition", "mclstm", "success", percent)


def rate(model: str, value: float | None, metric: str = "success") -> dict[str, object]:
    row = interval_row("addition", model, metric, Interval(value or 0.0, 0.0, 1.0, 20), [], 0.96)
    return row | {"value": value}


def test_nothing_is_shown_without_results(tmp_path: Path) -> None:
    assert headlines(tmp_path) == "No results yet."
    assert failures(tmp_path) == "No claim failed."


def test_a_row_has_the_paper_ours_and_the_best_rival() -> None:
    rows = [
        rate("mclstm", 0.97),
        rate("mclstm-tuned", 1.0),
        rate("lstm", 0.1),
        rate("nau", 0.5),
        rate("exact", 1.0),
    ]
    assert cells(SOLVED, rows) == ["adding", "96 %", "97 % (mclstm)", "50 % (nau)"]
    assert cells(SOLVED, rows[:1]) == ["adding", "96 %", "97 % (mclstm)", "–"]
    assert cells(SOLVED, rows[1:]) is None


def test_a_model_of_ours_may_stand_beside_the_number_of_the_one_it_replaces() -> None:
    rows = [rate("mclstm-tuned", 1.0) | {"paper": None}, rate("mclstm", None)]
    line = SOLVED._replace(model="mclstm-tuned")
    assert cells(line, rows) == ["adding", "–", "100 % (mclstm-tuned)", "–"]
    assert cells(line._replace(printed="mclstm"), rows) == ["adding", "96 %", "100 % (mclstm-tuned)", "–"]


def test_of_errors_the_lowest_is_the_best() -> None:
    rows = [
        rate("mclstm", 0.2, "mse"),
        rate("lstm", 0.1, "mse"),
        rate("nau", 0.4, "mse"),
        rate("nac", None, "mse"),
    ]
    rival = best_rival(Headline("adding", "addition", "mclstm", "mse", two_digits), rows)
    assert rival is not None
    assert rival["model"] == "lstm"


def test_of_opposite_claims_only_those_of_our_model_against_others_count() -> None:
    task = experiment("hydrology")
    (line,) = task.headlines
    assert counts(f"{line.model} is better than lstm-tuned-ensemble in nse", task)
    assert not counts(f"{line.model} is better than mclstm in nse", task)
    assert not counts(f"lstm is better than {line.model} in nse", task)
    assert counts("flights-dense: rmse of mclstm is below that of regression", task)


def test_every_headline_names_a_model_of_its_experiment() -> None:
    lines = [line for task in every_experiment() for line in task.headlines]
    assert len(lines) <= 8
    assert len({line.task for line in lines}) == len(lines)
