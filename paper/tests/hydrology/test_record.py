"""Comparisons as rows and claims of result files: the paper's table, its claims, and the blocks of pages."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mclstm.errors import DataError
from mclstm.evaluation.comparison import ModelScores, pairwise_tests
from mclstm.evaluation.ensemble import model_scores
from mclstm_paper.hydrology.comparison_claims import claims_between, claims_of, models_by_site, still_true
from mclstm_paper.hydrology.page import BLOCKS, CONSERVING, FOLDER, NO_ROWS, comparison_table
from mclstm_paper.hydrology.record import (
    main,
    paper_rows,
    rows_of,
    update_results,
    updated,
    with_costs,
)
from mclstm_paper.registry import experiment
from support.basin_runs import members, train_basins
from support.flows import flows
from support.shared_data import shared

SITES = tuple(f"{number:02}" for number in range(12))
HYDROLOGY = (
    *("hydrology", "hydrology-variants", "hydrology-ablation"),
    *("hydrology-unseen", "hydrology-fine-tuning", "hydrology-guided"),
)


def models() -> list[ModelScores]:
    ours = model_scores("mclstm", [flows(SITES, seed=seed) for seed in (1, 2)], conserving=True)
    worse = np.linspace(0.1, 0.3, 12)[:, np.newaxis]  # no ties, for which scipy would try every permutation
    process = ours[-1].frames[0][["nse", "beta-nse"]] - worse
    return [*ours, ModelScores("sac-sma", (process,), True)]


def test_rows_have_the_shape_of_result_files() -> None:
    rows = rows_of(models(), "447 basins", like_paper=True)
    row = next(row for row in rows if (row["model"], row["metric"]) == ("mclstm-ensemble", "nse"))
    assert set(row) == {"model", "setting", "metric", "n", "value", "low", "high", "paper", "values", "sites"}
    assert (row["n"], row["paper"], len(row["values"])) == (2, 0.744, 12)
    single = next(row for row in rows if (row["model"], row["metric"]) == ("mclstm", "fhv"))
    assert (single["n"], single["paper"], len(single["values"])) == (2, -13.9, 2)
    assert not [row for row in rows if row["model"] == "sac-sma" and row["metric"] in ("flv", "kge")]
    others = rows_of(models()[-1:], "447 basins", like_paper=False, keep_sites=False)
    assert all(row["values"] == [] and row["paper"] is None for row in others)


def test_cells_that_nothing_gives_are_the_papers_and_marked() -> None:
    rows = rows_of(models(), "447 basins", like_paper=True)
    full = rows + paper_rows("447 basins", rows)
    table = comparison_table(full)
    lines = {line.split("|")[1].strip(): line for line in table.splitlines() if line.startswith("|")}
    assert set(lines) >= {"MC-LSTM ensemble", "MC-LSTM single", "SAC-SMA", "VIC (regional)", "FUSE (904)"}
    assert "*-20.4 (-29.9 to -12.2)* †" in lines["SAC-SMA"]
    assert lines["VIC (regional)"].count("†") == 4
    assert "†" not in lines["MC-LSTM ensemble"]
    assert "±" in lines["MC-LSTM single"]
    assert " 0.744 " in lines["MC-LSTM ensemble"]
    assert lines["LSTM ensemble"].split("|")[2:5] == [" no ", " – ", " 0.763 "]  # not trained here: not ours
    assert lines["LSTM single"].split("|")[3:5] == [" – ", " 0.737 "]
    assert "† the paper's value" in table
    alone = comparison_table(rows_of(models(), "12 basins", like_paper=False))
    assert "paper" not in alone
    assert "†" not in alone


def test_claims_say_who_is_better_both_ways() -> None:
    claims = claims_of(pairwise_tests(models()), "mclstm-ensemble")
    found = {claim["claim"]: claim for claim in claims}
    assert found["mclstm-ensemble is better than sac-sma in nse"]["holds"] is True
    assert found["sac-sma is better than mclstm-ensemble in nse"]["holds"] is False
    assert found["sac-sma is better than mclstm-ensemble in nse"]["p"] > 0.99
    whole = found["mclstm-ensemble is better in nse than every mass-conserving model of others, by site"]
    assert whole["holds"] is True
    assert whole["p"] == found["mclstm-ensemble is better than sac-sma in nse"]["p"]
    assert set(whole) == {"claim", "test", "p", "holds"}


def test_a_result_file_keeps_other_rows_and_replaces_the_same(tmp_path: Path) -> None:
    rows = rows_of(models(), "447 basins", like_paper=True)
    file = tmp_path / "hydrology" / "stated.json"
    update_results(file, rows, [{"claim": "c", "test": "t", "p": 0.5, "holds": False}])
    other = {**rows[0], "setting": "30 basins"}
    content = json.loads(file.read_text())
    file.write_text(json.dumps(updated(content, [other], [])))
    update_results(file, [{**rows[0], "value": 0.9}], [{"claim": "c", "test": "t", "p": 0.01, "holds": True}])
    stale = {"claim": "mclstm is better than lstm in nse", "test": "t", "p": 0.01, "holds": True}
    update_results(file, [], [stale])
    update_results(file, [{**rows[0], "value": 0.9 + 1e-12}], [])  # rounding
    assert stale in json.loads(file.read_text())["claims"]
    update_results(file, [{**rows[0], "value": 0.91}], [])
    assert stale not in json.loads(file.read_text())["claims"]
    update_results(file, [{**rows[0], "value": 0.9}], [])
    update_results(file, [{**rows[0], "value": None, "n": 0}], [])  # the paper's alone: 0.9 was measured
    content = json.loads(file.read_text())
    assert content["experiment"] == "hydrology"
    assert len(content["rows"]) == len(rows) + 1
    assert sum(row["value"] == 0.9 for row in content["rows"]) == 1
    assert content["claims"] == [{"claim": "c", "test": "t", "p": 0.01, "holds": True}]
    file.write_text("[]")
    with pytest.raises(DataError, match="is not a result file"):
        update_results(file, rows, [])


def test_a_score_made_again_is_of_the_same_look_at_the_test_years() -> None:
    first, second = rows_of(models(), "447 basins", like_paper=True)[:2]
    content = {"rows": [first | {"scoring": 2}, second | {"scoring": 2}], "claims": []}
    content |= {"made": {"wall_seconds": 1.0}}
    again = updated(content, [first, second | {"value": 0.1}], [])["rows"]
    assert [row.get("scoring") for row in again] == [2, None]


def test_models_by_site_are_compared_as_their_simulations_were() -> None:
    every = models()
    rows = rows_of(every, "12 basins", like_paper=False)
    again = models_by_site(rows)
    assert [model.name for model in again] == ["mclstm-ensemble", "sac-sma"]  # several seeds are left out
    pd.testing.assert_frame_equal(pairwise_tests(again), pairwise_tests(every), check_like=True, rtol=1e-4)
    assert claims_between(again) == claims_of(pairwise_tests(again), "mclstm-ensemble")


def test_comparisons_stay_until_the_same_two_are_compared_again_or_one_has_other_scores() -> None:
    texts = (
        "hybrid-ensemble is better than lstm in nse",
        "mclstm is better than lstm in nse",
        "hybrid-temperature-ensemble is better than lstm in nse",
        "hybrid is better in fhv than every LSTM of ours",
        "mclstm closes",
    )
    old = [{"claim": text, "test": "t", "p": 0.5, "holds": False} for text in texts]
    assert [old.index(one) for one in still_true(old, [], {"hybrid-ensemble"})] == [1, 2, 4]
    # A third model is compared with both of a pair, which says nothing of the pair.
    again = ("mclstm is better than hybrid-ensemble in nse", "lstm is better than mclstm in fhv", texts[4])
    new = [{**old[0], "claim": text} for text in again]
    assert [old.index(one) for one in still_true(old, new, set())] == [0, 1, 2, 3]
    again = ("lstm is better than hybrid-ensemble in nse", "hybrid is better in fhv than every other")
    new = [{**old[0], "claim": text} for text in again]
    assert [old.index(one) for one in still_true(old, new, set())] == [1, 2, 4]


def test_the_papers_sentences_are_not_about_our_other_conserving_models() -> None:
    hybrid = ModelScores("hybrid-ensemble", (models()[1].frames[0] + 0.01,), True)
    found = {one["claim"]: one for one in claims_of(pairwise_tests([*models(), hybrid]), "mclstm-ensemble")}
    assert found["hybrid-ensemble is better than mclstm-ensemble in nse"]["holds"]
    assert found["mclstm-ensemble is better in nse than every mass-conserving model of others, by site"][
        "holds"
    ]


def test_blocks_say_when_nothing_was_measured_and_show_what_was(tmp_path: Path) -> None:
    every = [block for name in HYDROLOGY for block in experiment(name).blocks.values()]
    assert len(every) == 19
    assert all(block(tmp_path).startswith("Not measured yet") for block in every)
    assert BLOCKS["hydrology"](tmp_path) == NO_ROWS
    rows = rows_of(models(), "447 basins", like_paper=True)
    snow = {**rows[0], "setting": "basin 01031500, 4 cells", "metric": "swe-r", "value": 0.876, "paper": 0.91}
    claims = claims_of(pairwise_tests(models()), "mclstm-ensemble")
    tuned = {**snow, "model": "mclstm-tuned"}
    update_results(tmp_path / FOLDER / "stated.json", [*rows, snow, tuned], claims)
    assert "| SAC-SMA | yes |" in BLOCKS["hydrology"](tmp_path)
    assert "\n| SAC-SMA | better (< 0.001)" in BLOCKS["hydrology-tests"](tmp_path)
    assert "* mclstm-ensemble is better in nse than every" in BLOCKS["hydrology-tests"](tmp_path)
    assert "0.88" in BLOCKS["hydrology-snow"](tmp_path)
    assert "\n| MC-LSTM tuned | basin 01031500" in BLOCKS["hydrology-snow"](tmp_path)


def test_what_a_free_head_predicts_counts_as_no_mass() -> None:
    kept = {"mclstm", "mclstm-tuned-ensemble", "sac-sma"}
    free = {"lstm", "lstm-tuned", "ealstm-kratzert2019", "mclstm-evapotranspiration"}
    assert all(CONSERVING[name] for name in kept)
    assert not any(CONSERVING[name] for name in free)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs on three real basins, and the result file of their comparison."""
    root = tmp_path_factory.mktemp("record")
    with pytest.MonkeyPatch.context() as patch:
        train_basins(root, patch)
        main([
            str(root / "runs" / "camels"), "--benchmarks", str(shared("benchmarks")),
            "--simulations", str(root / "simulations"), "--snow", str(shared("snow17")),
            "--results", str(root / FOLDER / "stated.json"),
        ])  # fmt: skip
    return root


def test_the_result_file_has_rows_and_claims(recorded: Path) -> None:
    content = json.loads((recorded / FOLDER / "stated.json").read_text())
    metrics = {(row["model"], row["metric"]) for row in content["rows"]}
    assert {("mclstm-ensemble", "nse"), ("sac-sma", "beta-nse"), ("lstm-kratzert2019", "flv"),
            ("mclstm", "swe-r"), ("calendar", "swe-r"), ("modelled-et", "et-ratio")} <= metrics  # fmt: skip
    assert {row["setting"] for row in content["rows"]} >= {"3 basins", "basin 01031500, 4 cells"}
    paper = {(row["setting"], row["metric"]): row["paper"] for row in content["rows"]}
    assert paper["basin 01031500, 4 cells", "swe-r"] == 0.91
    assert [value for value in paper.values() if value is not None] == [0.91]
    closes = [claim for claim in content["claims"] if "closes the mass balance" in claim["claim"]]
    assert [claim["holds"] for claim in closes] == [True]
    ours = next(row for row in content["rows"] if (row["model"], row["metric"]) == ("mclstm", "nse"))
    assert len(ours["training"]["cpu_seconds"]) == 2
    assert "| MC-LSTM | basin 01031500, losses against PET |" in BLOCKS["hydrology-evapotranspiration"](
        recorded
    )


def test_claims_are_about_the_model_that_conserves(recorded: Path) -> None:
    claims = json.loads((recorded / FOLDER / "stated.json").read_text())["claims"]
    whole = [claim["claim"] for claim in claims if " than every " in claim["claim"]]
    assert whole
    assert all(claim.startswith("mclstm-ensemble ") for claim in whole)


def test_costs_of_members_and_of_a_run_that_kept_none(recorded: Path, tmp_path: Path) -> None:
    run = members(recorded, "mclstm")[0]
    (row,) = with_costs([{"model": "mclstm"}], [run, tmp_path / "before"])
    assert row["training"]["commit"][1] is None
    assert row["training"]["cpu_seconds"][0] > 0
    assert row["training"]["cpu_seconds"][1] is None


def test_other_basins_have_no_numbers_of_the_paper_and_mistakes_are_one_sentence(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, file = str(recorded / "runs" / "camels"), str(tmp_path / "stated.json")
    main([runs, "--results", file])
    out = capsys.readouterr().out
    assert "These are not the paper's 447 basins" in out
    assert "| MC-LSTM ensemble | yes |" in out
    with pytest.raises(SystemExit, match="2"):
        main([runs, "--split", "train", "--results", file])
    assert "has not been evaluated on train" in capsys.readouterr().err
