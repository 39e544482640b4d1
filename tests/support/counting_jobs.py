"""Small jobs that count and record how often they were called, and a monitor that stops a job."""

import json
import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from mclstm.errors import DataError, Interrupted
from mclstm.jobs.job import Work
from mclstm.jobs.monitor import JobMonitor


class StoppingMonitor(JobMonitor):
    """Stops a job at an update."""

    def __init__(self, folder: Path, update: int | None) -> None:
        super().__init__(folder, lambda: None)
        self.update, self.done = update, 0

    def show(self, done: int, total: int, note: str = "") -> None:
        self.done = done

    def stopped(self) -> int | None:
        return 15 if self.done == self.update else None


def count(
    folder: Path,
    monitor: JobMonitor,
    goal: int,
    pause: float = 0.0,
    fail_at: int = -1,
    kill_at: int = -1,
    die_at: int = -1,
) -> dict[str, Any]:
    """Count to the goal, from where the checkpoint is; every number goes into the sum."""
    with (folder / "calls").open("a") as file:
        file.write("x")
    (folder / "pid").write_text(str(os.getpid()))
    file = folder / "state.json"
    done, total = json.loads(file.read_text()) if file.exists() else (0, 0)
    while done < goal:
        if done == fail_at:
            raise DataError("This job fails. It was meant to.")
        if done == die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if done == kill_at and not (folder / "killed").exists():
            (folder / "killed").touch()
            os.kill(os.getpid(), signal.SIGTERM)
        done, total = done + 1, total + done + 1
        monitor.show(done, goal, f"sum {total}")
        time.sleep(pause)
        signum = monitor.stopped()
        file.write_text(json.dumps([done, total]))
        if signum is not None:
            raise Interrupted(signum, "stopped")
    return {"sum": total, "bad": float("nan")}


COUNT = Work("count", count)


def kill_workers(root: Path, times: int, over: threading.Event) -> list[str]:
    """Kill so many workers, each in the middle of a job; the names of the jobs they worked on."""
    killed: dict[tuple[str, str], None] = {}
    while len(killed) < times and not over.wait(0.01):
        for file in sorted(root.rglob("pid")):
            job, pid = file.parent, file.read_text()
            begun = pid and (job / "state.json").exists() and not (job / "result.json").exists()
            if begun and (job.name, pid) not in killed and len(killed) < times:
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
                    killed[job.name, pid] = None
    return [job for job, _ in killed]


def calls(root: Path, name: str) -> int:
    path = root / name / "calls"
    return len(path.read_text()) if path.exists() else 0
