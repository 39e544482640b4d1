"""One process trains in a run folder; others are refused, readers are not; a killed one leaves no lock."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mclstm import pipeline
from mclstm.cli.main import main
from mclstm.config import check_config
from mclstm.errors import StorageError
from mclstm.training.progress import showing
from mclstm.training.run_lock import LOCK, locked
from support.small_run import brook, brook_config, trained

OWNER = """
import sys
from pathlib import Path
from mclstm.training.run_lock import locked
with locked(Path(sys.argv[1])):
    print("locked", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("lock"), updates=2)


def owner(folder: Path) -> subprocess.Popen[str]:
    """Another process that holds the lock of a folder."""
    line = [sys.executable, "-c", OWNER, str(folder)]
    process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "locked\n"
    return process


def test_a_second_holder_is_refused_until_the_first_ends(tmp_path: Path) -> None:
    with (
        locked(tmp_path),
        pytest.raises(StorageError, match=f"Process {os.getpid()} trains in"),
        locked(tmp_path),
    ):
        pass
    with locked(tmp_path):
        assert (tmp_path / LOCK).read_text() == str(os.getpid())


def test_a_killed_owner_leaves_no_lock(tmp_path: Path) -> None:
    process = owner(tmp_path)
    with pytest.raises(StorageError, match=f"Process {process.pid} trains in"), locked(tmp_path):
        pass
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert (tmp_path / LOCK).read_text() == str(process.pid)
    with locked(tmp_path):
        pass


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="Cannot write"), locked(tmp_path / "absent"):
        pass


def test_training_in_a_locked_folder_is_refused_and_reading_is_not(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = check_config(brook_config(brook(tmp_path / "brook.csv")))
    before = {path: path.read_bytes() for path in run.rglob("*.safetensors")}
    with locked(run):
        assert main(["resume", str(run), "--quiet"]) == 2
        said = capsys.readouterr().err
        assert "Wait until it ends, or stop it" in said
        with pytest.raises(StorageError, match="trains in"):
            pipeline.train_or_resume(run, config, showing, lambda: None)
        assert main(["evaluate", str(run), "--no-figures"]) == 0
        data = str(run.parents[2] / "brook.csv")
        assert main(["predict", str(run), "--data", data, "--out", str(tmp_path / "p.nc")]) == 0
    assert {path: path.read_bytes() for path in run.rglob("*.safetensors")} == before
    assert main(["resume", str(run), "--quiet"]) == 0


def test_two_trainings_never_begin_in_one_new_folder(tmp_path: Path) -> None:
    """The second one finds the lock before the first has written a config."""
    config, folder = check_config(brook_config(brook(tmp_path / "brook.csv"))), tmp_path / "run"
    folder.mkdir()
    with locked(folder), pytest.raises(StorageError, match="trains in"):
        pipeline.train_or_resume(folder, config, showing, lambda: None)
    assert [path.name for path in folder.iterdir()] == [LOCK]
