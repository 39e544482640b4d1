"""Some of the malformed inputs through a real process, as a user meets them."""

import subprocess
import sys
from pathlib import Path

import pytest

CASES: dict[str, tuple[str, bytes, list[str], str]] = {
    "empty": ("data.csv", b"", [], "empty"),
    "ragged": ("data.csv", b"date,rain\n2001-01-01,1\n2001-01-02\n", ["--mass", "rain"], "line 3"),
    "UTF-16": ("data.csv", "date,rain\n".encode("utf-16"), [], "UTF-16"),
    "negative mass": (
        "data.csv",
        b"date,rain\n2001-01-01,1\n2001-01-02,-1\n",
        ["--mass", "rain"],
        "negative",
    ),
    "cut netCDF": ("data.nc", b"\x89HDF\r\n\x1a\n\0\0\0\0", [], "damaged"),
    "unknown option": ("data.csv", b"date,rain\n2001-01-01,1\n", ["--mas", "rain"], "--mas"),
}
RUN = (
    "import sys; from mclstm.cli.main import main; code = main(); "
    "assert 'torch' not in sys.modules; sys.exit(code)"
)


@pytest.mark.parametrize("name", CASES)
def test_process(name: str, tmp_path: Path) -> None:
    file, content, arguments, word = CASES[name]
    (tmp_path / file).write_bytes(content)
    command = [sys.executable, "-c", RUN, "check", file, *arguments]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 2, result.stderr
    assert word in result.stderr
    assert len(result.stderr.strip().splitlines()) <= 5
    assert "Traceback" not in result.stderr


def test_check_never_imports_torch(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("date,rain,flow\n2001-01-01,1,0\n2001-01-02,2,1\n2001-01-03,0,1\n")
    command = [sys.executable, "-c", RUN, "check", "data.csv"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
