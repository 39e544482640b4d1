"""The command's frame: exit codes, messages, and output for people and machines."""

import json
from pathlib import Path

import pytest

from mclstm.cli import check as check_verb
from mclstm.cli.main import main
from mclstm.cli.verbs import VERBS
from mclstm.data.fulda import fulda


def test_usage_version_and_unknown_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(verb in shown for verb in VERBS)
    assert main(["--version"]) == 0
    assert main(["chekc"]) == 2
    assert "check" in capsys.readouterr().err


def test_help_of_a_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--help"]) == 0
    assert "--missing-mass" in capsys.readouterr().out


def test_json_report(capsys: pytest.CaptureFixture[str]) -> None:
    units = ["--unit", "precipitation=mm/day", "--unit", "discharge=m3/s"]
    assert main(["check", str(fulda()), "--json", *units]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["roles"]["mass"] == ["precipitation"]
    assert report["sites"] == 1
    assert {"severity", "kind", "file", "site", "column", "first", "count", "message", "remedy"} == set(
        report["findings"][0]
    )


def test_json_report_of_bad_data_is_still_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("date,rain\n2001-01-01,-1\n2001-01-02,\n")
    assert main(["check", str(tmp_path / "a.csv"), "--json"]) == 2
    captured = capsys.readouterr()
    assert len(json.loads(captured.out)["findings"]) == 4
    assert "3 errors" in captured.err


def test_table_on_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.csv").write_text("date,rain\n2001-01-01,-1\n2001-01-02,\n")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert main(["check", str(tmp_path / "a.csv")]) == 2
    shown = capsys.readouterr().out
    assert "negative" in shown
    assert "missing values" in shown


def test_markup_in_data_stays_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("date,site,rain\n2001-01-01,[red]x,-1\n2001-01-02,[red]x,1\n")
    assert main(["check", str(tmp_path / "a.csv")]) == 2
    assert "[red]x" in capsys.readouterr().err


def test_a_bug_shows_its_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(check_verb, "check_data", broken)
    assert main(["check", "x.csv"]) == 1
    assert "ZeroDivisionError: oops" in capsys.readouterr().err
