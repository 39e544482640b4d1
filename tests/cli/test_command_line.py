"""Help with examples, completion, suggestions, and mistakes that are said before torch is loaded."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mclstm import pipeline
from mclstm.cli.main import main
from mclstm.cli.verbs import PAPER_VERBS, VERBS, example, meant
from mclstm.config import check_config
from mclstm.errors import ConfigError
from support.small_run import brook_config, brook_file, trained

WITHOUT_TORCH = """
import sys
from mclstm.cli.main import main
code = main(sys.argv[1:])
print(code, "torch" in sys.modules)
"""


@pytest.mark.parametrize("verb", VERBS)
def test_every_help_has_an_example(
    verb: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main([verb, "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"Example: {example(verb)}" in shown
    assert example(verb).startswith(f"mclstm {verb}")


def test_the_examples_name_options_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in VERBS:
        main([verb, "--help"])
        shown = capsys.readouterr().out
        for option in [word for word in example(verb).split() if word.startswith("--")]:
            assert option in shown, verb


def test_unknown_verbs_get_the_nearest_or_a_synonym(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["forecast"]) == 2
    assert "Did you mean 'predict'?" in capsys.readouterr().err
    assert meant("trian") == "Did you mean 'train'?"
    assert all(verb in meant("xyz") for verb in (*VERBS, *PAPER_VERBS))


@pytest.mark.parametrize(
    ("section", "key", "expected"),
    [
        ("training", "lr", "Did you mean 'learning_rate'?"),
        ("training", "num_epochs", "Did you mean 'epochs'?"),
        ("training", "patience", "Did you mean 'early_stopping'?"),
        ("model", "cells", "Did you mean 'hidden_size'?"),
        ("model", "lr", "It belongs under 'training', as 'learning_rate'."),
        ("data", "forcings", "Did you mean 'aux'?"),
        ("training", "hidden_size", "It belongs under 'model'."),
    ],
)
def test_suggestions_know_what_others_call_a_key(
    section: str, key: str, expected: str, tmp_path: Path
) -> None:
    raw = brook_config(tmp_path / "brook.csv")
    raw[section][key] = 1
    with pytest.raises(ConfigError) as error:
        check_config(raw)
    assert expected in str(error.value)


def shell(words: str, **variables: str) -> str:
    """What the shell gets while a line is typed."""
    line = [sys.executable, "-c", "from mclstm.cli.main import main; raise SystemExit(main())"]
    settings = {"_MCLSTM_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    shown = subprocess.run(
        line, capture_output=True, text=True, check=True, env=os.environ | settings | variables
    )
    return shown.stdout


def test_the_shell_completes_verbs_and_options() -> None:
    assert shell("mclstm pre").split() == ["predict"]
    assert {"--state-in", "--state-out"} <= set(shell("mclstm predict --state").split())


def test_the_script_of_completion_is_shown() -> None:
    line = [
        sys.executable,
        "-c",
        "from mclstm.cli.main import main; raise SystemExit(main())",
        "--show-completion",
        "bash",
    ]
    settings = os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    shown = subprocess.run(line, capture_output=True, text=True, check=True, env=settings)
    assert "_MCLSTM_COMPLETE=complete_bash" in shown.stdout


def test_mistakes_in_config_and_data_are_said_before_torch_is_loaded(tmp_path: Path) -> None:
    config = brook_file(tmp_path)
    table = (tmp_path / "brook.csv").read_text().splitlines()
    (tmp_path / "brook.csv").write_text("\n".join(table[:9] + table[11:]))
    for words in (["train", str(config), "--set", "training.lr=1"], ["train", str(config)]):
        line = [sys.executable, "-c", WITHOUT_TORCH, *words]
        shown = subprocess.run(line, capture_output=True, text=True, check=True, cwd=tmp_path)
        assert shown.stdout.split() == ["2", "False"], shown.stderr
    assert "2 steps of D are missing" in shown.stderr
    assert not (tmp_path / "runs").exists()


def test_data_in_place_of_a_config_is_answered_with_init(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    brook_file(tmp_path)
    assert main(["train", str(tmp_path / "brook.csv")]) == 2
    assert "is data and no config. Write one with `mclstm init " in capsys.readouterr().err


def test_check_says_that_nothing_could_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bare.csv").write_text("2001-01-01,1.0,2.0\n2001-01-02,0.0,1.0\n")
    assert main(["check", str(tmp_path / "bare.csv")]) == 2
    assert capsys.readouterr().out.endswith("nothing could be read; findings: 1 error, 0 warnings\n")


def test_a_finished_run_says_so_when_it_is_resumed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = trained(tmp_path, updates=2)
    pipeline.evaluate(run, figures=False)
    assert main(["resume", str(run), "--json"]) == 0
    captured = capsys.readouterr()
    assert f"{run} was finished before: nothing was trained." in captured.err
    assert json.loads(captured.out)["run"] == str(run)


def test_doctor_has_a_line_on_the_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  gpu")]
    import torch

    assert ("none (torch is" in line) == (not torch.cuda.is_available())
