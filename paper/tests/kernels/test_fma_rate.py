"""The loop of multiply-adds does all of its work, on every thread and in registers only."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from mclstm.ops.native import build as building
from mclstm_paper.kernels.fma_rate import fma_loop, multiply_adds
from mclstm_paper.kernels.library import SOURCE, library, status

needs_library = pytest.mark.skipif(library() is None, reason="the paper's library is not built")


@needs_library
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("iterations", "number"), [(0, 0.0), (1, 1.0), (3, 1.75), (100, 2.0)])
def test_every_number_of_every_thread_is_multiplied_and_added_to(
    iterations: int, number: float, threads: int
) -> None:
    assert fma_loop(iterations, threads) == [number * multiply_adds(1, threads=1)] * threads


@needs_library
def test_the_count_is_that_of_the_registers() -> None:
    sums, lanes = (24, 16) if status().library == "paper_avx512.so" else (12, 8)
    assert multiply_adds(10, threads=2) == 10 * 2 * sums * lanes


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ here")
@pytest.mark.parametrize(("target", "sums"), [("avx2", 12), ("avx512", 24)])
def test_the_loop_is_multiply_adds_of_registers_and_nothing_else(
    target: str, sums: int, tmp_path: Path
) -> None:
    source, assembly = tmp_path / "loop.cpp", tmp_path / "loop.s"
    source.write_text('#include "fma_rate.h"\nfloat loop(int64_t n) { return multiply_and_add(n); }\n')
    folders = (f"-I{SOURCE.parent}", f"-I{building.HEADERS}")
    flags = (*building.FLAGS, building.TARGETS[target], *folders, "-S")
    subprocess.run(["g++", *flags, str(source), "-o", str(assembly)], check=True)
    lines = [line.strip() for line in assembly.read_text().splitlines()]
    work = [at for at, line in enumerate(lines) if line.startswith("vfmadd")]
    assert len(work) == sums
    body = [line for line in lines[work[0] : work[-1] + 1] if not line.startswith(("#", "."))]
    assert all(re.fullmatch(r"vfmadd\d+ps(\s*%[yz]mm\d+,?){3}", line) for line in body), body
