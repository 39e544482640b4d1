"""What commands leave in result files: nothing of an earlier command is lost, whatever is asked for next."""

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from experiment_commands import before_seed, content, fail, paper, run, set_limits, success
from mclstm.errors import ConfigError
from mclstm.jobs.job import alone
from mclstm_paper.hnn.mass_training import series_recipe
from mclstm_paper.options import Options, Plan
from mclstm_paper.pendulum.settings import Recipe, recipe
from mclstm_paper.recurrent_arithmetic import gate_matrices
from mclstm_paper.registry import experiment
from mclstm_paper.result_files import made_by, require_counted, subject, write
from mclstm_paper.results import Row, merge_rows, row

RESULTS = Path(__file__).parents[2] / "results"


@pytest.fixture(autouse=True)
def _limits(monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch)


@pytest.mark.parametrize(
    "words", [("--seeds", "1", "--updates", "2"), ("--seeds", "2", "--updates", "1", "--block", "1"),
              ("--seeds", "2", "--updates", "2", "--first-seed", "1")],
)  # fmt: skip
def test_less_never_replaces_more(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert paper(tmp_path, "--seeds", "2", "--updates", "2") == 0
    before = content(tmp_path)
    assert paper(tmp_path, *words) == 2
    assert "mcfc (addition) with 2 seeds from 0 and 2 updates" in capsys.readouterr().err
    assert content(tmp_path) == before
    assert paper(tmp_path, "--seeds", "3", "--updates", "4") == 0
    assert (success(tmp_path)["seeds"], success(tmp_path)["trained"]) == ([0, 1, 2], 4)


def test_a_quick_look_never_replaces_variants_at_the_papers_scale(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--models", "mclstm-two-cells", "--operations", "subtraction", "--seeds", "1", "--updates", "1"]
    assert run(tmp_path, "recurrent-arithmetic", "--profile", "paper", *words) == 0
    before = content(tmp_path, "recurrent-arithmetic/stated-variants.json")
    assert run(tmp_path, "recurrent-arithmetic", *words) == 2
    assert "stated-variants.json holds results at the paper's scale" in capsys.readouterr().err
    assert content(tmp_path, "recurrent-arithmetic/stated-variants.json") == before


def test_blocks_in_training_replace_no_whole_row() -> None:
    old = [row("addition", "nau", "success", [1.0, 1.0]) | {"seeds": [0, 1]}]
    part, whole = (row("addition", "nau", "success", [0.0] * n) | {"seeds": list(range(n))} for n in (1, 2))
    assert merge_rows(old, [part], careful=True) == old
    assert merge_rows(old, [whole], careful=True) == [whole]
    assert merge_rows(old, [part]) == [part]


def test_files_name_the_jobs_of_operations_that_were_not_run_again(tmp_path: Path) -> None:
    scale = ["--seeds", "1", "--updates", "1"]
    for operation in ("addition", "subtraction", "addition"):
        assert paper(tmp_path, *scale, operation=operation) == 0
    assert set(content(tmp_path)["made"]["jobs"]) == {
        "mcfc/addition/seeds-0-0", "mcfc/subtraction/seeds-0-0",
    }  # fmt: skip


def test_a_known_cost_stays_where_the_job_has_lost_its_own(tmp_path: Path) -> None:
    scale = ["--seeds", "1", "--updates", "1"]
    assert paper(tmp_path, *scale) == 0
    jobs = content(tmp_path)["made"]["jobs"]
    assert all(cost["cpu_seconds"] is not None for cost in jobs.values())
    for note in tmp_path.rglob("cost.json"):
        note.unlink()
    assert paper(tmp_path, *scale) == 0
    assert content(tmp_path)["made"]["jobs"] == jobs


def test_two_commands_at_once_lose_nothing(tmp_path: Path) -> None:
    """The second waits until the first has written."""
    task, plan = experiment("static-arithmetic"), Plan(Options(profile="paper"), tmp_path)
    rows = {m: [row("addition", m, "success", [1.0]) | {"trained": 1}] for m in ("mcfc", "nau")}
    write(task, plan, rows["mcfc"], tmp_path / "results", 1.0)
    second = threading.Thread(target=write, args=(task, plan, rows["nau"], tmp_path / "results", 1.0))
    with alone(tmp_path / "results"):
        second.start()
        second.join(timeout=0.3)
        assert second.is_alive()
    second.join()
    rows = json.loads((tmp_path / "results/stated.json").read_text())["rows"]
    assert [r["model"] for r in rows] == ["mcfc", "nau"]


def test_figures_show_what_earlier_commands_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[list[str]] = []
    drawn = gate_matrices.gate_matrices
    monkeypatch.setattr(
        gate_matrices, "gate_matrices", lambda rows: (shown.append(list(rows)), drawn(rows))[1]
    )
    for operation in ("subtraction", "addition"):
        words = ["--models", "mclstm", "--operations", operation, "--seeds", "1", "--updates", "1"]
        assert run(tmp_path, "recurrent-arithmetic", *words) == 0
    assert [[("+" in t, "-" in t.split(",")[1]) for t in titles] for titles in shown] == [
        [(True, True)], [(True, False), (True, True)],
    ]  # fmt: skip


def test_readings_of_a_quick_look_do_not_stay_in_the_papers_file(tmp_path: Path) -> None:
    scale = ["--models", "mclstm", "--seeds", "1", "--updates", "1", "--operations"]
    assert run(tmp_path, "recurrent-arithmetic", *scale, "addition") == 0
    assert run(tmp_path, "recurrent-arithmetic", "--profile", "paper", *scale, "subtraction") == 0
    assert set(content(tmp_path, "recurrent-arithmetic/stated-reading.json")) == {"mclstm, subtraction"}


def some_rows(seeds: list[int], trained: int) -> list[Row]:
    return [row("addition", "mcfc", "success", [1.0] * len(seeds)) | {"seeds": seeds, "trained": trained}]


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize(("seeds", "trained"), [([1, 2, 3], 9), ([0, 1], 8)])
def test_what_another_command_wrote_meanwhile_is_kept(
    seeds: list[int], trained: int, partial: bool, tmp_path: Path
) -> None:
    task, plan = experiment("static-arithmetic"), Plan(Options(profile="paper"), tmp_path)
    write(task, plan, some_rows([0, 1], 9), tmp_path, 1.0)
    write(task, plan, some_rows(seeds, trained), tmp_path, 1.0, partial)
    (row,) = json.loads((tmp_path / "stated.json").read_text())["rows"]
    assert (row["seeds"], row["trained"]) == ([0, 1], 9)
    write(task, plan, some_rows([0, 1, 2], 9), tmp_path, 1.0, partial)
    (row,) = json.loads((tmp_path / "stated.json").read_text())["rows"]
    assert row["seeds"] == [0, 1, 2]


def test_a_command_says_what_the_file_did_not_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    task, plan = experiment("static-arithmetic"), Plan(Options(profile="paper"), tmp_path)
    place = tmp_path / "results/static-arithmetic"
    before_seed(monkeypatch, 0, lambda: write(task, plan, some_rows([3, 4], 9), place, 1.0) and None)
    assert paper(tmp_path, "--seeds", "1", "--updates", "2") == 0
    assert success(tmp_path)["seeds"] == [3, 4]
    assert "The result file holds more of mcfc (addition) than this command made" in capsys.readouterr().out


def test_a_quick_look_that_is_stopped_replaces_no_whole_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["--models", "mcfc", "--operations", "addition", "--seeds", "2", "--block", "1", "--updates"]
    assert run(tmp_path, "static-arithmetic", *words, "1") == 0
    before_seed(monkeypatch, 1, fail)
    assert run(tmp_path, "static-arithmetic", *words, "2") == 2
    assert (success(tmp_path)["seeds"], success(tmp_path)["trained"]) == ([0, 1], 1)


def test_trivial_predictions_stand_beside_the_first_finished_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_seed(monkeypatch, 1, fail)
    assert paper(tmp_path, "--seeds", "2", "--block", "1", "--updates", "1") == 2
    assert success(tmp_path)["seeds"] == [0]
    assert {r["model"] for r in content(tmp_path)["rows"]} == {"mcfc", "constant", "exact"}


@pytest.mark.parametrize("name", ["hydrology", "hydrology-variants", "hydrology-ablation"])
def test_a_finished_member_does_not_replace_all_of_a_model(name: str, tmp_path: Path) -> None:
    """Older rows of hydrology say how many members they are of, not which; of the ablation, how many runs."""
    task, plan = experiment(name), Plan(Options(profile="paper", data=tmp_path), tmp_path)
    several, one = (row("5 basins", "mclstm", "nse", [0.5] * n) | {"runs": n} for n in (3, 1))
    if name == "hydrology-ablation":
        one["n"] = 3  # of the planned ones, as its rows have a place for each
    else:
        del several["runs"], one["runs"]
    (path,) = write(task, plan, [several], tmp_path, 1.0)
    for partial in (True, False):
        write(task, plan, [one], tmp_path, 1.0, partial)
        (written,) = json.loads(path.read_text())["rows"]
        assert written["values"] == [0.5] * 3


def test_other_members_do_not_replace_those_of_a_file(tmp_path: Path) -> None:
    task, plan = experiment("hydrology"), Plan(Options(profile="paper", data=tmp_path), tmp_path)
    first, others = (row("5 basins", "mclstm", "nse", [0.5] * 2) | {"seeds": s} for s in ([0, 1], [2, 3]))
    (path,) = write(task, plan, [first], tmp_path, 1.0)
    write(task, plan, [others], tmp_path, 1.0)
    assert json.loads(path.read_text())["rows"][0]["seeds"] == [0, 1]


def test_jobs_are_matched_with_rows_by_their_folders() -> None:
    arithmetic, addition = experiment("recurrent-arithmetic"), experiment("addition")
    assert subject("nau/addition/seeds-0-9", arithmetic) == ("nau", "addition")
    assert not made_by("nau/addition/seeds-0-9", arithmetic, {("nau", "subtraction")})
    assert made_by("nau/seeds-0-9", addition, {("nau", "seq length")})


def test_another_recipe_needs_another_number_of_its_scoring(tmp_path: Path) -> None:
    old = [row("all", "mclstm", "mse", [1.0]) | {"scorings": 1, "recipe": "abc"}]
    require_counted(tmp_path, old, [old[0] | {"recipe": "abc"}, old[0] | {"model": "lstm", "recipe": "def"}])
    require_counted(tmp_path, old, [old[0] | {"scorings": 2, "recipe": "def"}])
    with pytest.raises(
        ConfigError, match=r"scoring 1 of mclstm with another recipe \(abc; now def\)\. Raise"
    ):
        require_counted(tmp_path, old, [old[0] | {"recipe": "def"}])


@pytest.mark.parametrize("protocol", ["stated", "published"])
@pytest.mark.parametrize(("name", "recipe_of"), [("pendulum", recipe), ("hnn", series_recipe)])
def test_committed_rows_are_of_the_recipes_in_the_code(
    name: str, recipe_of: Callable[..., Recipe], protocol: str
) -> None:
    content = json.loads((RESULTS / name / f"{protocol}.json").read_text())
    counted = [one for one in content["rows"] if "recipe" in one]
    assert counted
    for one in counted:
        plan = recipe_of(one["model"], protocol)
        assert (one["scorings"], one["recipe"]) == (plan.scoring, plan.digest())
