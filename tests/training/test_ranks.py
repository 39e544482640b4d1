"""One training on two processes, started by torchrun: it equals that of one, and ends as one."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from mclstm import pipeline
from mclstm.cli.main import main
from mclstm.config import check_config
from mclstm.errors import ConfigError, Interrupted
from mclstm.training import checkpoint, journal
from mclstm.training.progress import showing
from mclstm.training.ranks import Ranks
from support.rank_program import EQUAL, STOP_AFTER, UPDATES, config_of, gappy_brooks, stop_after
from support.small_run import brook, brook_config, brook_file

TESTS = Path(__file__).parents[1]
EPS = torch.finfo(torch.float32).eps
TORCHRUN = [
    sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--rdzv-backend", "c10d",
    "--rdzv-endpoint", "127.0.0.1:0", "--local-addr", "127.0.0.1",
]  # fmt: skip
PATIENCE = 240  # seconds until a hang is a failure
LOG = "checkpoints/last.safetensors"


def environment() -> dict[str, str]:
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    return os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}


def on_two_ranks(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [*TORCHRUN, *map(str, words)]
    return subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=PATIENCE)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder with every case trained on two ranks, and how each ended; "dropout" was stopped once."""
    folder = tmp_path_factory.mktemp("two")
    gappy_brooks(folder / "brooks.csv")
    cases = [*EQUAL, "stopped", "dropout", "dropout", "dropout-whole", "signal", "refused", "killed"]
    shown = on_two_ranks(TESTS / "support" / "rank_program.py", folder, *cases)
    assert shown.returncode, "one rank was killed"
    return folder, dict(line.split(": ", 1) for line in shown.stdout.splitlines())


def on_one(folder: Path, case: str, updates: int | None = None) -> Path:
    """The same training in this process, to its end or until so many updates from where it stands."""
    stop = (lambda: None) if updates is None else stop_after(updates)
    config = config_of(folder, case)
    return pipeline.train_or_resume(folder / case, config, partial(showing, quiet=True), stop).path


def assert_equal_trainings(first: Path, second: Path) -> None:
    """Weights, their average and moments, within the rounding of so many updates; the same journal."""
    (one, about_one), (two, about_two) = (checkpoint.load(run / LOG) for run in (first, second))
    assert one.keys() == two.keys()
    for name, value in one.items():
        if not name.startswith("random"):
            allowed = 8 * UPDATES * EPS * max(1.0, float(value.abs().max()))
            assert float((value - two[name]).abs().max()) <= allowed, name
    assert about_one["progress"]["update"] == about_two["progress"]["update"] == UPDATES
    records = zip(journal.read(first / "metrics.jsonl"), journal.read(second / "metrics.jsonl"), strict=True)
    for expected, record in records:
        assert record.keys() == expected.keys()
        for key, value in expected.items():
            close = value if value is None else pytest.approx(value, rel=64 * EPS, abs=64 * EPS)
            assert record[key] == close


@pytest.mark.parametrize("case", EQUAL)
def test_two_ranks_equal_one(two: tuple[Path, dict[str, str]], tmp_path: Path, case: str) -> None:
    """Also where they hold unequal numbers of windows and observations, and where one holds none."""
    folder, how = two
    shutil.copy(folder / "brooks.csv", tmp_path)
    assert how[case] == "finished"
    assert_equal_trainings(on_one(tmp_path, case), folder / case)


def test_a_checkpoint_of_two_ranks_is_resumed_by_one_and_back(
    two: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    folder, how = two
    shutil.copy(folder / "brooks.csv", tmp_path)
    assert how["stopped"].startswith(f"Stopped after update {STOP_AFTER} of {UPDATES}")
    with pytest.raises(Interrupted, match=f"after update {STOP_AFTER + 2} of"):
        on_one(folder, "stopped", updates=2)
    shown = on_two_ranks("-m", "mclstm", "resume", folder / "stopped", "--no-figures")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.count("NSE") == 1  # rank 0 evaluates and reports, the other is quiet
    assert_equal_trainings(on_one(tmp_path, "stopped"), folder / "stopped")


def test_what_dropout_drops_on_each_rank_survives_a_stop(two: tuple[Path, dict[str, str]]) -> None:
    folder, how = two
    assert how["dropout"] == how["dropout-whole"] == "finished"
    first, second = ((folder / name / LOG).read_bytes() for name in ("dropout", "dropout-whole"))
    assert first == second


def test_a_signal_to_one_rank_stops_all_after_a_checkpoint(two: tuple[Path, dict[str, str]]) -> None:
    folder, how = two
    assert how["signal"].startswith(f"Stopped after update {STOP_AFTER + 1} of {UPDATES}: continue with")
    assert checkpoint.load(folder / "signal" / LOG)[1]["progress"]["update"] == STOP_AFTER + 1


def test_inputs_that_one_rank_refuses_end_all_with_their_place(two: tuple[Path, dict[str, str]]) -> None:
    folder, how = two
    assert (
        "is not finite: the first bad number is in what reaches the layer, where x is nan" in how["refused"]
    )
    assert (folder / "refused" / "nan.safetensors").is_file()


def test_a_rank_that_is_killed_ends_the_other_with_one_sentence(two: tuple[Path, dict[str, str]]) -> None:
    assert two[1]["killed"].startswith("Another process of this training ended or cannot be reached.")


def begun(folder: Path, process: subprocess.Popen[str]) -> Path:
    """The folder of the only run, once it has been trained for a while."""
    until = time.monotonic() + PATIENCE
    while not (journals := list(folder.glob("runs/brook/*/metrics.jsonl"))):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.05)
    (file,) = journals
    return file.parent


def test_ctrl_c_at_torchrun_ends_the_command_after_one_checkpoint(tmp_path: Path) -> None:
    config = brook_file(tmp_path, updates=1_000_000, checkpoint_every=1_000_000)
    words = ["-m", "mclstm", "train", str(config), "--out", str(tmp_path / "runs")]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([*TORCHRUN, *words], env=environment(), **pipes)
    try:
        run = begun(tmp_path, process)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert stdout == ""
    (said,) = [line for line in stderr.splitlines() if line.startswith("Stopped after update ")]
    assert f"continue with `mclstm resume {run}`" in said
    update = checkpoint.load(run / LOG)[1]["progress"]["update"]
    assert said.startswith(f"Stopped after update {update} of 1000000:")
    assert sorted(path.name for path in run.iterdir()) == [
        ".lock", "checkpoints", "config.yaml", "cost.json", "data_manifest.json", "environment.json",
        "log.txt", "metrics.jsonl", "scaling.json",
    ]  # fmt: skip
    assert len(json.loads((run / "cost.json").read_text())) == 1


def test_what_all_ranks_meet_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """torchrun's store, which knows who failed first, is kept here by the test."""
    store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True)
    about = {
        "TORCHELASTIC_USE_AGENT_STORE": "True",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(store.port),
    }
    for name, value in about.items():
        monkeypatch.setenv(name, value)
    words = ["train", str(tmp_path / "no.yaml")]
    assert [main(words), main(words)] == [2, 2]
    assert capsys.readouterr().err.count("no.yaml") == 1
    monkeypatch.setenv("MASTER_PORT", "1")  # nobody listens there
    assert main(words) == 2
    assert capsys.readouterr().err.count("no.yaml") == 1


@pytest.mark.parametrize(
    ("settings", "ranks", "said"),
    [
        (
            ({}, {"batch_size": 3}),
            4,
            "training.batch_size is 3, too few windows for 4 processes. Start fewer.",
        ),
        (
            ({"state_norm": "batch"}, {}),
            2,
            "model.state_norm is batch, which needs a batch in one process, not",
        ),
    ],
)
def test_what_ranks_cannot_share_is_refused(
    tmp_path: Path, settings: tuple[dict[str, Any], dict[str, Any]], ranks: int, said: str
) -> None:
    model, training = settings
    raw = brook_config(
        brook(tmp_path / "brook.csv"), {"name": "mclstm", "hidden_size": 3} | model, **training
    )
    several = Ranks(torch.device("cpu"), 0, ranks)
    with pytest.raises(ConfigError, match=said):
        pipeline.train(check_config(raw), tmp_path / "runs", ranks=several)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("words", "command"),
    [(["tune", "brook.yaml"], "tune"), (["train", "brook.yaml", "--runs", "2"], "train --runs")],
)
def test_what_ranks_would_each_do_for_themselves_is_refused(
    words: list[str],
    command: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert main(words) == 2
    (message,) = capsys.readouterr().err.splitlines()
    assert message.startswith(f"mclstm {command} does not share its work among the processes of torchrun.")
