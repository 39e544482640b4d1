"""Choices of learning rates, and what commands refuse: to mix these, or options without an effect."""

import json
from pathlib import Path

import pytest

from experiment_commands import run, set_limits
from mclstm.errors import ConfigError
from mclstm_paper.mnist_sum import experiment as mnist_sum
from mclstm_paper.rates import chosen_rates, with_earlier


@pytest.fixture(autouse=True)
def _limits(monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch)


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
    assert not list((tmp_path / "out").rglob("seeds-1000-1001"))  # nothing was trained in vain
    assert json.loads(path.read_text()) == record


def test_a_choice_that_another_command_made_meanwhile_is_not_mixed_with(tmp_path: Path) -> None:
    record = {"profile": "quick", "seeds": [1_000, 2], "choice": {}}
    (tmp_path / "rates.json").write_text(json.dumps(record | {"seeds": [1_000, 5]}))
    with pytest.raises(ConfigError, match="holds rates chosen with 5 seeds"):
        with_earlier(tmp_path / "rates.json", record)


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
        ("addition", ["--operations", "addition"], "addition has no use for --operations. Leave it out."),
        ("static-arithmetic", ["--cells", "20"], "static-arithmetic has no use for --cells"),
        ("static-arithmetic", ["--data", "."], "no use for --data"),
        ("recurrent-arithmetic", ["--scheme", "last"], "no use for --scheme"),
        ("addition", ["--basins", "basins.txt"], "no use for --basins"),
        ("addition", ["--download"], "addition has no use for --download"),
        ("mnist-sum", ["--block", "2"], "mnist-sum has no use for --block"),
        ("hydrology", ["--data", ".", "--add"], "hydrology has no use for --add"),
        ("hydrology-variants", ["--data", ".", "--epochs", "2"], "no use for --epochs"),
        ("hydrology-ablation", ["--data", ".", "--rates", "rates.json"], "no use for --rates"),
        ("static-arithmetic", ["--grid", "--add"], "Leave --add out"),
        ("static-arithmetic", ["--grid", "--cells", "20"], "no use for --cells"),
        ("static-arithmetic", ["--grid", "--first-seed", "3"], "Leave --first-seed out"),
        ("hydrology-ablation", ["--grid", "--rates", "rates.json"], "Leave --rates out"),
    ],
)
def test_what_would_have_no_effect_is_refused(
    name: str,
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "basins.txt").write_text("01022500\n")
    (tmp_path / "rates.json").write_text(json.dumps({"experiment": name, "choice": {"mclstm": 0.1}}))
    assert run(tmp_path, name, *words, "--seeds", "1", "--updates", "1") == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_data_is_fetched_for_those_who_use_it_and_where_they_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[Path] = []
    monkeypatch.setattr(mnist_sum, "download_mnist", fetched.append)
    assert run(tmp_path, "addition", "--download") == 2
    assert not fetched
    assert run(tmp_path, "mnist-sum", "--download", "--data", str(tmp_path)) == 2  # nothing came
    assert fetched == [tmp_path]
