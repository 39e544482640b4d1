"""The command in processes of its own, its file, and what happens when a part of it fails."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mclstm.cli.main import main
from mclstm.errors import ConfigError, DataError
from mclstm_paper.bench.bench_record import Record
from mclstm_paper.bench.timed_rounds import Measurement
from mclstm_paper.bench.worker import in_a_process


def test_from_the_command_to_the_file(tmp_path: Path) -> None:
    out = tmp_path / "new" / "bench.json"
    words = [sys.executable, "-m", "mclstm", "bench", "--tiny", "--rows", "table", "--threads", "1"]
    words += ["--out", str(out), "--figure", str(out.with_suffix(".svg"))]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "paper, GPU" in done.stdout
    assert "not measured" in done.stdout
    assert done.stderr.splitlines() == ["1/1 table: all, 1 thread"]
    content = json.loads(out.read_text())
    assert set(content) == {
        "experiment", "protocol", "profile", "made", "rows", "claims", "missing", "jobs",
    }  # fmt: skip
    assert (content["experiment"], content["profile"]) == ("runtime", "tiny")
    assert {"cpu", "flags", "cores", "torch", "kernel"} <= set(content["made"]["machine"])
    assert [(job["threads"], job["flushed"]) for job in content["jobs"]] == [(1, True)]
    assert {row["threads"] for row in content["rows"]} == {1}
    assert content["claims"] == [], "the targets are set for the paper's sizes"
    assert out.with_suffix(".svg").read_bytes().startswith(b"<?xml")


def test_the_threads_of_a_measurement_are_those_of_its_process() -> None:
    result = in_a_process(Measurement("memory", "mclstm-native, T = 5", 2, "tiny", 1))
    assert (result["threads_of_torch"], result["flushed"]) == (2, True)
    assert [row["threads"] for row in result["rows"]] == [2]


def test_no_library_takes_more_threads_than_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    """numpy's product has threads of its own; one of the user's variables would set them otherwise."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    environments = []

    def run(*words: Any, env: dict[str, str], **more: Any) -> subprocess.CompletedProcess[str]:
        environments.append(env)
        return subprocess.CompletedProcess([], 0, stdout="{}", stderr="")

    monkeypatch.setattr(subprocess, "run", run)
    in_a_process(Measurement("paper", "all", 2, "tiny", 1))
    (env,) = environments
    assert {env[f"{name}_NUM_THREADS"] for name in ("OMP", "MKL", "OPENBLAS")} == {"2"}


def test_a_process_that_dies_is_reported() -> None:
    result = in_a_process(Measurement("growth", "no such axis", 1, "tiny", 1))
    assert result["rows"] == []
    assert "exit code 1: KeyError: 'no such axis'" in result["missing"]["no such axis"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--rows", "papr"], "'papr', which is no group. Choose from paper"),
        (["--threads", "0"], "Give whole numbers of at least 1"),
        (["--threads", "two"], "Give whole numbers of at least 1"),
        (["--figure", "bench.txt"], "Give a name that ends in .svg or .png"),
        (["--out", "/dev/null/bench.json"], "Cannot make the folder"),
    ],
)
def test_mistakes_are_one_sentence(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *words]) == 2
    assert message in capsys.readouterr().err


def measurement(part: str = "all") -> Measurement:
    return Measurement("single", part, 1, "tiny", 2)


def outcome(part: str, value: float) -> dict[str, Any]:
    row = {
        "group": "single",
        "part": part,
        "threads": 1,
        "metric": "forward",
        "model": "lstm",
        "value": value,
    }
    return {"rows": [row], "missing": {"x": "no compiler"} if value > 1 else {}, "flushed": True}


def test_every_measurement_is_saved_and_one_repeated_replaces_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    record = Record(path, "tiny", keep=False)
    record.add(measurement("a"), outcome("a", 2.0), 1.0, 0.5)
    assert [row["value"] for row in json.loads(path.read_text())["rows"]] == [2.0]
    record.add(measurement("b"), outcome("b", 1.0), 1.0, 0.5)
    again = Record(path, "tiny", keep=True)
    again.add(measurement("a"), outcome("a", 1.0), 3.0, 0.5)
    content = json.loads(path.read_text())
    assert [(row["part"], row["value"]) for row in content["rows"]] == [("b", 1.0), ("a", 1.0)]
    assert content["missing"] == []
    assert [entry["part"] for entry in content["jobs"]] == ["b", "a"]
    assert content["made"]["wall_seconds"] == 4.0
    Record(path, "tiny", keep=False).add(measurement("c"), outcome("c", 1.0), 1.0, 0.5)
    assert [row["part"] for row in json.loads(path.read_text())["rows"]] == ["c"]


def test_only_a_record_of_the_same_machine_and_scale_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    Record(path, "tiny", keep=False).add(measurement(), outcome("all", 1.0), 1.0, 0.5)
    with pytest.raises(ConfigError, match="another scale"):
        Record(path, "quick", keep=True)
    path.write_text('{"rows": []}')
    with pytest.raises(DataError, match="is no record of a bench"):
        Record(path, "tiny", keep=True)
