"""Full disks, read-only and missing folders, damaged files: one clear error, what was saved stays."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from durability.conftest import Whole, ends_identical, stopped_in
from durability.processes import refused
from mclstm.cli.main import main
from mclstm_paper.durability.run_process import run_below, unfinished_files
from support.small_run import brook, brook_config

LAST = "checkpoints/last.safetensors"


@pytest.fixture(scope="module")
def halted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data and a run stopped in the middle of its training."""
    folder = tmp_path_factory.mktemp("halted")
    stopped_in(13, brook_config(brook(folder / "brook.csv")), folder / "runs")
    return folder


@pytest.fixture
def run(halted: Path, tmp_path: Path) -> Path:
    """A copy of it, free to be damaged; its config names the copy of the data."""
    return copied(halted, tmp_path)


def copied(halted: Path, folder: Path) -> Path:
    shutil.copytree(halted, folder, dirs_exist_ok=True)
    made = run_below(folder / "runs")
    assert made is not None
    text = (made / "config.yaml").read_text().replace(str(halted), str(folder))
    (made / "config.yaml").write_text(text)
    return made


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 300 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not allowed here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize(("file", "room"), [("last.safetensors", 4096), ("log.txt", 1500)])
def test_no_room_for_a_file(file: str, room: int, run: Path, tmp_path: Path, whole: Whole) -> None:
    (run / "log.txt").write_text("x" * 1490)
    before = (run / LAST).read_bytes()
    said = refused(["resume", str(run), "--quiet"], tmp_path / "said", room)
    assert f"{file}: File too large" in said
    assert (run / LAST).read_bytes() == before
    assert ends_identical(whole.raw, tmp_path / "runs", whole.results)
    assert not unfinished_files(tmp_path)


def test_a_full_disk(halted: Path, small_disk: Path, tmp_path: Path, whole: Whole) -> None:
    run = copied(halted, small_disk)
    before = (run / LAST).read_bytes()
    with pytest.raises(OSError, match="No space"):
        (small_disk / "filler").write_bytes(bytes(300_000))
    said = refused(["resume", str(run), "--quiet"], tmp_path / "said")
    assert "No space left on device" in said
    assert (run / LAST).read_bytes() == before
    assert "No space left on device" in refused(["evaluate", str(run), "--no-figures"], tmp_path / "said")
    (small_disk / "filler").unlink()
    assert ends_identical(whole.raw, small_disk / "runs", whole.results)


def test_a_read_only_disk(halted: Path, small_disk: Path, tmp_path: Path) -> None:
    run = copied(halted, small_disk)
    before = (run / LAST).read_bytes()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    train = ["train", str(run / "config.yaml"), "--out", str(small_disk / "new")]
    predict = ["predict", str(run), "--data", str(small_disk / "brook.csv")]
    for words in (["resume", str(run)], ["evaluate", str(run), "--no-figures"], train, predict):
        assert "Read-only file system" in refused(words, tmp_path / "said")
    assert (run / LAST).read_bytes() == before


def cut(name: str, share: float) -> Callable[[Path], None]:
    def change(run: Path) -> None:
        content = (run / name).read_bytes()
        (run / name).write_bytes(content[: int(len(content) * share)])

    return change


def other_data(run: Path) -> None:
    table = run.parents[2] / "brook.csv"
    table.write_text(table.read_text().replace("2001-03-05,", "2001-03-05,1"))


# what happened to the run, and what the message must name
DAMAGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a truncated checkpoint": (cut(LAST, 0.7), "last.safetensors is not a whole safetensors file"),
    "an empty checkpoint": (cut(LAST, 0), "last.safetensors is not a whole safetensors file"),
    "a lost checkpoint": (lambda run: (run / LAST).unlink(), "last.safetensors is missing"),
    "a lost folder of checkpoints": (lambda run: shutil.rmtree(run / "checkpoints"), "tensors is missing"),
    "a file in place of the folder": (
        lambda run: (shutil.rmtree(run / "checkpoints"), (run / "checkpoints").touch()), "checkpoints"),
    "a truncated journal": (cut("metrics.jsonl", 0.3), "metrics.jsonl has"),
    "a lost journal": (lambda run: (run / "metrics.jsonl").unlink(), "metrics.jsonl has 0 bytes"),
    "no config": (lambda run: (run / "config.yaml").unlink(), "no config.yaml"),
    "a truncated config": (cut("config.yaml", 0.5), "config.yaml"),
    "no scaling": (lambda run: (run / "scaling.json").unlink(), "scaling.json cannot be read"),
    "a truncated scaling": (cut("scaling.json", 0.5), "scaling.json cannot be read"),
    "an empty scaling": (lambda run: (run / "scaling.json").write_text("{}"), "deviation of 'rain'"),
    "a deep scaling": (lambda run: (run / "scaling.json").write_text("[" * 99_999), "scaling.json cannot"),
    "no manifest": (lambda run: (run / "data_manifest.json").unlink(), "data_manifest.json cannot be read"),
    "changed data": (other_data, "changed since this run began"),
    "lost data": (lambda run: (run.parents[2] / "brook.csv").unlink(), "brook.csv"),
    "another model": (
        lambda run: (run / "config.yaml").write_text(
            (run / "config.yaml").read_text().replace("hidden_size: 3", "hidden_size: 4")),
        "last.safetensors holds the state of another model"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_named_and_nothing_is_touched(
    name: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change, words = DAMAGES[name]
    change(run)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file() and path.name != "log.txt"}
    assert main(["resume", str(run), "--quiet"]) == 2
    said = capsys.readouterr().err
    assert words in said, said
    assert 1 <= len(said.strip().splitlines()) <= 5
    assert "Traceback" not in said
    after = {path: path.read_bytes() for path in run.rglob("*") if path.is_file() and path.name != "log.txt"}
    assert after == before


def test_a_folder_that_cannot_be_made(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "taken").write_text("a file")
    config = str(run / "config.yaml")
    assert main(["train", config, "--out", str(tmp_path / "taken"), "--quiet"]) == 2
    assert "Choose another place with --out" in capsys.readouterr().err
    out = str(tmp_path / "taken" / "p.nc")
    assert main(["predict", str(run), "--data", str(tmp_path / "brook.csv"), "--out", out]) == 2
    assert "Cannot make the folder" in capsys.readouterr().err
