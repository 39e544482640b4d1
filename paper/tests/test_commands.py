"""`mclstm experiment` end to end at tiny sizes: tables, results, figures, claims, grid, resume, messages."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mclstm.cli.main import main
from mclstm_paper.addition import experiment as addition
from mclstm_paper.arithmetic import experiment as arithmetic
from mclstm_paper.arithmetic.subsets import OPERATIONS
from mclstm_paper.options import Options, Plan
from mclstm_paper.recurrent_arithmetic.experiment import EXPERIMENT as RECURRENT
from mclstm_paper.recurrent_arithmetic.tuned import TUNED_UPDATES
from mclstm_paper.registry import EXPERIMENTS, experiment

TINY = {"train": 40, "validation": 16, "test": 4}
LIMITS = {"stated": 1.0, "published": 1e12}  # the second is solved by everybody
RATE = 1e-4  # of MC-FC for sums
ROW = {"model", "setting", "metric", "n", "value", "low", "high", "paper", "values"}


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addition, "SPLITS", TINY)
    monkeypatch.setattr(arithmetic, "thresholds", lambda task, operation: LIMITS)


def run(name: str, out: Path, *words: str) -> int:
    return main(["experiment", name, "--out", str(out), "--seeds", "2", "--updates", "2", "--quiet", *words])


def rows_of(path: Path) -> dict[tuple[str, str, str], dict[str, Any]]:
    content = json.loads(path.read_text())
    assert set(content) == {"experiment", "protocol", "profile", "made", "rows", "claims"}
    for row in content["rows"]:
        assert set(row) >= ROW
    return {(row["model"], row["setting"], row["metric"]): row for row in content["rows"]}


@pytest.mark.parametrize("name", ["addition", "recurrent-arithmetic", "static-arithmetic"])
def test_quick_makes_every_row_of_the_table(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(name, tmp_path) == 0
    folder = tmp_path / name / "quick-stated"
    shown = capsys.readouterr().out
    rows = rows_of(folder / "stated.json")
    models = experiment(name).models
    assert {model for model, _, _ in rows} == {*models, "constant", "exact"}
    assert all(f"| {model} " in shown for model in (*models, "constant", "exact"))
    assert (folder / "table.md").read_text() in shown
    table = pd.read_csv(folder / "table.csv")
    files = (folder / "stated.json", folder / "stated-variants.json")
    assert len(table) == sum(len(rows_of(path)) for path in files if path.exists())
    metric = "mse" if name == "addition" else "success"
    learned = [row for (model, _, kind), row in rows.items() if kind == metric and model in models]
    assert all(row["trained"] == 2 for row in learned)
    assert all(row.get("runs", row["n"]) == 2 for row in learned)


def test_trivial_rows_are_what_they_say(tmp_path: Path) -> None:
    assert run("addition", tmp_path, "--models", "mclstm") == 0
    rows = rows_of(tmp_path / "addition/quick-stated/stated.json")
    for regime in ("reference", "seq length", "input range", "count", "combo"):
        assert rows["exact", regime, "mse"]["value"] == 0.0
        assert rows["constant", regime, "mse"]["value"] > 0.02
    for name in ("recurrent-arithmetic", "static-arithmetic"):
        assert run(name, tmp_path, "--models", "nau") == 0
        rows = rows_of(tmp_path / name / "quick-stated/stated.json")
        for operation in OPERATIONS:
            assert rows["exact", operation, "success"]["value"] == 1.0
            assert rows["constant", operation, "success"]["value"] == 0.0
            beside = rows["constant", operation, "success (published threshold)"]
            assert beside["value"] == 1.0


def test_rows_of_other_commands_stay_and_claims_are_made_of_all(tmp_path: Path) -> None:
    results_dir = tmp_path / "results"
    words = ["--results", str(results_dir), "--operations", "addition"]
    assert run("recurrent-arithmetic", tmp_path, "--models", "nau", *words) == 0
    path = results_dir / "recurrent-arithmetic/stated.json"
    assert json.loads(path.read_text())["claims"] == []
    assert run("recurrent-arithmetic", tmp_path, "--models", "mclstm", *words) == 0
    assert {model for model, _, _ in rows_of(path)} == {"mclstm", "nau", "constant", "exact"}
    tests = {claim["test"] for claim in json.loads(path.read_text())["claims"]}
    assert tests == {"Wilson interval, 95 %, 2 runs", "proportion test, one-sided"}


def test_rows_say_whose_their_values_are(tmp_path: Path) -> None:
    assert run("addition", tmp_path, "--models", "mclstm", "--first-seed", "3") == 0
    rows = rows_of(tmp_path / "addition/quick-stated/stated.json")
    assert rows["mclstm", "combo", "mse"]["seeds"] == [3, 4]
    made = json.loads((tmp_path / "addition/quick-stated/stated.json").read_text())["made"]
    assert list(made["jobs"]) == ["mclstm/seeds-3-4"]
    assert made["jobs"]["mclstm/seeds-3-4"]["cpu_seconds"] > 0
    words = ["--models", "nau", "--operations", "addition", "--first-seed", "3"]
    assert run("recurrent-arithmetic", tmp_path, *words) == 0
    rows = rows_of(tmp_path / "recurrent-arithmetic/quick-stated/stated.json")
    assert rows["nau", "addition", "success"]["seeds"] == [3, 4]
    assert rows["nau", "addition", "nan"]["values"] == [-1.0, -1.0]


def test_finished_blocks_are_rows_before_the_others_are(tmp_path: Path) -> None:
    plan = Plan(Options(models=("nau",), settings=("addition",), seeds=2, block=1))
    first, second = RECURRENT.jobs(plan)
    result = {
        "test": [1.0], "failed": [-1], "solved": {"stated": [False], "published": [False]},
        "solved_at": {"stated": [-1], "published": [-1]},
    }  # fmt: skip
    rows = RECURRENT.rows(plan, {second.name: result})
    assert first.name != second.name
    assert {tuple(row["seeds"]) for row in rows} == {(1,)}


def test_a_quick_look_never_replaces_the_papers_scale(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "results/addition/stated.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"profile": "paper", "rows": [], "claims": []}')
    before = path.read_text()
    assert run("addition", tmp_path, "--models", "nau", "--results", str(tmp_path / "results")) == 2
    assert "paper's scale" in capsys.readouterr().err
    assert path.read_text() == before


def test_variants_have_a_file_of_their_own_and_figures_are_drawn(tmp_path: Path) -> None:
    results_dir = tmp_path / "results"
    words = ["--models", "mclstm-sum,mclstm-sum-l2", "--results", str(results_dir)]
    assert run("addition", tmp_path, *words) == 0
    rows = rows_of(results_dir / "addition/stated-variants.json")
    assert {model for model, _, _ in rows} == {"mclstm-sum", "mclstm-sum-l2", "constant", "exact"}
    assert rows["exact", "seq length 10000", "mse"]["value"] == 0.0
    assert rows["mclstm-sum", "seq length 10000", "mse"]["n"] == 2
    first, second = (rows[m, "reference", "mse"]["values"] for m in ("mclstm-sum", "mclstm-sum-l2"))
    assert first != second, "L2 on the cells changes nothing"
    assert (results_dir / "addition/stated-addition-cells.svg").exists()
    assert json.loads((results_dir / "addition/stated-reading.json").read_text())["model"] == "mclstm-sum"


def test_gates_of_solved_members_are_read(tmp_path: Path) -> None:
    """By the published threshold of this test everything is solved."""
    words = ["--models", "mclstm,mclstm-two-cells", "--operations", "subtraction", "--protocol", "published"]
    assert run("recurrent-arithmetic", tmp_path, *words) == 0
    folder = tmp_path / "recurrent-arithmetic/quick-published"
    assert (folder / "published-recurrent-weights.png").stat().st_size > 10_000
    assert (folder / "published-variants-weights.png").stat().st_size > 10_000
    read = json.loads((folder / "published-reading.json").read_text())
    assert set(read) == {"mclstm, subtraction", "mclstm-two-cells, subtraction"}
    three, two = (read[f"{model}, subtraction"] for model in ("mclstm", "mclstm-two-cells"))
    assert (len(three["R"]), len(two["R"])) == (3, 2)
    assert three["task"] == "(x5 + x6) - (x6 + x7)"
    assert len(three["sentences"]) == 4
    assert three["solved"]


def test_weights_are_read_though_no_seed_solved_the_task(tmp_path: Path) -> None:
    words = ["--models", "mclstm-two-cells", "--operations", "subtraction", "--block", "1"]
    assert run("recurrent-arithmetic", tmp_path, *words) == 0
    folder = tmp_path / "recurrent-arithmetic/quick-stated"
    (two,) = json.loads((folder / "stated-reading.json").read_text()).values()
    assert not two["solved"]
    assert two["sentences"][0].startswith("None of 2 seeds solved this task; read is the one with the lowest")
    assert two["sentences"][1].startswith("Cell 0, ")
    results = [
        json.loads(path.read_text())["result"]["validation"][0]
        for path in sorted((folder / "jobs/mclstm-two-cells/subtraction").glob("*/result.json"))
    ]
    assert two["seed"] == results.index(min(results))


def test_a_learning_rate_is_chosen_on_validation_data_and_used(tmp_path: Path) -> None:
    words = ["--models", "mcfc", "--operations", "addition", "--seeds", "2", "--updates", "2"]
    grid = ["experiment", "static-arithmetic", "--out", str(tmp_path), "--quiet", "--grid", *words]
    assert main(grid) == 0
    path = tmp_path / "static-arithmetic/quick-stated/stated-rates.json"
    record = json.loads(path.read_text())
    errors = record["validation"]["mcfc/addition"]
    assert set(errors) == {"0.1", "0.05", "0.01", "0.005", "0.001"}
    best = min(errors, key=lambda rate: sum(errors[rate]))
    assert record["choice"] == {"mcfc/addition": float(best)}
    assert run("static-arithmetic", tmp_path, *words[:4], "--rates", str(path)) == 0
    # Jobs of another rate than the recipe's lie beside those of the recipe, and rows say the rate.
    assert float(best) != RATE
    jobs = tmp_path / "static-arithmetic/quick-stated/jobs/mcfc/addition"
    results = tmp_path / "static-arithmetic/quick-stated/stated.json"
    job = jobs / f"rate-{best}/seeds-0-1/job.json"
    assert json.loads(job.read_text())["parameters"]["learning_rate"] == float(best)
    assert rows_of(results)["mcfc", "addition", "success"]["learning_rate"] == float(best)
    assert run("static-arithmetic", tmp_path, *words[:4]) == 0
    assert json.loads((jobs / "seeds-0-1/job.json").read_text())["parameters"]["learning_rate"] is None
    assert rows_of(results)["mcfc", "addition", "success"]["learning_rate"] == RATE
    # The recipe's own rate, chosen, is the same job.
    path.write_text(json.dumps(record | {"choice": {"mcfc/addition": RATE}}))
    assert run("static-arithmetic", tmp_path, *words[:4], "--rates", str(path)) == 0
    assert sorted(path.name for path in jobs.iterdir()) == [f"rate-{best}", "seeds-0-1"]


def test_mistakes_are_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("addtion", tmp_path) == 2
    said = capsys.readouterr().err
    assert all(name in said for name in EXPERIMENTS)
    assert run("addition", tmp_path, "--models", "gru") == 2
    assert "addition has no model 'gru'. Choose from mclstm, " in capsys.readouterr().err
    assert run("addition", tmp_path, "--rates", str(tmp_path / "no.json")) == 2
    assert "holds no chosen learning rates" in capsys.readouterr().err
    assert run("static-arithmetic", tmp_path, "--operations", "division") == 2
    assert "no setting 'division'" in capsys.readouterr().err


def test_the_quick_look_at_recurrent_arithmetic_has_somebody_who_solves_it() -> None:
    goals = {job.parameters["model"]: job.goal for job in RECURRENT.jobs(Plan())}
    assert goals["mclstm-tuned"] == TUNED_UPDATES
    assert goals["mclstm"] < TUNED_UPDATES
    two = Options(models=("mclstm-tuned", "nau"), settings=("addition",))
    jobs = RECURRENT.jobs(Plan(two))
    assert [job.parameters["model"] for job in jobs] == ["nau", "mclstm-tuned"]
    paper = RECURRENT.jobs(Plan(Options(profile="paper")))
    assert "mclstm-tuned" not in {job.parameters["model"] for job in paper}
