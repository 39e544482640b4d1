"""How long 100 members and 100,000 sites take on many nodes: list scheduling of jobs with measured costs.

`make record-scale-out` simulates it and writes results/operation/scale_out.json. What a training and a step
cost is read from result files; nodes, deaths and delays are assumptions, which the file holds.
"""

import argparse
import heapq
import math
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.random import Generator

from mclstm_paper.results import Row, committed_results, row, save_results

__all__ = ["NODES", "makespan", "on_paper", "plans", "rows_of"]

MEMBERS, SITES, STEPS = 100, 100_000, 3650  # ten years of days
SHARD = 1000  # sites of a job of prediction
NODES, CORES = (1, 10, 100), 16
DEATH = 24 * 3600.0  # seconds between two deaths of a worker, on average
DELAY = 60.0  # until a new worker takes the job
LOST = 60.0  # work since the last checkpoint, at most
DRAWS = 20
MODEL, SPEED, SPEED_SITES = "hybrid", "100 sites", 100


def plans(root: Path) -> dict[str, list[float]]:
    """The seconds of every job of one core, by plan."""
    training = [
        seconds
        for item in committed_results(root / "results/hydrology/stated.json")["rows"]
        if (item["model"], item["metric"], item["setting"]) == (MODEL, "nse", "447 basins")
        for seconds in item["training"]["cpu_seconds"]
    ]
    (steps,) = [
        item["value"]
        for item in committed_results(root / "results/operation/speed.json")["rows"]
        if (item["model"], item["metric"], item["setting"]) == ("one call", "steps per second", SPEED)
    ]
    per_member = [training[at % len(training)] for at in range(MEMBERS)]
    shard = SHARD * STEPS / (steps * SPEED_SITES)
    return {
        "train, as many updates as for 447 sites": per_member,
        "train, as many updates per site": [seconds * SITES / 447 for seconds in per_member],
        "predict ten years": [shard] * (MEMBERS * SITES // SHARD),
    }


def on_paper(jobs: Sequence[float], workers: int) -> float:
    """The seconds of equal jobs in waves, without any death."""
    return math.ceil(len(jobs) / workers) * float(np.mean(jobs))


def makespan(
    jobs: Sequence[float], workers: int, death: float, chance: Generator, delay: float = DELAY
) -> float:
    """The seconds until the last job ends: a free worker takes the next one; a dead one's goes on elsewhere.

    death: mean seconds between two deaths of a worker
    """
    free, waiting, end = [0.0] * workers, [(0.0, seconds) for seconds in jobs], 0.0
    heapq.heapify(waiting)  # by the time from which a job can run
    while waiting:
        ready, seconds = heapq.heappop(waiting)
        begin = max(heapq.heappop(free), ready)
        lives = float(chance.exponential(death)) if math.isfinite(death) else math.inf
        if lives < seconds:
            done = max(0.0, lives - float(chance.uniform(0, LOST)))
            heapq.heappush(waiting, (begin + lives, seconds - done))
            heapq.heappush(free, begin + lives + delay)
        else:
            end = max(end, begin + seconds)
            heapq.heappush(free, begin + seconds)
    return end


def rows_of(jobs_by_plan: dict[str, list[float]], draws: int = DRAWS) -> list[Row]:
    """Hours by plan and nodes: on paper, simulated, and the share of the cores that works."""
    rows = []
    for plan, jobs in jobs_by_plan.items():
        for nodes in NODES:
            workers, setting = nodes * CORES, f"{nodes} node{'s' if nodes > 1 else ''}"
            times = [makespan(jobs, workers, DEATH, np.random.default_rng(draw)) for draw in range(draws)]
            busy = [sum(jobs) / (seconds * workers) for seconds in times]
            rows.append(row(setting, plan, "hours on paper", [on_paper(jobs, workers) / 3600]))
            rows.append(row(setting, plan, "hours simulated", [seconds / 3600 for seconds in times]))
            rows.append(row(setting, plan, "share of cores at work", busy))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/operation/scale_out.json"))
    options = parser.parse_args()
    started = time.monotonic()
    rows = rows_of(plans(Path()))
    assumed = {"cores per node": CORES, "seconds between deaths of a worker": DEATH}
    assumed |= {"seconds until a new worker": DELAY, "seconds lost with a worker": LOST}
    seconds = time.monotonic() - started
    save_results(options.out, "scale-out", "simulation", rows, seconds, assumed=assumed)


if __name__ == "__main__":
    main()
