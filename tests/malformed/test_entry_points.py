"""The corpora of configs and safetensors files through the verbs that read them, as a user meets them."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from malformed.test_checkpoint import DAMAGED, FOREIGN, HOSTILE
from malformed.test_config import CHANGES, FILES, VALID
from mclstm.cli.main import main
from mclstm.training import checkpoint
from support.small_run import brook_file, trained

CONFIGS = {name: text for name, (text, _) in FILES.items()} | {
    name: VALID.replace(old, new, 1) for name, (old, new, _) in CHANGES.items()
}
TENSORS = HOSTILE | DAMAGED | FOREIGN
Refused = Callable[[list[str]], str]


def short(message: str, place: str) -> None:
    """Exit code 2 was seen; the message must name the place and a remedy in at most five lines."""
    assert 1 <= len(message.strip().splitlines()) <= 5, message
    assert place in message, message
    assert ". " in message or "needs " in message, f"no remedy: {message}"
    assert "Traceback" not in message
    assert "\x1b" not in message


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Refused:
    def run(words: list[str]) -> str:
        assert main(words) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        return captured.err

    return run


@pytest.mark.parametrize("verb", ["train", "config"])
@pytest.mark.parametrize("name", CONFIGS)
def test_config(name: str, verb: str, tmp_path: Path, refused: Refused) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(CONFIGS[name])
    out = ["--out", str(tmp_path / "runs")] if verb == "train" else []
    short(refused([verb, str(path), *out]), str(path))
    assert not (tmp_path / "runs").exists()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("finished"), updates=2)


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


@pytest.mark.parametrize("name", TENSORS)
def test_weights(name: str, run: Path, refused: Refused) -> None:
    best = run / "checkpoints/best.safetensors"
    best.write_bytes(TENSORS[name])
    short(refused(["evaluate", str(run), "--no-figures"]), str(best))
    assert not (run / "evaluation").exists()


@pytest.mark.parametrize("name", TENSORS)
def test_state(name: str, finished: Path, tmp_path: Path, refused: Refused) -> None:
    state = tmp_path / "state.safetensors"
    state.write_bytes(TENSORS[name])
    words = ["predict", str(finished), "--data", data_of(finished), "--state-in", str(state)]
    short(refused([*words, "--out", str(tmp_path / "p.nc")]), str(state))
    assert not (tmp_path / "p.nc").exists()


def data_of(run: Path) -> str:
    text = (run / "config.yaml").read_text()
    return next(line.split(": ", 1)[1] for line in text.splitlines() if "path: " in line)


# Whole files with a right digest whose content lies: the state of a model, and what is wrong with it.
LIES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "no stores": ({}, {}, "has no 'state.cells'"),
    "a store too many": ({"state.cells": torch.ones(1, 4)}, {}, "instead of torch.float32 (1, 3)"),
    "another type": ({"state.cells": torch.ones(1, 3).double()}, {}, "torch.float64"),
    "an unknown store": ({"state.cells": torch.ones(1, 3), "state.x": torch.ones(1)}, {}, "'state.x'"),
    "rows for one site": ({"state.cells": torch.ones(1, 3)}, {"sites": ["brook", "b"]}, "(2, 3)"),
    "a NaN": ({"state.cells": torch.full((1, 3), torch.nan)}, {}, "not finite"),
    "no sites": ({"state.cells": torch.ones(1, 3)}, {"sites": None}, "not a state"),
    "sites that are a number": ({"state.cells": torch.ones(1, 3)}, {"sites": 3}, "not a state"),
    "other sites": ({"state.cells": torch.ones(2, 3)}, {"sites": ["here", "there"]}, "of site 'brook'"),
    "no date": ({"state.cells": torch.ones(1, 3)}, {"time": None}, "of NaT"),
    "a word for a date": ({"state.cells": torch.ones(1, 3)}, {"time": "soon"}, "not a state"),
    "a date out of range": ({"state.cells": torch.ones(1, 3)}, {"time": "9999-12-31"}, "state"),
    "a date with a zone": ({"state.cells": torch.ones(1, 3)}, {"time": "2000-12-31T00:00Z"}, "state"),
}  # fmt: skip


@pytest.mark.parametrize("name", LIES)
def test_a_state_that_lies(name: str, finished: Path, tmp_path: Path, refused: Refused) -> None:
    tensors, change, word = LIES[name]
    model = checkpoint.load(finished / "checkpoints/last.safetensors")[1]["model_hash"]
    about = {"model_hash": model, "sites": ["brook"], "time": "2000-12-31T00:00:00"} | change
    state = tmp_path / "state.safetensors"
    checkpoint.save(state, tensors, about)
    words = ["predict", str(finished), "--data", data_of(finished), "--state-in", str(state)]
    message = refused([*words, "--out", str(tmp_path / "p.nc")])
    short(message, str(state))
    assert word in message, message


def test_a_checkpoint_that_lies(run: Path, refused: Refused) -> None:
    best, last = (run / "checkpoints" / f"{name}.safetensors" for name in ("best", "last"))
    tensors, about = checkpoint.load(last)
    checkpoint.save(best, tensors, {"model_hash": about["model_hash"]})
    short(refused(["evaluate", str(run), "--no-figures"]), str(best))
    checkpoint.save(last, tensors | {"optimiser.layer.gates.b_o.exp_avg": torch.ones(7)}, about)
    short(refused(["resume", str(run)]), "layer.gates.b_o")
    del tensors["random.torch"]
    checkpoint.save(last, tensors, about)
    short(refused(["resume", str(run)]), "has no 'random.torch'")


# verb, what is malformed, and what the message must name; each in a process of its own
PROCESSES: dict[str, tuple[str, str | bytes, str]] = {
    "train, a tab": ("train", CONFIGS["a tab"], "line 3, column 1"),
    "train, a Python object": ("train", CONFIGS["a Python object"], "Remove the tag"),
    "config, an alias bomb": ("config", CONFIGS["an alias bomb"], "more than 10,000 values"),
    "config, a misspelt key": ("config", CONFIGS["a misspelt key"], "hidden_size"),
    "evaluate, a pickle": ("evaluate", FOREIGN["a pickle"], "best.safetensors"),
    "predict, a huge shape": ("predict", HOSTILE["a huge shape"], "best.safetensors"),
}


@pytest.mark.parametrize("name", PROCESSES)
def test_process(name: str, run: Path, tmp_path: Path) -> None:
    verb, content, word = PROCESSES[name]
    if isinstance(content, str):
        (tmp_path / "run.yaml").write_text(content)
        words = [verb, "run.yaml"]
    else:
        (run / "checkpoints/best.safetensors").write_bytes(content)
        words = [verb, "run", *(["--data", data_of(run)] if verb == "predict" else [])]
    done = process("-m", "mclstm", *words, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    short(done.stderr, word)


def process(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], cwd=cwd, capture_output=True, text=True, timeout=120, check=False
    )


def test_the_config_verbs_and_a_refused_training_never_import_torch(tmp_path: Path) -> None:
    brook_file(tmp_path)
    (tmp_path / "bad.yaml").write_text("name: x\n")
    code = (
        "import sys; from mclstm.cli.main import main; "
        "assert main(['config', 'brook.yaml']) == 0; assert main(['config', '--schema']) == 0; "
        "assert main(['train', 'bad.yaml']) == 2; assert main(['check', 'brook.csv']) == 0; "
        "sys.exit(40 + ('torch' in sys.modules))"
    )
    done = process("-c", code, cwd=tmp_path)
    assert done.returncode == 40, done.stderr
