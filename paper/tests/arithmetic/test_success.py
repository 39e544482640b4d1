"""From records to rows and claims: by hand and by scipy."""

import math

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

from mclstm_paper.addition import experiment as addition
from mclstm_paper.addition.experiment import error_rows, lower
from mclstm_paper.addition.page import error_table, error_tables
from mclstm_paper.addition.printed import PRINTED as ADDITION
from mclstm_paper.addition.task import REGIMES
from mclstm_paper.arithmetic.subsets import OPERATIONS
from mclstm_paper.arithmetic.success import beats, reaches, solved_rows
from mclstm_paper.arithmetic.success_tables import detail_table, success_table, success_tables
from mclstm_paper.arithmetic.training import outcome, problem
from mclstm_paper.pages.sections import not_run
from mclstm_paper.recurrent_arithmetic.models import recurrent_recipe
from mclstm_paper.recurrent_arithmetic.printed import PRINTED as RECURRENT
from mclstm_paper.recurrent_arithmetic.task import RecurrentArithmetic
from mclstm_paper.seed_rows import joined_results
from mclstm_paper.seeds.member_ensemble import Ensemble
from mclstm_paper.static_arithmetic.page import rejudge
from mclstm_paper.static_arithmetic.printed import PRINTED as STATIC

LIMITS = {"stated": 1.0, "published": 10.0}


def noted() -> Ensemble:
    """Four members, three evaluations; the last member fails after the first."""
    ensemble = Ensemble(nn.ParameterDict({"w": torch.zeros(4, 1)}), 4, 0.1)
    validation = ([9.0, 9.0, 9.0, 9.0], [1.0, 5.0, 2.0, 0.0], [2.0, 1.0, 1.0, 0.0])
    test = ([50.0, 50.0, 0.5, 50.0], [0.9, 0.5, 20.0, 0.1], [7.0, 5.0, 20.0, 0.1])
    for update, (v, t) in enumerate(zip(validation, test, strict=True)):
        ensemble.update = 1_000 * update
        ensemble.note({"validation": torch.tensor(v), "test": torch.tensor(t), "sparsity": torch.tensor(v)})
        ensemble.failed[3] = 1
    return ensemble


def test_members_are_judged_at_their_best_validation_error() -> None:
    found = outcome(noted(), LIMITS)
    assert found["best"] == [1_000, 2_000, 2_000, 0]
    assert found["test"] == pytest.approx([0.9, 5.0, 20.0, 50.0])
    assert found["solved"] == {
        "stated": [True, False, False, False],
        "published": [True, True, False, False],
    }
    # The first update below the threshold, best or not; the last member had failed by then.
    assert found["solved_at"]["stated"] == [1_000, 1_000, 0, -1]
    assert found["sparsity"] == pytest.approx([1.0, 1.0, 1.0, 9.0])
    assert found["failed"] == [-1, -1, -1, 1]


def test_live_progress_counts_as_the_table_does() -> None:
    """Two members more have been below the limit once, but not where their validation error is lowest."""
    task = RecurrentArithmetic("addition", seeds=[0, 1, 2, 3])
    recipe = recurrent_recipe("nau", "addition", "stated")
    note = problem("nau", recipe, task, lambda *_: {}, LIMITS["stated"]).note
    assert note(noted()) == "1 of 4 seeds solved, 1 failed"


def test_rows_of_blocks_put_together() -> None:
    found = outcome(noted(), LIMITS)
    assert joined_results([found, found])["solved"]["stated"] == [True, False, False, False] * 2
    rows = {
        r["metric"]: r for r in solved_rows("nau", "addition", "published", [found, found], 7, (0.88, 8e4))
    }
    wilson = stats.binomtest(4, 8).proportion_ci(method="wilson")
    success = rows["success"]
    assert (success["value"], success["low"], success["high"]) == (0.5, wilson.low, wilson.high)
    assert (success["n"], success["paper"], success["trained"]) == (8, 0.88, 7)
    assert rows["success (stated threshold)"]["value"] == 0.25
    assert rows["updates"]["value"] == 1_000
    assert rows["updates"]["n"] == 4
    assert rows["updates (stated threshold)"]["values"] == [1_000, 1_000]
    assert rows["nan"]["value"] == 2
    assert rows["infinite"]["value"] == 0
    assert rows["sparsity"]["value"] == rows["sparsity (stated threshold)"]["value"] == 1.0


def test_a_run_without_a_finite_test_error_is_not_a_failed_run() -> None:
    found = outcome(noted(), LIMITS) | {"test": [0.9, None, 20.0, None]}
    rows = {r["metric"]: r for r in solved_rows("nau", "addition", "stated", [found], 7, (None, None))}
    assert (rows["nan"]["value"], rows["infinite"]["value"]) == (1, 1)
    assert rows["infinite"]["values"] == [0, 1, 0, 0]
    assert (rows["mse"]["n"], rows["mse"]["value"]) == (2, pytest.approx(10.45))
    line = detail_table(list(rows.values())).splitlines()[-1].split("|")
    assert [cell.strip() for cell in line[-3:-1]] == ["1", "1"]


def test_the_same_runs_by_the_other_threshold() -> None:
    """Static arithmetic trains once for both protocols: its published table is this one."""
    rows = solved_rows("nau", "addition", "stated", [outcome(noted(), LIMITS)], 7, (None, None))
    judged = rejudge(rows, "published")
    table, detail = success_tables(judged).split("\n\n")
    (missing,) = not_run(STATIC, judged)
    assert "| nau   | 50 % (15 to 85) | 1e3     |" in table
    assert "25 % (5 to 70)" in detail
    assert "success (stated threshold)" in detail
    assert missing.startswith("Not run yet: mcfc, nau (subtraction)")


def rates(**solved: int) -> list[dict[str, object]]:
    rows = []
    for model, successes in solved.items():
        result = {
            "test": [0.0] * 100,
            "failed": [-1] * 100,
            "solved": {name: [True] * successes + [False] * (100 - successes) for name in LIMITS},
            "solved_at": {name: [5] * 100 for name in LIMITS},
        }
        printed = RECURRENT[model]["addition"]
        rows += solved_rows(model, "addition", "published", [result], 1, printed)
    return rows


def test_the_papers_proportion_test() -> None:
    """96 against 88 and 67 against 34 of 100: the paper says 0.03 and 3e-6."""
    (claim,) = beats(rates(mclstm=96, nau=88), "mclstm", "nau", "addition")
    assert round(claim["p"], 2) == 0.03
    assert claim["holds"]
    (claim,) = beats(rates(mclstm=67, nau=34), "mclstm", "nau", "addition")
    assert f"{claim['p']:.0e}" == "3e-06"
    (claim,) = beats(rates(mclstm=34, nau=67), "mclstm", "nau", "addition")
    assert claim["p"] > 0.9999
    assert not claim["holds"]
    assert beats(rates(mclstm=96), "mclstm", "nau", "addition") == []
    rows = rates(mclstm=96, nau=88)
    rows[0]["trained"] = 2_000
    (claim,) = beats(rows, "mclstm", "nau", "addition")
    assert claim["claim"].endswith("nau, which was trained for 1 updates instead of 2,000")


def test_a_rate_is_reached_by_its_interval() -> None:
    assert reaches(rates(mclstm=93), "mclstm", "addition")[0]["holds"]
    assert not reaches(rates(mclstm=80), "mclstm", "addition")[0]["holds"]


def test_errors_are_averaged_over_runs_that_converged() -> None:
    values = np.array([1.0, 2.0, 4.0, math.nan, math.inf])
    mse, failed, infinite = error_rows("nau", "count", values, [-1, -1, -1, 3, -1], trained=7)
    t = stats.t.ppf(0.975, 2) * stats.sem([1.0, 2.0, 4.0])
    assert mse["value"] == pytest.approx(7 / 3)
    assert (mse["low"], mse["high"]) == pytest.approx((7 / 3 - t, 7 / 3 + t))
    assert (mse["n"], mse["runs"], failed["value"], failed["paper"]) == (3, 5, 1, 24)
    assert infinite["value"] == 1
    shown = error_table([mse, failed, infinite]).splitlines()[-1].split("|")
    assert [cell.strip() for cell in shown[3:5]] == ["1", "1 (count)"]


def test_models_are_compared_seed_by_seed() -> None:
    ours, *_ = error_rows("mclstm", "count", np.arange(1.0, 9.0), [-1] * 8, protocol="stated")
    theirs, *_ = error_rows("nau", "count", np.append(np.arange(2.0, 8.0), math.nan), [-1] * 6 + [5])
    found = lower(ours, theirs, "below")
    expected = stats.wilcoxon(np.arange(1.0, 7.0), np.arange(2.0, 8.0), alternative="less").pvalue
    assert found["p"] == pytest.approx(expected)
    assert found["test"] == "Wilcoxon test, 6 pairs"
    assert found["holds"]
    claims = addition.claims([ours, theirs])
    assert [c["claim"] for c in claims] == [
        "mclstm, count: the error is at most the paper's 0.6, though ours is of exactly 20 summands, "
        "the paper's of 2 to 20",
        "mclstm, count: the error is below that of nau",
    ]
    published = addition.claims([ours | {"protocol": "published"}])
    assert [c["claim"] for c in published] == ["mclstm, count: the error is at most the paper's 0.6"]
    assert not published[0]["holds"]
    assert published[0]["p"] < 0.01  # 4.5 -+ 2 is far above 0.6 -+ 0.4


def test_runs_that_all_failed_reach_nothing() -> None:
    """A mean of nothing comes back from its file as null."""
    rows = [
        row | {"value": None, "low": None, "high": None}
        for regime in addition.REGIMES
        for row in error_rows("mclstm", regime, np.array([math.nan]), [3])
    ]
    found = addition.claims(rows)
    assert len(found) == len(addition.REGIMES)
    assert not any(claim["holds"] for claim in found)


def test_nobody_is_compared_with_runs_that_all_failed() -> None:
    ours, *_ = error_rows("mclstm", "count", np.arange(1.0, 9.0), [-1] * 8, protocol="stated")
    theirs, *_ = error_rows("nalu", "count", np.full(8, math.nan), [0] * 8)
    assert len(addition.claims([ours, theirs])) == 1


def test_one_run_that_diverges_leaves_the_median_alone() -> None:
    rows = error_rows("nau", "count", np.array([1.0, 2.0, 3.0, 4.0, 1e30, math.nan]), [-1] * 5 + [2])
    means, medians = error_tables(rows).split("medians with quartiles")
    assert "2e+29" in means
    assert medians.splitlines()[-1].split("|")[2].strip() == "3 (2 to 4)"


def test_a_run_without_an_error_is_no_other_budget() -> None:
    result = {
        "test": [1.0, 2.0, None],
        "failed": [-1, -1, 4],
        "solved": {name: [True, False, False] for name in LIMITS},
        "solved_at": {name: [5, -1, -1] for name in LIMITS},
    }
    rows = solved_rows("nalu", "addition", "stated", [result], 200_000, (None, None))
    assert success_table(rows).splitlines()[-1].split("|")[-2].strip() == "3 × 2e5"


def test_tables_show_seeds_and_updates() -> None:
    rows = rates(mclstm=96, nau=88)
    table = success_table(rows)
    assert "| 96 % (90 to 98) | 5" in table
    assert table.splitlines()[2].endswith("| 100 × 1         |")
    assert "published" not in detail_table(rows)
    errors = error_rows("nau", "count", np.array([1.0, 2.0, math.nan]), [-1, -1, 8], trained=7_900)
    assert "3 × 7.9e3" in error_table(errors)
    assert error_table(errors).splitlines()[-1].split("|")[3].strip() == "1"


def test_the_papers_tables_are_whole() -> None:
    assert all(len(by_regime) == 5 for by_regime in ADDITION.values())
    assert set(RECURRENT["mclstm"]) == set(STATIC["mcfc"]) == {"addition", "subtraction", "multiplication"}
    # Those that claims are made of, as printed.
    assert [ADDITION["mclstm"][regime][0] for regime in REGIMES] == [0.004, 0.009, 0.8, 0.6, 4.0]
    assert [RECURRENT["mclstm"][operation][0] for operation in OPERATIONS] == [0.96, 0.81, 0.67]
    assert [RECURRENT[m][o][0] for m, o in (("nau", "addition"), ("nmu", "multiplication"))] == [0.88, 0.34]
    assert all(rate == 1.0 for rate, _ in STATIC["mcfc"].values())
