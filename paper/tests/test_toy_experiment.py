"""A new experiment is one folder and one line of the registry: everything else follows."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from mclstm.cli.main import main
from mclstm_paper import registry
from mclstm_paper.pages import fill_pages as pages

PAGE = "".join(
    f"<!-- {name} -->\n<!-- /{name} -->\n"
    for name in ("summary", "toy-stated", "toy-published", "toy-differences", "toy-best")
)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "EXPERIMENTS", {"toy": "toy.experiment"})


def run(root: Path, *words: str) -> int:
    places = ["--out", str(root / "out"), "--results", str(root / "results"), "--quiet"]
    return main(["experiment", "toy", *places, *words])


def results(root: Path, protocol: str = "stated") -> dict[str, Any]:
    content: dict[str, Any] = json.loads((root / f"results/toy/{protocol}.json").read_text())
    return content


def blocks(root: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The marked blocks of a README after `make docs`, by name."""
    (root / "docs/figures").mkdir(parents=True, exist_ok=True)
    (root / "README.md").write_text(PAGE)
    monkeypatch.setattr(sys, "argv", ["pages", str(root)])
    monkeypatch.setattr(pages, "DRAWINGS", {})  # those of records that this folder does not have
    pages.main()
    parts = (root / "README.md").read_text().split("<!-- ")[1:]
    return {part.split(" -->")[0]: part.split(" -->\n")[1].strip() for part in parts if part[0] != "/"}


def test_the_command_runs_jobs_and_leaves_results_and_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "--block", "1") == 0
    jobs = tmp_path / "out/toy/quick-stated/jobs"
    assert sorted(str(path.parent.relative_to(jobs)) for path in jobs.rglob("result.json")) == [
        "first/seeds-0-0", "first/seeds-1-1", "mean/seeds-0-0", "mean/seeds-1-1",
    ]  # fmt: skip
    content = results(tmp_path)
    assert [(row["model"], row["n"], row["seeds"]) for row in content["rows"]] == [
        ("mean", 2, [0, 1]),
        ("first", 2, [0, 1]),
    ]
    assert content["claims"] == [
        {"claim": "mean is better than first", "test": "medians", "p": None, "holds": True}
    ]
    assert set(content["made"]["jobs"]) == {
        "mean/seeds-0-0", "mean/seeds-1-1", "first/seeds-0-0", "first/seeds-1-1",
    }  # fmt: skip
    table = (tmp_path / "out/toy/quick-stated/table.md").read_text()
    assert table in capsys.readouterr().out
    assert "| mean | " in table
    assert "| mean is better than first | medians |" in table


def test_rows_of_another_command_stay_and_finished_jobs_are_not_run_again(tmp_path: Path) -> None:
    assert run(tmp_path, "--models", "first") == 0
    result = tmp_path / "out/toy/quick-stated/jobs/first/seeds-0-1/result.json"
    before = result.stat().st_mtime_ns
    assert results(tmp_path)["claims"] == []
    assert run(tmp_path) == 0
    assert result.stat().st_mtime_ns == before
    assert [row["model"] for row in results(tmp_path)["rows"]] == ["mean", "first"]


def test_the_protocols_differ_by_the_switch(tmp_path: Path) -> None:
    for protocol in ("stated", "published"):
        assert run(tmp_path, "--protocol", protocol) == 0
    mean, first = (
        [content["rows"][at]["values"] for content in (results(tmp_path), results(tmp_path, "published"))]
        for at in (0, 1)
    )
    assert mean[0] != mean[1]
    assert first[0] == first[1]


def test_pages_and_readme_have_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = blocks(tmp_path, monkeypatch)
    assert empty["summary"] == "No results yet."
    assert empty["toy-stated"].startswith("Not run yet: `mclstm experiment toy --profile paper")
    assert not (tmp_path / "docs/figures/toy.svg").exists()
    assert run(tmp_path, "--models", "mean") == 0
    assert "\n\nNot run yet: first.\n\n" in blocks(tmp_path, monkeypatch)["toy-stated"]
    assert run(tmp_path) == 0
    whole = blocks(tmp_path, monkeypatch)
    line = [cell.strip() for cell in whole["summary"].splitlines()[-1].split("|")[1:-1]]
    assert line[:2] == ["toy: error of mean", "0.25"]
    assert line[2].endswith("n = 2)")
    assert line[3] == "not run"
    assert "Not run yet" not in whole["toy-stated"]
    assert "| mean is better than first | medians | –   | yes   |" in whole["toy-stated"]
    assert "Its runs were trained at " in whole["toy-stated"]
    assert whole["toy-published"].startswith("Not run yet: `mclstm experiment toy")
    assert "| toy: few numbers | An estimate sees 10 numbers instead of 1000. " in whole["toy-differences"]
    assert whole["toy-best"] == "mean has the lowest error."
    assert (tmp_path / "docs/figures/toy.svg").read_bytes() == b"<svg/>"


def test_options_it_does_not_accept_and_unknown_models_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "--basins", str(tmp_path / "none")) == 2
    assert run(tmp_path, "--epochs", "3") == 2
    assert "toy has no use for --epochs. Leave it out." in capsys.readouterr().err
    assert run(tmp_path, "--models", "median") == 2
    assert "toy has no model 'median'. Choose from mean, first." in capsys.readouterr().err
    assert main(["experiment", "toi"]) == 2
    assert "There is no experiment 'toi'. Choose from toy." in capsys.readouterr().err
