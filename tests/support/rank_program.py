"""What torchrun starts in test_ranks.py: trainings on two ranks, one case after the other.

    python rank_program.py FOLDER CASE...

Every case trains in FOLDER / CASE; rank 0 prints how it ended.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mclstm import pipeline
from mclstm.config import Config, check_config
from mclstm.data.windows import Tensors, windows
from mclstm.errors import Interrupted, TrainingError
from mclstm.models import MODELS
from mclstm.models.output import Sizes
from mclstm.training.learner import follow
from mclstm.training.loop import fit
from mclstm.training.loss import importance_of
from mclstm.training.progress import Show, showing
from mclstm.training.ranks import Ranks
from mclstm.training.torchrun import joined
from support.small_run import brook, brook_config, brooks

UPDATES, STOP_AFTER = 9, 4
MASS = {"name": "mclstm", "hidden_size": 3}
LSTM = {"name": "lstm", "hidden_size": 3}
# name: the model, and keys of the section training
EQUAL: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "penalties": (
        MASS | {"head": "linear", "evapotranspiration": True, "cell_penalty": 1e-4},
        {"loss": "nse", "clip": 0.05, "average": 0.5},
    ),
    "memory": (
        MASS | {"aux_memory": 2, "initial_state": "learned"},
        {"warmup_gradient": False, "clip": None},
    ),
    "cut": (MASS, {"warmup_gradient": False}),
    "members": (MASS, {"members": 2, "clip": 0.05}),
    "peaks": (LSTM, {"peak": {"quantile": 0.8, "updates": 5}}),
}
DROPOUT = (LSTM | {"dropout": 0.4}, {})
STOPPED = {"stopped": (MASS, {}), "dropout": DROPOUT}  # when they begin, not when they go on
WHOLE = {"dropout-whole": DROPOUT}
DISTURBED = {"signal": (MASS, {}), "killed": (MASS, {})}
SENT = {"signal": signal.SIGTERM, "killed": signal.SIGKILL}


def gappy_brooks(path: Path) -> Path:
    """Three brooks, each observed on fewer days than the one before."""
    table = brooks(brook(path), ["a", "b", "c"])
    kept = table["site"].map({"a": 0.9, "b": 0.5, "c": 0.15})
    table["flow"] = table["flow"].where(np.random.default_rng(7).random(len(table)) < kept)
    table.to_csv(path, index=False)
    return path


def config_of(folder: Path, case: str) -> Config:
    """Batches of 7 of 36 windows divide unequally among two; the last has one, so that a rank has none."""
    model, training = (EQUAL | STOPPED | WHOLE | DISTURBED)[case]
    settings = {"stride": 13, "batch_size": 7, "updates": UPDATES, "checkpoint_every": 100} | training
    return check_config(brook_config(folder / "brooks.csv", model, **settings))


def stop_after(updates: int) -> Callable[[], int | None]:
    """A function that asks for a stop when it is called so many times."""
    calls = iter(range(1, 1000))
    return lambda: signal.SIGTERM if next(calls) == updates else None


@contextmanager
def disturbing(total: int, title: str, number: int, pid: int) -> Iterator[Show]:
    """Send a signal to another rank after some updates."""
    yield lambda done, loss, error: os.kill(pid, number) if done == STOP_AFTER else None


def train(folder: Path, case: str, ranks: Ranks, partner: int) -> None:
    """Train a case; rank 0 also leaves its checkpoint and log there."""
    config = config_of(folder, case)
    if not ranks.first:
        pipeline.assist(config, ranks)
        return
    begins = not (folder / case).exists()
    stop = stop_after(STOP_AFTER) if case in STOPPED and begins else lambda: None
    display = partial(showing, quiet=True)
    if case in DISTURBED:
        display = partial(disturbing, number=SENT[case], pid=partner)
    pipeline.train_or_resume(folder / case, config, display, stop, ranks)


def refused(folder: Path, ranks: Ranks) -> None:
    """A training whose inputs are not finite at the last of four sites, in a window of rank 1."""
    source = np.random.default_rng(0)
    x, a, y = (torch.tensor(source.random((4, 12, 1)), dtype=torch.float32) for _ in range(3))
    x[3, 5] = torch.nan
    data = Tensors(x, a, torch.zeros(4, 0), y, np.ones((4, 12), dtype=bool))
    where = windows(data, (2, 12), "sequence", length=12, warmup=2)
    model = MODELS["mclstm"](Sizes(1, 1, 0, ["flow"]), None, hidden_size=3)
    importance = importance_of(y, "mse")
    shared = {"batch_size": 4, "seed": 0, "clip": None, "weight_decay": 0.0, "warmup_gradient": True}
    if not ranks.first:
        follow(model, data, where, importance, ranks, **shared)
        return
    (folder / "refused" / "checkpoints").mkdir(parents=True)
    fit(
        model, data, where, importance, folder / "refused", ranks=ranks, validate=None, model_hash="",
        show=lambda done, loss, error: None, epochs=None, updates=3, learning_rate=0.01, schedule={},
        schedule_by="epoch", early_stopping=None, validate_every=1, checkpoint_every=9, **shared,
    )  # fmt: skip


def main() -> None:
    folder, cases = Path(sys.argv[1]), sys.argv[2:]
    with joined("cpu") as ranks:
        numbers = [torch.zeros(1, dtype=torch.int64) for _ in range(ranks.size)]
        torch.distributed.all_gather(numbers, torch.tensor([os.getpid()]))
        for case in cases:
            how = "finished"
            try:
                refused(folder, ranks) if case == "refused" else train(folder, case, ranks, int(numbers[1]))
            except (Interrupted, TrainingError) as error:
                how = str(error)
            if ranks.first:
                print(f"{case}: {how}", flush=True)


if __name__ == "__main__":
    main()
