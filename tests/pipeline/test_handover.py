"""`mclstm train` hands its run to the evaluation in memory; `mclstm evaluate` reads it from the disk."""

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mclstm import pipeline
from mclstm.cli.main import main
from mclstm.config import load_config
from mclstm.data.read import read
from mclstm.data.windows import tensors, windows
from mclstm.models import MODELS
from support.small_run import brook_file

FUNCTIONS: list[Callable[..., Any]] = [load_config, read, tensors, windows]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each function was called, under whatever name a module imported it."""
    counts: Counter[str] = Counter()

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            counts[name] += 1
            return function(*arguments, **options)

        return call

    modules = [module for name, module in sys.modules.items() if name.split(".")[0] == "mclstm"]
    for function in FUNCTIONS:
        wrapped = counted(function.__name__, function)
        for module in modules:
            for name in [name for name, value in vars(module).items() if value is function]:
                monkeypatch.setattr(module, name, wrapped)
    monkeypatch.setitem(MODELS, "mclstm", counted("model", MODELS["mclstm"]))  # type: ignore[misc, arg-type]
    return counts


def test_train_loads_reads_builds_and_cuts_windows_once(tmp_path: Path, calls: Counter[str]) -> None:
    config = brook_file(tmp_path, updates=3)
    assert main(["train", str(config), "--out", str(tmp_path / "runs"), "--quiet"]) == 0
    assert calls == {"load_config": 1, "read": 1, "tensors": 1, "windows": 1, "model": 1}


def test_the_way_over_the_disk_gives_the_same_bytes(tmp_path: Path) -> None:
    config = brook_file(tmp_path)  # with a validation period: what is evaluated are the best weights
    assert main(["train", str(config), "--out", str(tmp_path / "runs"), "--quiet", "--no-figures"]) == 0
    (run,) = (tmp_path / "runs" / "brook").iterdir()
    files = [path for path in (run / "evaluation" / "test").iterdir() if path.is_file()]
    in_memory = {path: path.read_bytes() for path in files}
    pipeline.evaluate(run, figures=False)
    assert len(files) == 3
    assert {path: path.read_bytes() for path in files} == in_memory
