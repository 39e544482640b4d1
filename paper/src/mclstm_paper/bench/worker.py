"""The groups of measurements, and the process that makes each: `python -m mclstm_paper.bench.worker JSON`.

The number of threads is set in the environment before torch is loaded, and never changes in a process.
"""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from mclstm_paper.bench import passes, seed_updates
from mclstm_paper.bench.scales import SCALES, Scale
from mclstm_paper.bench.timed_rounds import Measurement, Outcome

__all__ = ["GROUPS", "in_a_process", "measure", "measurements"]

# The parts of every group; each part has a process.
GROUPS: dict[str, Callable[[Scale], Sequence[str]]] = {
    "paper": lambda scale: ["all"],
    "table": lambda scale: ["all"],
    "small": lambda scale: list(scale.tasks),
    "single": lambda scale: ["all"],
    "memory": lambda scale: [
        *(f"{name}, T = {scale.paper.T}" for name in passes.PAPER),
        *(f"{name}, T = {scale.long_steps}" for name in ("mclstm-native", "mclstm-torch")),
    ],
    "growth": lambda scale: [*scale.sweeps, "E"],
}
# Measured on every number of threads; the other groups only on the lowest.
THREADED = ("paper", "table")

MEASURES: dict[str, Callable[[Measurement], Outcome]] = {
    "paper": passes.paper,
    "table": passes.table,
    "small": seed_updates.small,
    "single": passes.single,
    "memory": passes.memory,
    "growth": lambda wanted: (seed_updates.member_growth if wanted.part == "E" else passes.growth)(wanted),
}


def measurements(
    groups: Sequence[str], threads: Sequence[int], profile: str, repeats: int | None
) -> list[Measurement]:
    """All measurements of these groups, in the order of GROUPS.

    >>> [measurement.threads for measurement in measurements(["paper", "single"], [1, 2], "quick", None)]
    [1, 2, 1]
    """
    scale = SCALES[profile]
    rounds = scale.repeats if repeats is None else repeats
    return [
        Measurement(group, part, count, profile, rounds)
        for group, parts in GROUPS.items()
        if group in groups
        for count in (threads if group in THREADED else [min(threads)])
        for part in parts(scale)
    ]


def measure(measurement: Measurement) -> Outcome:
    """Make one measurement in this process."""
    return MEASURES[measurement.group](measurement)


def in_a_process(measurement: Measurement) -> dict[str, Any]:
    """Make one measurement in a new process: its rows, or the reason why it died."""
    done = subprocess.run(
        [sys.executable, "-m", "mclstm_paper.bench.worker", json.dumps(measurement._asdict())],
        env=os.environ | environment(measurement.threads),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        outcome: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return outcome
    last = (done.stderr.strip().splitlines() or ["no message"])[-1]
    end = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
    memory = "; was there enough memory?" if done.returncode == -9 else ""
    reason = f"its process ended with {end}{memory}: {last}"
    return {"rows": [], "missing": {measurement.part: reason}, "flushed": False}


def environment(threads: int) -> dict[str, str]:
    """The variables that set the threads of torch, MKL and OpenBLAS.

    The threads of OpenBLAS spin for a tenth of a second after a product. The next candidate would lose a
    core to them, so they sleep at once (2^4 cycles, the least that OpenBLAS takes).

    >>> environment(2)["OPENBLAS_NUM_THREADS"]
    '2'
    """
    counts = {f"{library}_NUM_THREADS": str(threads) for library in ("OMP", "MKL", "OPENBLAS")}
    return counts | {"OPENBLAS_THREAD_TIMEOUT": "4"}


def prepare(threads: int) -> bool:
    """Set threads and flush denormal numbers to zero; False if this processor cannot flush them.

    Call it before any parallel work: threads inherit the flag from the one that starts them.
    """
    torch.set_num_threads(threads)
    # The published implementations take gigabytes: if memory runs out, Linux is to kill this process first.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    return torch.set_flush_denormal(True)


def main() -> None:
    """Make the measurement on the command line and print its outcome as the last line."""
    measurement = Measurement(**json.loads(sys.argv[1]))
    flushed = prepare(measurement.threads)
    outcome = measure(measurement)
    about = {"flushed": flushed, "threads_of_torch": torch.get_num_threads()}
    print(json.dumps({"rows": outcome.rows, "missing": outcome.missing, **about}))


if __name__ == "__main__":
    main()
