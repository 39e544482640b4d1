"""The kernel's source and building: no warnings, clean under sanitizers, a package that works without."""

import shutil
import subprocess
from pathlib import Path

import pytest
import torch

from mclstm.ops import dispatch
from mclstm.ops.native import build as building
from support.variants import build, inputs

DRIVER = Path(__file__).with_name("native_driver.cpp")
STRICT = ("-Wall", "-Wextra", "-Werror", "-std=c++17", "-pthread", f"-I{building.SOURCE.parent}")
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ here")


def compiled(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    line = ["g++", *STRICT, *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, check=False)


@needs_compiler
@pytest.mark.parametrize("flag", building.TARGETS.values())
def test_the_source_compiles_without_warnings(flag: str) -> None:
    done = compiled(flag, "-fsyntax-only", building.SOURCE)
    assert done.returncode == 0, done.stderr


@needs_compiler
def test_the_optimiser_has_no_warnings_either(tmp_path: Path) -> None:
    """Built as it is for users: what is used before it is set, or past its end, only the optimiser sees."""
    line = building.command(building.SOURCE, tmp_path / "kernel.so", (building.TARGETS["avx2"], "-Werror"))
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr


@needs_compiler
def test_sanitizers_find_nothing(tmp_path: Path) -> None:
    program = tmp_path / "driver"
    checks = "-fsanitize=address,undefined,float-cast-overflow"
    done = compiled(
        "-march=x86-64-v3", "-O0", "-g", checks, "-fno-sanitize-recover=all", DRIVER, "-o", program
    )
    assert done.returncode == 0, done.stderr
    ran = subprocess.run([program], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.fixture(autouse=True)
def _unset(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests with a chosen kernel did not choose those of other folders."""
    monkeypatch.delenv(building.VARIABLE, raising=False)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """The kernel's source without built libraries beside it."""
    copy = tmp_path / "checkout" / building.SOURCE.name
    copy.parent.mkdir()
    shutil.copyfile(building.SOURCE, copy)
    return copy


def test_a_missing_compiler_is_written_down(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    failure = building.build(source, tmp_path)
    assert failure is not None
    assert "no-such-compiler" in failure
    status = building.search(source, tmp_path)[1]
    assert not status.available
    assert status.reason is not None
    for words in ("not built", "no-such-compiler", "python -m mclstm.ops.native.build", "backend='torch'"):
        assert words in status.reason


def test_a_broken_compiler_is_written_down(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", "false")
    assert "exit code 1" in (building.build(source, tmp_path) or "")
    assert not list(tmp_path.glob("*.so"))


def test_without_the_kernel_torch_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, (x, a, s) = build("hydrology", backend="native"), inputs()
    expected = layer(x, a, static=s)[0]
    monkeypatch.setattr(dispatch, "library", lambda: None)
    assert torch.allclose(layer(x, a, static=s)[0], expected)


@needs_compiler
def test_a_stale_library_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty.cpp"
    empty.write_text(
        'extern "C" { const char *mclstm_source() { return "old"; } int mclstm_runs_here() { return 1; } }'
    )
    target = tmp_path / building.file_name(building.SOURCE, next(iter(building.TARGETS)))
    assert compiled("-fPIC", "-shared", empty, "-o", target).returncode == 0
    assert "built from another source" in (building.search(building.SOURCE, tmp_path)[1].reason or "")


def test_the_library_is_of_this_source() -> None:
    """A stale one would only make tests of it be skipped."""
    assert "another source" not in (building.status().reason or "")


def test_both_sides_have_the_same_idea_of_a_call() -> None:
    kernel = building.library()
    assert kernel is None or kernel.mclstm_call_bytes() == building.CALL_BYTES


def test_status_says_which_library_runs() -> None:
    status = building.status()
    names = [building.file_name(building.SOURCE, target) for target in building.TARGETS]
    assert status.available == (status.library in names)
