"""Small experiments as a user runs them: with chosen thresholds, with result files, with jobs that fail."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mclstm.cli.main import main
from mclstm.errors import DataError
from mclstm_paper.arithmetic import experiment as arithmetic

STATIC = "static-arithmetic/stated.json"


def set_limits(monkeypatch: pytest.MonkeyPatch, stated: float = 1.0, published: float = 1e12) -> None:
    """Set the thresholds, so that a few updates can be enough."""
    limits = {"stated": stated, "published": published}
    monkeypatch.setattr(arithmetic, "thresholds", lambda task, operation: limits)


def run(folder: Path, name: str, *words: str) -> int:
    places = ["--out", str(folder / "out"), "--results", str(folder / "results"), "--quiet"]
    return main(["experiment", name, *places, *words])


def paper(folder: Path, *words: str, model: str = "mcfc", operation: str = "addition") -> int:
    choice = ["--profile", "paper", "--models", model, "--operations", operation]
    return run(folder, "static-arithmetic", *choice, *words)


def content(folder: Path, file: str = STATIC) -> dict[str, Any]:
    results: dict[str, Any] = json.loads((folder / "results" / file).read_text())
    return results


def success(folder: Path, model: str = "mcfc", file: str = STATIC) -> dict[str, Any]:
    """The row of a model's success rate."""
    rows: list[dict[str, Any]] = content(folder, file)["rows"]
    (row,) = [r for r in rows if (r["model"], r["metric"]) == (model, "success")]
    return row


def before_seed(monkeypatch: pytest.MonkeyPatch, seed: int, act: Callable[[], None]) -> None:
    """Do something before an arithmetic job that has this seed is trained."""
    learn = arithmetic.learn

    def learning(*words: Any, **parameters: Any) -> dict[str, Any]:
        if seed in parameters["seeds"]:
            act()
        return learn(*words, **parameters)

    monkeypatch.setattr(arithmetic, "learn", learning)


def fail() -> None:
    raise DataError("This job fails. It was meant to.")
