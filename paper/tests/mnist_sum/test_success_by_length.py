"""Rows and claims of the MNIST sum, from made-up errors."""

import math

import numpy as np
import pytest

from mclstm_paper.mnist_sum.page import length_figure, length_table
from mclstm_paper.mnist_sum.success_by_length import (
    by_length,
    error_rows,
    more_lengths,
    passing_chance,
    reference_threshold,
    threshold_rows,
    thresholds,
    with_success,
)
from mclstm_paper.mnist_sum.task import LENGTHS
from mclstm_paper.statistics import wilson_interval


def errors(*values):
    return {length: np.array(values, dtype=float) * length for length in LENGTHS}


def limits_of(limit, references, trained):
    """The rows of one threshold for all lengths, of so many references."""
    return threshold_rows(dict.fromkeys(LENGTHS, limit), errors(*[1.0] * references), trained)


def success_rows(model, values, limit, trained=1):
    """Success of made-up errors by one threshold for all lengths."""
    rows = with_success(limits_of(limit, 10, trained) + error_rows(model, values, trained))
    return [r for r in rows if r["metric"] == "success"]


def test_jobs_are_put_together_and_nothing_is_nan():
    joined = by_length(
        [
            {"test": {"1": [1.0], "10": [None]}, "failed": [-1]},
            {"test": {"1": [2.0], "10": [3.0]}, "failed": [-1]},
        ]
    )
    assert joined[1].tolist() == [1.0, 2.0]
    assert np.isnan(joined[10][0])


def test_a_reference_that_failed_makes_no_threshold():
    """Its error is that of the weights before it failed: of a network that learned nothing."""
    learned = [{"test": {"1": [error]}, "failed": [-1]} for error in (1.0, 2.0, 3.0)]
    failed = {"test": {"1": [100.0]}, "failed": [7]}
    limits = thresholds(by_length([*learned, failed]), "stated")
    assert limits == thresholds(by_length(learned), "stated")
    (row,) = threshold_rows(limits, by_length([*learned, failed]), trained=9)
    assert row["n"] == 3


def test_nobody_is_judged_by_too_few_references():
    few = by_length([{"test": {"1": [1.0]}, "failed": [-1]}, {"test": {"1": [2.0]}, "failed": [-1]}])
    limits = thresholds(few, "published")
    assert np.isnan(limits[1])
    rows = with_success(threshold_rows(limits, few, 9) + error_rows("nau", {1: np.array([0.1])}, 9))
    assert not [row for row in rows if row["metric"] == "success"]


def test_thresholds_differ_by_the_degree_of_freedom():
    references = errors(1.0, 2.0, 4.0, 5.0)
    assert thresholds(references, "stated")[10] == pytest.approx(reference_threshold([10, 20, 40, 50]))
    assert thresholds(references, "published")[10] == pytest.approx(reference_threshold([10, 20, 40, 50], 2))


def test_success_is_strictly_below_and_a_failed_seed_has_none():
    rows = success_rows("nau", errors(0.5, 1.0, np.nan), 10.0, trained=7)
    ten = next(row for row in rows if row["setting"] == "length 10")
    assert ten["values"] == [1.0, 0.0, 0.0]
    assert (ten["value"], ten["low"], ten["high"], ten["n"]) == tuple(wilson_interval(1, 3))
    assert (ten["threshold"], ten["trained"]) == (10.0, 7)


def test_rows_of_an_earlier_command_are_judged_again():
    """With other references in the same file; what was trained for another time keeps its judgement."""
    before = with_success(
        limits_of(1.0, 4, 7) + error_rows("nau", errors(0.5, 2.0), 7) + error_rows("constant", errors(0.5), 0)
    )
    other = with_success(limits_of(1.0, 4, 9) + error_rows("lstm", errors(0.5, 2.0), 9))
    learned = [r for r in before + other if r["model"] != "reference"]
    after = with_success(learned + limits_of(3.0, 10, 7))
    assert len(after) == len(learned) + len(LENGTHS)
    values = {
        r["model"]: r["values"] for r in after if (r["setting"], r["metric"]) == ("length 1", "success")
    }
    assert values == {"nau": [1.0, 1.0], "constant": [1.0], "lstm": [1.0, 0.0]}
    assert with_success(after) == after


def test_errors_that_are_not_finite_are_counted_apart_from_failures():
    rows = error_rows("nau", errors(0.5, np.inf, np.nan), 7, failed=[-1, -1, 3])
    ten = {row["metric"]: row for row in rows if row["setting"] == "length 10"}
    assert (ten["mse"]["n"], ten["nan"]["value"], ten["infinite"]["value"]) == (1, 1, 1)
    table = length_table(with_success(limits_of(1.0, 10, 7) + rows))
    line = next(line for line in table.split("\n\n")[1].splitlines() if line.startswith("| nau "))
    assert [cell.strip() for cell in line.split("|")[-4:-2]] == [
        "1",
        ", ".join(f"1 (length {length})" for length in (1, 10, 100, 200, 500, 1000)),
    ]


def test_ten_wins_of_ten_are_the_papers_p():
    # Both succeed at lengths 1 and 10; only the first at the ten others.
    rows = success_rows("mclstm", errors(0.01, 0.01), 50.0) + success_rows("nau", errors(1, 1), 50.0)
    (claim,) = more_lengths(rows, "mclstm", "nau")
    assert "10 of 10" in claim["claim"]
    assert round(claim["p"], 3) == 0.002
    assert claim["holds"]
    (reverse,) = more_lengths(rows, "nau", "mclstm")
    assert not reverse["holds"]
    (same,) = more_lengths(rows, "nau", "nau")
    assert (same["p"], same["holds"]) == (1.0, False)
    assert more_lengths(rows, "lstm", "nau") == []


def test_lengths_at_which_the_constant_succeeds_do_not_count():
    rows = success_rows("mclstm", errors(0.01, 0.01), 50.0) + success_rows("nau", errors(1, 1), 50.0)
    (claim,) = more_lengths(rows + success_rows("constant", errors(0.2), 50.0), "mclstm", "nau")
    # The constant's error is 0.2 a digit: it passes at lengths 1, 10, 100 and 200, of which two differ.
    assert "8 of 8" in claim["claim"]
    assert claim["test"].endswith("they share their networks")


def test_table_and_figure_have_every_model():
    rows = [
        row
        for model, values in {"mclstm": errors(0.01, 0.3), "nau": errors(1, 1), "constant": errors(2)}.items()
        for row in success_rows(model, values, 50.0, 86) + error_rows(model, values, 86)
    ]
    text = length_table(rows)
    assert "| mclstm       | 100 % (34 to 100) |" in text
    assert "2 × 86" in text
    (axes,) = length_figure(rows).axes
    assert axes.get_legend_handles_labels()[1] == ["mclstm", "nau", "constant"]
    assert [label.get_text() for label in axes.get_xticklabels()] == [str(length) for length in LENGTHS]


def test_threshold_by_hand():
    errors = [2.0, 4.0, 6.0, 8.0]
    # Mean 5, sd √(20 / 3); t at 0.99 is 4.5407 with 3 and 6.9646 with 2 degrees of freedom.
    half = math.sqrt(20 / 3) / 2
    assert reference_threshold(errors) == pytest.approx(5 + 4.5407 * half, rel=1e-5)
    assert reference_threshold(errors, lost=2) == pytest.approx(5 + 6.9646 * half, rel=1e-5)


@pytest.mark.parametrize(("references", "lost"), [(3, 1), (10, 1), (10, 2)])
def test_chance_is_what_a_simulation_gives(references, lost):
    drawn = np.random.default_rng(0).normal(size=(4000, references + 1))
    passed = [one[0] < reference_threshold(one[1:], lost) for one in drawn]
    chance = passing_chance(references, lost)
    assert abs(np.mean(passed) - chance) < 4 * math.sqrt(chance * (1 - chance) / 4000)
