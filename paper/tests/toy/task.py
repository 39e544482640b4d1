"""The toy task: estimate the mean of uniform numbers, which is 1/2."""

import json
import random
from collections.abc import Callable
from pathlib import Path

from mclstm.jobs.job import Result, Work
from mclstm.jobs.monitor import JobMonitor
from mclstm_paper.protocols import Protocol
from toy.switches import FEW_NUMBERS

__all__ = ["LEARN", "MODELS"]

MODELS: dict[str, Callable[[list[float]], float]] = {
    "mean": lambda numbers: sum(numbers) / len(numbers),
    "first": lambda numbers: numbers[0],
}


def learn(
    folder: Path, monitor: JobMonitor, goal: int, *, model: str, protocol: Protocol, seeds: list[int]
) -> Result:
    """The squared error of each seed's estimate."""
    count = 10 if FEW_NUMBERS.on(protocol) else 1_000
    estimates = [MODELS[model](numbers(seed, count)) for seed in seeds]
    (folder / "estimates.json").write_text(json.dumps(estimates))
    return {"test": [(estimate - 0.5) ** 2 for estimate in estimates]}


def numbers(seed: int, count: int) -> list[float]:
    source = random.Random(seed)
    return [source.random() for _ in range(count)]


LEARN = Work("toy", learn)
