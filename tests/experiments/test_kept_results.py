"""What commands leave in result files: nothing of an earlier command is lost, whatever is asked for next."""

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from mclstm.cli.main import main
from mclstm.errors import ConfigError
from mclstm.experiments import addition, recurrent_arithmetic, static_arithmetic
from mclstm.experiments.experiment import Options
from mclstm.experiments.grid import chosen_rates
from mclstm.experiments.locks import alone
from mclstm.experiments.result_files import write
from mclstm.experiments.run import experiment
from mclstm.report.results import merged, row

STATIC = "static-arithmetic/stated.json"


@pytest.fixture(autouse=True)
def _limits(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (recurrent_arithmetic, static_arithmetic):
        monkeypatch.setattr(module, "thresholds", lambda task, operation: {"stated": 1.0, "published": 1e12})


def run(folder: Path, name: str, *words: str) -> int:
    places = ["--out", str(folder / "out"), "--results", str(folder / "results"), "--quiet"]
    return main(["experiment", name, *places, *words])


def paper(folder: Path, *words: str, model: str = "mcfc", operation: str = "addition") -> int:
    asked = ["--profile", "paper", "--models", model, "--operations", operation]
    return run(folder, "static-arithmetic", *asked, *words)


def content(folder: Path, file: str = STATIC) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "results" / file).read_text())
    return found


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
    (found,) = [r for r in content(tmp_path)["rows"] if (r["model"], r["metric"]) == ("mcfc", "success")]
    assert (found["seeds"], found["trained"]) == ([0, 1, 2], 4)


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
    assert merged(old, [part], careful=True) == old
    assert merged(old, [whole], careful=True) == [whole]
    assert merged(old, [part]) == [part]


def test_files_name_the_jobs_of_operations_that_were_not_run_again(tmp_path: Path) -> None:
    scale = ["--seeds", "1", "--updates", "1"]
    for operation in ("addition", "subtraction", "addition"):
        assert paper(tmp_path, *scale, operation=operation) == 0
    assert set(content(tmp_path)["made"]["jobs"]) == {
        "mcfc/addition/seeds-0-0", "mcfc/subtraction/seeds-0-0",
    }  # fmt: skip


def test_two_commands_at_once_lose_nothing(tmp_path: Path) -> None:
    """The second waits until the first has written."""
    asked, options = experiment("static-arithmetic"), Options(profile="paper", root=tmp_path)
    rows = {m: [row("addition", m, "success", [1.0]) | {"trained": 1}] for m in ("mcfc", "nau")}
    write(asked, options, rows["mcfc"], tmp_path / "results", 1.0)
    second = threading.Thread(target=write, args=(asked, options, rows["nau"], tmp_path / "results", 1.0))
    with alone(tmp_path / "results"):
        second.start()
        second.join(timeout=0.3)
        assert second.is_alive()
    second.join()
    kept = json.loads((tmp_path / "results/stated.json").read_text())["rows"]
    assert [r["model"] for r in kept] == ["mcfc", "nau"]


def test_figures_show_what_earlier_commands_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[list[str]] = []
    drawn = recurrent_arithmetic.gate_matrices
    monkeypatch.setattr(
        recurrent_arithmetic, "gate_matrices", lambda rows: (shown.append(list(rows)), drawn(rows))[1]
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
    monkeypatch.setattr(static_arithmetic, "thresholds", lambda *_: {"stated": 5e3, "published": 3e3})
    asked = [*words, "--profile", "paper", "--updates", "2", "--block", "1", "--seeds"]
    for seeds in ("2", "3"):
        assert run(tmp_path / "one", name, *asked, seeds) == 0
    assert run(tmp_path / "other", name, *asked, "2") == 0
    before = content(tmp_path / "other", f"{name}/stated.json")["made"]["jobs"]
    shutil.rmtree(tmp_path / "other/out")
    assert run(tmp_path / "other", name, *asked, "3", "--add") == 0
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


def test_another_rate_or_length_is_another_training(tmp_path: Path) -> None:
    assert paper(tmp_path, "--seeds", "1", "--updates", "2") == 0
    shutil.rmtree(tmp_path / "out")
    assert paper(tmp_path, "--seeds", "1", "--updates", "3", "--add") == 0
    assert (tmp_path / "out/static-arithmetic/paper-stated/jobs/mcfc/addition/seeds-0-0/result.json").exists()
    rates = tmp_path / "rates.json"
    rates.write_text(json.dumps({"experiment": "static-arithmetic", "choice": {"mcfc/addition": 0.5}}))
    assert paper(tmp_path, "--seeds", "1", "--updates", "3", "--add", "--rates", str(rates)) == 0
    (found,) = [r for r in content(tmp_path)["rows"] if (r["model"], r["metric"]) == ("mcfc", "success")]
    assert found["learning_rate"] == 0.5


def test_choices_of_rates_stay_beside_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grid = ["--models", "mcfc", "--updates", "1", "--grid", "--operations"]
    for operation in ("addition", "subtraction"):
        assert run(tmp_path, "static-arithmetic", *grid, operation, "--seeds", "1") == 0
    path = tmp_path / "results/static-arithmetic/stated-rates.json"
    record = json.loads(path.read_text())
    for key in ("choice", "validation", "updates"):
        assert set(record[key]) == {"mcfc/addition", "mcfc/subtraction"}
    assert run(tmp_path, "static-arithmetic", *grid, "addition", "--seeds", "2") == 2
    assert "holds rates chosen with 1 seeds, profile quick" in capsys.readouterr().err
    assert json.loads(path.read_text()) == record


def test_rates_are_those_of_the_experiment_and_above_zero(tmp_path: Path) -> None:
    path = tmp_path / "rates.json"
    path.write_text(json.dumps({"experiment": "addition", "choice": {"nau": 0.1}}))
    assert chosen_rates(path, "addition") == {"nau": 0.1}
    with pytest.raises(ConfigError, match=r"holds rates for addition\. Give a file for static-arithmetic"):
        chosen_rates(path, "static-arithmetic")
    path.write_text(json.dumps({"experiment": "addition", "choice": {"nau": 0}}))
    with pytest.raises(ConfigError, match=r"the rate of nau is 0\. Give one above 0"):
        chosen_rates(path, "addition")


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("recurrent-arithmetic", ["--models", "nmu", "--operations", "addition"], "Choose from nmu: multipl"),
        ("addition", ["--operations", "addition"], "addition has no operations. Leave --operations out."),
    ],
)
def test_what_would_have_no_effect_is_refused(
    name: str, words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, name, *words, "--seeds", "1", "--updates", "1") == 2
    assert message in capsys.readouterr().err
