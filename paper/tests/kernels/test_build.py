"""The paper's kernels: no warnings, clean under sanitizers, the same idea of a call on both sides."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

from mclstm.ops.native import build as building
from mclstm_paper.kernels import descent, learning, pooled, recurrence
from mclstm_paper.kernels.library import SOURCE, library, status

DRIVER = Path(__file__).with_name("driver.cpp")
DRAWN = Path(__file__).parents[3] / "tests" / "ops"
FOLDERS = (f"-I{SOURCE.parent}", f"-I{building.HEADERS}", f"-I{DRAWN}")
STRICT = ("-Wall", "-Wextra", "-Werror", "-std=c++17", "-pthread", *FOLDERS)
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ here")


def compiled(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    line = ["g++", *STRICT, *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, check=False)


@needs_compiler
@pytest.mark.parametrize("flag", building.TARGETS.values())
def test_the_source_compiles_without_warnings(flag: str) -> None:
    done = compiled(flag, "-fsyntax-only", SOURCE)
    assert done.returncode == 0, done.stderr


@needs_compiler
def test_sanitizers_find_nothing(tmp_path: Path) -> None:
    program = tmp_path / "driver"
    checks = "-fsanitize=address,undefined,float-cast-overflow"
    line = ("-march=x86-64-v3", "-O0", "-g", checks, "-fno-sanitize-recover=all", DRIVER, "-o", program)
    done = compiled(*line)
    assert done.returncode == 0, done.stderr
    ran = subprocess.run([program], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_library_is_of_this_source() -> None:
    """A stale one would only make tests of it be skipped."""
    assert "another source" not in (status().reason or "")


@pytest.mark.parametrize(
    ("struct", "name"),
    [
        (learning._Learn, "learn"),
        (recurrence._Call, "recurrence"),
        (pooled._Pooled, "pooled"),
        (descent._Descent, "descent"),
    ],
)
def test_both_sides_have_the_same_idea_of_a_call(struct: type[ctypes.Structure], name: str) -> None:
    kernel = library()
    assert kernel is None or getattr(kernel, f"mclstm_{name}_bytes")() == ctypes.sizeof(struct)
