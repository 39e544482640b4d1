"""`--add`: seeds that the result files hold are not trained again, and what is known of them stays true."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from experiment_commands import content, paper, run, set_limits, success
from mclstm.jobs.job import Job, Work
from mclstm_paper.addition import experiment as addition
from mclstm_paper.arithmetic import experiment as arithmetic
from mclstm_paper.arithmetic.success import solved_rows
from mclstm_paper.earlier_results import restored_outcome
from mclstm_paper.recurrent_arithmetic.gate_reading import outdated
from mclstm_paper.results import Row, row

JOBS = "out/static-arithmetic/paper-stated/jobs/mcfc/addition"


@pytest.fixture(autouse=True)
def _limits(monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("addition", ("--models", "nalu,mclstm-sum")),
        ("static-arithmetic", ("--models", "nmu,nau,mcfc")),
        ("recurrent-arithmetic", ("--models", "nau,mclstm,mclstm-tuned", "--operations", "addition")),
    ],
)
def test_seeds_of_another_machine_are_not_trained_again(
    name: str, words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(addition, "SPLITS", {"train": 40, "validation": 16, "test": 4})
    # Of MC-FC some solve subtraction by this limit and some do not: nobody can be taken for another.
    monkeypatch.setattr(arithmetic, "thresholds", lambda *_: {"stated": 5e3, "published": 3e3})
    command = [*words, "--profile", "paper", "--updates", "2", "--block", "1", "--seeds"]
    for seeds in ("2", "3"):
        assert run(tmp_path / "one", name, *command, seeds) == 0
    assert run(tmp_path / "other", name, *command, "2") == 0
    before = content(tmp_path / "other", f"{name}/stated.json")["made"]["jobs"]
    shutil.rmtree(tmp_path / "other/out")
    assert run(tmp_path / "other", name, *command, "3", "--add") == 0
    trained = {path.parent.name for path in (tmp_path / "other/out").rglob("result.json")}
    assert trained == {"seeds-2-2"}
    for file in (tmp_path / "one/results" / name).glob("*.json"):
        both = [content(tmp_path / folder, f"{name}/{file.name}") for folder in ("one", "other")]
        if "rows" in both[0]:
            assert both[0]["rows"] == both[1]["rows"]
            assert set(both[0]["made"]["jobs"]) == set(both[1]["made"]["jobs"])
            assert (
                before.items() <= content(tmp_path / "other", f"{name}/stated.json")["made"]["jobs"].items()
            )


def test_a_block_of_known_and_new_seeds_is_cut_between_them(tmp_path: Path) -> None:
    """At the block size everybody has: those of another machine need not know how it was asked."""
    assert paper(tmp_path, "--seeds", "2", "--updates", "2") == 0
    shutil.rmtree(tmp_path / "out")
    assert paper(tmp_path, "--seeds", "5", "--updates", "2", "--add") == 0
    assert [path.name for path in (tmp_path / JOBS).iterdir()] == ["seeds-2-4"]
    assert success(tmp_path)["seeds"] == [0, 1, 2, 3, 4]


def test_another_rate_or_length_is_another_training(tmp_path: Path) -> None:
    assert paper(tmp_path, "--seeds", "1", "--updates", "2") == 0
    shutil.rmtree(tmp_path / "out")
    assert paper(tmp_path, "--seeds", "1", "--updates", "3", "--add") == 0
    assert (tmp_path / JOBS / "seeds-0-0/result.json").exists()
    rates = tmp_path / "rates.json"
    rates.write_text(json.dumps({"experiment": "static-arithmetic", "choice": {"mcfc/addition": 0.5}}))
    assert paper(tmp_path, "--seeds", "1", "--updates", "3", "--add", "--rates", str(rates)) == 0
    assert (tmp_path / JOBS / "rate-0.5/seeds-0-0/result.json").exists()
    assert success(tmp_path)["learning_rate"] == 0.5


def test_seeds_of_a_quick_look_are_trained_for_the_papers_table(tmp_path: Path) -> None:
    words = ["--models", "mcfc", "--operations", "addition", "--seeds", "1", "--updates", "2"]
    assert run(tmp_path, "static-arithmetic", *words) == 0
    assert run(tmp_path, "static-arithmetic", *words, "--profile", "paper", "--add") == 0
    assert (tmp_path / JOBS / "seeds-0-0/result.json").exists()


def test_blocks_of_another_size_keep_what_the_seeds_cost(tmp_path: Path) -> None:
    assert paper(tmp_path, "--seeds", "2", "--updates", "2", "--block", "1") == 0
    before = content(tmp_path)["made"]["jobs"]
    shutil.rmtree(tmp_path / "out")
    assert paper(tmp_path, "--seeds", "3", "--updates", "2", "--block", "2", "--add") == 0
    after = content(tmp_path)["made"]["jobs"]
    assert before.items() <= after.items()
    assert set(after) == {f"mcfc/addition/seeds-{seed}-{seed}" for seed in range(3)}
    # Trained again, they cost what they cost now.
    assert paper(tmp_path, "--seeds", "3", "--updates", "2") == 0
    assert set(content(tmp_path)["made"]["jobs"]) == {"mcfc/addition/seeds-0-2"}


@pytest.mark.parametrize("kept", [True, False])
def test_seeds_that_were_added_do_not_unsay_what_others_solved(
    kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["--models", "mclstm", "--operations", "addition", "--updates", "1", "--block", "1", "--seeds"]
    command = ["recurrent-arithmetic", "--protocol", "published", *words]
    path = tmp_path / "results/recurrent-arithmetic/published-reading.json"
    assert run(tmp_path, *command, "1") == 0
    before = path.read_text()
    assert json.loads(before)["mclstm, addition"]["solved"]
    if not kept:
        path.unlink()
    shutil.rmtree(tmp_path / "out")
    set_limits(monkeypatch, published=0.0)
    assert run(tmp_path, *command, "2", "--add") == 0
    assert (path.read_text() == before) if kept else not path.exists()


def test_a_reading_is_outdated_by_more_seeds_or_by_one_that_solved_the_task() -> None:
    def success_of(values: list[float]) -> list[Row]:
        return [row("addition", "mclstm", "success", values) | {"value": sum(values) / len(values)}]

    unsolved = {"solved": False, "seeds": 2}
    assert not outdated("mclstm, addition", unsolved, success_of([0.0, 0.0]))
    assert outdated("mclstm, addition", unsolved, success_of([0.0, 0.0, 0.0]))
    assert outdated("mclstm, addition", unsolved, success_of([0.0, 1.0]))
    assert not outdated("mclstm, addition", unsolved | {"solved": True}, success_of([0.0, 0.0, 0.0]))
    assert not outdated("mclstm, subtraction", unsolved, success_of([0.0, 1.0]))
    assert not outdated("seed", 3, success_of([0.0, 1.0]))  # of the addition problem: gates by name


def outcome_rows() -> tuple[Job, list[Row], dict[str, Any]]:
    """A job of seeds 4 and 5 among the rows of three, with what it gave."""
    solved = {"stated": [False, True, False], "published": [True, True, False]}
    outcome = {
        "test": [3.0, 1.0, None], "failed": [-1, -1, 7], "solved": solved,
        "solved_at": {"stated": [-1, 20, -1], "published": [10, 20, -1]}, "sparsity": [0.5, 0.25, None],
    }  # fmt: skip
    parameters = {"model": "nau", "operation": "addition", "protocol": "stated", "seeds": [4, 5]}
    rows = solved_rows(
        "nau", "addition", "stated", [outcome], 9, (None, None), seeds=[3, 4, 5], learning_rate=0.1
    )
    wanted = {
        key: {name: one[1:] for name, one in values.items()} if isinstance(values, dict) else values[1:]
        for key, values in outcome.items()
    }
    return Job("nau", Work("nau", dict), parameters, 9), rows, wanted


def test_rows_give_back_what_the_job_gave() -> None:
    job, rows, wanted = outcome_rows()
    outcome = restored_outcome(job, rows, 0.1)
    assert outcome is not None
    assert [str(value) for value in outcome.pop("test")] == ["1.0", "nan"]
    assert outcome == {key: value for key, value in wanted.items() if key != "test"}


@pytest.mark.parametrize(
    "metric", ["success", "updates", "mse", "nan", "success (published threshold)", "sparsity",
               "updates (published threshold)"],
)  # fmt: skip
def test_rows_of_another_shape_are_not_of_the_job(metric: str) -> None:
    job, rows, _ = outcome_rows()
    others = [r for r in rows if r["metric"] != metric]
    assert len(others) == len(rows) - 1
    if metric != "sparsity":  # which not every model has
        assert restored_outcome(job, others, 0.1) is None
    (mine,) = [r for r in rows if r["metric"] == metric]
    for values in (mine["values"][1:], [*mine["values"], 0.0]):
        assert restored_outcome(job, [*others, mine | {"values": values}], 0.1) is None
