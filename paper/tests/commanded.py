"""Experiments as a user runs them, small: limits of our own, results beside their jobs, jobs that fail."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mclstm.cli.main import main
from mclstm.errors import DataError
from mclstm_paper.recurrent_arithmetic import experiment as recurrent_arithmetic
from mclstm_paper.static_arithmetic import experiment as static_arithmetic

STATIC = "static-arithmetic/stated.json"


def set_limits(monkeypatch: pytest.MonkeyPatch, stated: float = 1.0, published: float = 1e12) -> None:
    """Thresholds that a few updates can be below or above of."""
    for module in (recurrent_arithmetic, static_arithmetic):
        limits = {"stated": stated, "published": published}
        monkeypatch.setattr(module, "thresholds", lambda task, operation, limits=limits: limits)


def run(folder: Path, name: str, *words: str) -> int:
    places = ["--out", str(folder / "out"), "--results", str(folder / "results"), "--quiet"]
    return main(["experiment", name, *places, *words])


def paper(folder: Path, *words: str, model: str = "mcfc", operation: str = "addition") -> int:
    asked = ["--profile", "paper", "--models", model, "--operations", operation]
    return run(folder, "static-arithmetic", *asked, *words)


def content(folder: Path, file: str = STATIC) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "results" / file).read_text())
    return found


def success(folder: Path, model: str = "mcfc", file: str = STATIC) -> dict[str, Any]:
    """The row of a model's success rate."""
    rows: list[dict[str, Any]] = content(folder, file)["rows"]
    (found,) = [r for r in rows if (r["model"], r["metric"]) == (model, "success")]
    return found


def before_seed(monkeypatch: pytest.MonkeyPatch, seed: int, act: Callable[[], None]) -> None:
    """Do something before a job of static arithmetic that has this seed is trained."""
    work = static_arithmetic.LEARN

    def learning(*words: Any, **parameters: Any) -> dict[str, Any]:
        if seed in parameters["seeds"]:
            act()
        return work.function(*words, **parameters)

    monkeypatch.setattr(static_arithmetic, "LEARN", work._replace(function=learning))


def fail() -> None:
    raise DataError("This job fails. It was meant to.")
