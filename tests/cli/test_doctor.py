"""`mclstm doctor` says why the kernel, or a better one, does not run."""

import json
import shutil
from pathlib import Path

import pytest

from mclstm.cli.main import main
from mclstm.ops.native import build


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the kernels are looked for instead of the package's own."""
    monkeypatch.delenv(build.VARIABLE, raising=False)
    monkeypatch.setattr(build, "FOLDER", tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["doctor", "--json"]) == 0
    native: str = json.loads(capsys.readouterr().out)["backends"]["native"]
    assert main(["doctor"]) == 0
    assert native in capsys.readouterr().out
    return native


def test_it_says_why_no_kernel_runs(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = place / "checkout" / build.SOURCE.name  # without built libraries beside it
    source.parent.mkdir()
    shutil.copyfile(build.SOURCE, source)
    monkeypatch.setattr(build, "SOURCE", source)
    monkeypatch.setenv("CXX", "no-such-compiler")
    build.build(source, place)
    native = said(capsys)
    assert native.startswith(
        "missing: kernel_avx512.so: not built; kernel_avx2.so: not built; run `python -m"
    )
    assert "The compiler 'no-such-compiler' could not be started" in native


@pytest.mark.skipif(build.library() is None, reason="the kernel is not built")
def test_it_says_why_a_better_kernel_does_not_run(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "kernel_avx2.so").symlink_to(build.SOURCE.with_name("kernel_avx2.so"))
    (place / build.FAILURE).write_text("g++ failed with exit code 1: no memory")
    native = said(capsys)
    assert native.startswith(
        "available: kernel_avx2.so; better ones skipped: kernel_avx512.so: not built; run"
    )
    assert native.endswith("g++ failed with exit code 1: no memory")


@pytest.mark.skipif(build.library() is None, reason="the kernel is not built")
def test_another_processors_kernel_is_no_news(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = build._open

    def not_here(path: Path, expected: str) -> tuple[object, str]:
        return (None, build.ELSEWHERE) if "avx512" in path.name else opened(path, expected)

    monkeypatch.setattr(build, "_open", not_here)
    (place / "kernel_avx2.so").symlink_to(build.SOURCE.with_name("kernel_avx2.so"))
    assert said(capsys) == "available: kernel_avx2.so"
