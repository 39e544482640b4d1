"""Kill workers of a Dask cluster at random instants of their jobs, and count the results.

The jobs chain digests and save checkpoints: a lost, doubled or exchanged step shows in the result. What
kills do to trainings is in `kill_runs`. `make record-worker-kills` writes durability/worker_kills.json.
"""

import argparse
import hashlib
import json
import os
import random
import signal
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from mclstm.errors import Interrupted
from mclstm.jobs.execution import run_jobs
from mclstm.jobs.executors import dask_executor, local_cluster
from mclstm.jobs.job import Job, Result, Work, read_json
from mclstm.jobs.monitor import JobMonitor
from mclstm.training.atomic import make_folder, write_text_atomic
from mclstm.training.folder import environment

__all__ = ["Round", "chained", "killed_round", "main"]

JOBS, WORKERS, GOAL = 20, 2, 200
PAUSE, SAVE_EVERY = 0.005, 10  # seconds of a step, steps between two checkpoints


class Round(NamedTuple):
    """Twenty jobs and the kills of their workers."""

    kills: int
    hit: int  # jobs that lost at least one worker
    results: int  # jobs with a result
    twice: int  # results that were written more than once
    different: int  # results that are not those of an undisturbed job


def chained(seed: int, goal: int) -> str:
    """The result of a job that nothing disturbs."""
    digest = str(seed)
    for step in range(goal):
        digest = link(digest, step)
    return digest


def link(digest: str, step: int) -> str:
    return hashlib.sha256(f"{digest}-{step}".encode()).hexdigest()


def chain(folder: Path, monitor: JobMonitor, goal: int, seed: int) -> Result:
    """Chain digests up to the goal, from the checkpoint on."""
    (folder / "pid").write_text(str(os.getpid()))
    saved = read_json(folder / "state.json") or {"step": 0, "digest": str(seed)}
    digest = saved["digest"]
    for step in range(saved["step"], goal):
        time.sleep(PAUSE)
        digest = link(digest, step)
        monitor.show(step + 1, goal)
        signum = monitor.stopped()
        if signum is not None or (step + 1) % SAVE_EVERY == 0:
            write_text_atomic(folder / "state.json", json.dumps({"step": step + 1, "digest": digest}))
        if signum is not None:
            raise Interrupted(signum, "stopped")
    return {"digest": digest}


CHAIN = Work("chain", chain)


def killed_round(number: int, root: Path, address: str, kills: int, chance: random.Random) -> Round:
    """Run twenty jobs under at most so many kills, and look at their results."""
    seeds = range(number * JOBS, (number + 1) * JOBS)
    jobs = [Job(f"seed-{seed}", CHAIN, {"seed": seed}, GOAL) for seed in seeds]
    written: dict[Path, set[int]] = {}

    def look() -> None:
        for file in root.glob("*/result.json"):
            written.setdefault(file, set()).add(file.stat().st_ino)

    over, killed = threading.Event(), dict[tuple[str, int], None]()
    killer = threading.Thread(target=kill_workers, args=(root, kills, chance, over, killed))
    killer.start()
    try:
        with dask_executor(address) as executor:
            results = run_jobs(jobs, root, executor=executor, quiet=True, after=look)
    finally:
        over.set()
        killer.join()
    look()
    different = sum(results[f"seed-{seed}"]["digest"] != chained(seed, GOAL) for seed in seeds)
    twice = sum(len(files) > 1 for files in written.values())
    return Round(len(killed), len({name for name, _ in killed}), len(written), twice, different)


def kill_workers(
    root: Path, kills: int, chance: random.Random, over: threading.Event, killed: dict[tuple[str, int], None]
) -> None:
    """Kill workers some moments after they began a job; `killed` gets the job and process of every kill."""
    while len(killed) < kills and not over.wait(0.01):
        working = [
            (file.parent.name, int(number))
            for file in sorted(root.glob("*/pid"))
            if (number := file.read_text()) and not (file.parent / "result.json").exists()
        ]
        for job in [one for one in working if one not in killed][: kills - len(killed)]:
            over.wait(chance.uniform(0, 1.0))
            with suppress(ProcessLookupError):
                os.kill(job[1], signal.SIGKILL)
                killed[job] = None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    start, chance, rounds = time.monotonic(), random.Random(options.seed), list[Round]()
    while (done := sum(one.kills for one in rounds)) < options.kills:
        with tempfile.TemporaryDirectory() as folder, local_cluster(WORKERS) as address:
            left = options.kills - done
            rounds.append(killed_round(len(rounds), Path(folder), address, left, chance))
        print(rounds[-1], flush=True)
        make_folder(options.out.parent)
        content = record(rounds, options.seed, time.monotonic() - start)
        write_text_atomic(options.out, json.dumps(content, indent=1) + "\n")


def record(rounds: Sequence[Round], seed: int, seconds: float) -> dict[str, Any]:
    """The content of the record: totals, settings, the machine."""
    totals = {name: sum(getattr(one, name) for one in rounds) for name in Round._fields}
    about = {"seed": seed, "workers": WORKERS, "seconds": round(seconds, 1)}
    return {"jobs": JOBS * len(rounds), **totals, **about, "environment": environment()}


if __name__ == "__main__":
    main()
