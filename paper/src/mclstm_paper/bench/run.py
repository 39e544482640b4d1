"""Runs the jobs of a bench one after the other, each in a process, and saves what is there after each."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mclstm.errors import ConfigError, DataError
from mclstm.report.results import save_results
from mclstm.training.atomic import make_folder
from mclstm.training.cost import commit
from mclstm_paper.bench.job import Job
from mclstm_paper.bench.machine import machine
from mclstm_paper.bench.targets import verdicts

__all__ = ["Record", "bench", "measured"]

PLACE = ("group", "part", "threads")


class Record:
    """A results file that grows job by job; a bench that is killed keeps what it had."""

    def __init__(self, path: Path, profile: str, keep: bool) -> None:
        self.path, self.profile, self.machine = path, profile, machine()
        self.rows: list[dict[str, Any]] = []
        self.missing: list[dict[str, Any]] = []
        self.jobs: list[dict[str, Any]] = []
        make_folder(path.parent)  # before the first job, not after it
        if keep and path.exists():
            self._take_over()

    def _take_over(self) -> None:
        try:
            before = json.loads(self.path.read_text())
            rows, missing, jobs = (list(before[name]) for name in ("rows", "missing", "jobs"))
            there = before["profile"], {name: before["made"]["machine"][name] for name in self.machine}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{self.path} is no record of a bench: {error}. Give another --out or leave out --keep."
            ) from error
        if there != (self.profile, self.machine):
            raise ConfigError(
                f"{self.path} was made on another machine, with another torch or at another scale. "
                "Give another --out or leave out --keep."
            )
        self.rows, self.missing, self.jobs = rows, missing, jobs

    def add(self, job: Job, found: dict[str, Any], seconds: float, load: float) -> None:
        """Put a job's rows in the place of its earlier ones and write the file."""
        for entries in (self.rows, self.missing, self.jobs):
            entries[:] = [entry for entry in entries if any(entry[at] != getattr(job, at) for at in PLACE)]
        where = {at: getattr(job, at) for at in PLACE}
        self.rows += found["rows"]
        self.missing += [{**where, "model": name, "reason": why} for name, why in found["missing"].items()]
        self.jobs.append(
            {**where, "repeats": job.repeats, "seconds": round(seconds, 1), "load_before": round(load, 2),
             "flushed": found["flushed"], "date": f"{datetime.now(UTC):%Y-%m-%d}", "commit": commit()}
        )  # fmt: skip
        self.save()

    def save(self) -> None:
        """The whole file; the targets are set for the paper's sizes and judged at those only."""
        seconds = sum(job["seconds"] for job in self.jobs)
        judged = verdicts(self.rows) if self.profile == "paper" else []
        claims = [verdict.claim() for verdict in judged]
        save_results(
            self.path, "runtime", self.profile, self.rows, seconds, claims=claims, machine=self.machine,
            missing=self.missing, jobs=self.jobs,
        )  # fmt: skip


def bench(jobs: Sequence[Job], record: Record, tell: Callable[[str], None]) -> None:
    """Do all jobs; one whose process dies is reported among the missing, and the others go on."""
    for number, job in enumerate(jobs, start=1):
        about = f"{job.group}: {job.part}, {job.threads} thread{'s' if job.threads > 1 else ''}"
        tell(f"{number}/{len(jobs)} {about}")
        load, start = os.getloadavg()[0], time.monotonic()
        found = measured(job)
        for name, reason in found["missing"].items():
            tell(f"  missing: {name}: {reason}")
        record.add(job, found, time.monotonic() - start, load)


def measured(job: Job) -> dict[str, Any]:
    """What the job's process printed; of one that died, the reason."""
    count = str(job.threads)
    done = subprocess.run(
        [sys.executable, "-m", "mclstm_paper.bench.worker", json.dumps(job._asdict())],
        env=os.environ | {"OMP_NUM_THREADS": count, "MKL_NUM_THREADS": count},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found
    last = (done.stderr.strip().splitlines() or ["no message"])[-1]
    ended = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
    memory = "; was there enough memory?" if done.returncode == -9 else ""
    reason = f"its process ended with {ended}{memory}: {last}"
    return {"rows": [], "missing": {job.part: reason}, "flushed": False}
