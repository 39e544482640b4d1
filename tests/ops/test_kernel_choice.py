"""MCLSTM_KERNEL chooses the kernel: this one, none, or a sentence that says why it cannot run."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from mclstm import MCLSTM
from mclstm.cli.main import main
from mclstm.errors import ConfigError
from mclstm.ops.native import build
from support.kernels import RUNNABLE, running

needs_kernel = pytest.mark.skipif(not RUNNABLE, reason="no kernel runs here")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with kernels of both names that run here, instead of the package's own."""
    if not RUNNABLE:
        pytest.skip("no kernel runs here")
    for target in build.TARGETS:
        name = build.file_name(build.SOURCE, target)
        (tmp_path / name).symlink_to(build.SOURCE.with_name(build.file_name(build.SOURCE, RUNNABLE[0])))
    monkeypatch.delenv(build.VARIABLE, raising=False)
    monkeypatch.setattr(build, "FOLDER", tmp_path)
    build.library.cache_clear()
    yield tmp_path
    build.library.cache_clear()


def doctor(capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["doctor"]) == 0
    return next(line for line in capsys.readouterr().out.splitlines() if line.startswith("  native"))


def test_unset_or_empty_it_is_the_best_one(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert build.status() == build.Status(True, "kernel_avx512.so", None)
    monkeypatch.setenv(build.VARIABLE, "")
    build.search.cache_clear()
    assert build.status() == build.Status(True, "kernel_avx512.so", None)


@pytest.mark.parametrize("name", build.TARGETS)
def test_the_one_that_is_named_is_loaded(name: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running(name):
        assert build.status() == build.Status(True, f"kernel_{name}.so", None)
        assert Path(build.library()._name) == place / f"kernel_{name}.so"
        assert doctor(capsys).endswith(f"available: kernel_{name}.so, chosen by MCLSTM_KERNEL={name}")
    assert build.status().library == "kernel_avx512.so"
    assert "MCLSTM_KERNEL" not in doctor(capsys)


@needs_kernel
def test_none_means_that_torch_computes(capsys: pytest.CaptureFixture[str]) -> None:
    torch.manual_seed(0)
    layers = [MCLSTM(1, 0, 3, backend=backend) for backend in ("auto", "native", "torch")]
    for layer in layers[1:]:
        layer.load_state_dict(layers[0].state_dict())
    x = torch.rand(9, 4, 1)
    with running("none"):
        assert build.library() is None
        assert "switched off by MCLSTM_KERNEL=none; unset it" in doctor(capsys)
        by_auto, by_native, by_torch = (layer(x)[0] for layer in layers)
    assert torch.equal(by_auto, by_torch)
    assert torch.equal(by_native, by_torch)
    assert build.library() is not None  # as before


def test_one_that_is_not_built_is_refused(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "kernel_avx2.so").unlink()
    (place / build.FAILURE).write_text("g++ failed with exit code 1: no memory")
    with running("avx2"):
        with pytest.raises(ConfigError, match="not built"):
            MCLSTM(1, 0, 3)(torch.rand(2, 1, 1))
        assert not build.status().available
        assert build.status().reason == (
            "MCLSTM_KERNEL=avx2 chooses kernel_avx2.so: not built; run `python -m mclstm.ops.native.build` "
            "(needs g++), or unset MCLSTM_KERNEL for the best kernel that runs here. "
            "g++ failed with exit code 1: no memory"
        )
        assert f"missing: {build.status().reason}" in doctor(capsys)


def test_one_of_another_processor_is_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = build._open

    def not_here(path: Path, expected: str) -> tuple[object, str]:
        return (None, build.ELSEWHERE) if "avx512" in path.name else opened(path, expected)

    monkeypatch.setattr(build, "_open", not_here)
    with running("avx512"):
        with pytest.raises(ConfigError, match="not for this processor"):
            build.library()
        assert build.status().reason == (
            "MCLSTM_KERNEL=avx512 chooses kernel_avx512.so: not for this processor; "
            "unset MCLSTM_KERNEL for the best kernel that runs here."
        )


WRONG = (
    "MCLSTM_KERNEL is 'AVX2' in the environment; set it to avx512, avx2 or none, or unset it for the best "
    "kernel that runs here."
)


def test_any_other_value_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with running("AVX2"):
        with pytest.raises(ConfigError) as refusal:
            MCLSTM(1, 0, 3)(torch.rand(2, 1, 1))
        assert str(refusal.value) == WRONG
        assert main(["doctor"]) == 2
        assert capsys.readouterr().err.strip() == WRONG


def test_a_process_reads_it_when_it_starts() -> None:
    code = "from mclstm.ops.native.build import library, status; print(library(), status().reason)"
    around = os.environ | {build.VARIABLE: "none"}
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=around
    )
    assert shown.stdout.startswith("None switched off by MCLSTM_KERNEL=none")


def test_a_call_does_not_search_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search reads the source and takes milliseconds, a call of the kernel microseconds."""
    layer = MCLSTM(1, 0, 3)
    layer(torch.rand(2, 1, 1))
    monkeypatch.setattr(build, "search", lambda *arguments: pytest.fail("searched again"))
    layer(torch.rand(2, 1, 1))


def test_every_kernel_that_runs_here_is_listed() -> None:
    assert (build.status().library is None) == (not RUNNABLE)
    assert not RUNNABLE or build.status().library == build.file_name(build.SOURCE, RUNNABLE[0])
