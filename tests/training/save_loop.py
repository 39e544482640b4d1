"""Run by test_checkpoint.py in a process of its own: saves in a loop, is killed, and the file must load.

    save_loop.py kill FOLDER COUNT SEED   kills COUNT savers at random instants, prints how many files loaded
    save_loop.py full FOLDER              saves and appends with too little room, prints the errors

One import of torch serves all savers: each is a fork of this process, which has a single thread.
"""

import os
import random
import resource
import signal
import sys
import time
from pathlib import Path

import torch

from mclstm.errors import StorageError
from mclstm.training.checkpoint import load, save
from mclstm.training.journal import append, read


def save_for_ever(path: Path, round_: int) -> None:
    for update in range(10**9):
        save(path, {"weights.w": torch.full((50_000,), float(update))}, {"round": round_, "update": update})


def kill_savers(folder: Path, count: int, seed: int) -> None:
    torch.set_num_threads(1)
    delays = random.Random(seed)
    path = folder / "last.safetensors"
    started = time.perf_counter()
    for _ in range(3):
        save(path, {"weights.w": torch.zeros(50_000)}, {"round": -1, "update": 0})
    span = time.perf_counter() - started  # about three saves, on a fast disk and on a slow one
    loaded = 0
    for round_ in range(count):
        child = os.fork()
        if child == 0:
            save_for_ever(path, round_)
        time.sleep(delays.uniform(0, span))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        tensors, metadata = load(path)
        loaded += bool((tensors["weights.w"] == metadata["update"]).all())
        if round_ - metadata["round"] > 3:  # slower than before: savers did not get to save
            span = min(2.0, 2.0 * span)
    save(path, {}, {})
    print(loaded, metadata["round"], sorted(entry.name for entry in folder.iterdir()))


def fill_the_disk(folder: Path) -> None:
    path = folder / "last.safetensors"
    save(path, {"weights.w": torch.ones(8)}, {"update": 1})
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    try:
        save(path, {"weights.w": torch.ones(8000)}, {"update": 2})
    except StorageError as error:
        print(error)
    print(load(path)[1]["update"], sorted(entry.name for entry in folder.iterdir()))
    try:
        for update in range(1000):
            append(folder / "metrics.jsonl", {"update": update})
    except StorageError as error:
        print(error)
    print([record["update"] for record in read(folder / "metrics.jsonl")] == list(range(update)))


if __name__ == "__main__":
    if sys.argv[1] == "kill":
        kill_savers(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
    else:
        fill_the_disk(Path(sys.argv[2]))
