"""The results file of a bench, which grows with every measurement, and the machine it describes."""

import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from mclstm.errors import ConfigError, DataError
from mclstm.ops.native.build import status
from mclstm.training.atomic import make_folder
from mclstm.training.cost import commit
from mclstm_paper.bench.targets import verdicts
from mclstm_paper.bench.timed_rounds import Measurement
from mclstm_paper.bench.worker import in_a_process
from mclstm_paper.results import save_results

__all__ = ["Record", "bench", "machine"]

PLACE = ("group", "part", "threads")  # what tells one measurement from another
FLAGS = ("avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16")


class Record:
    """A results file, written after every measurement: a killed bench keeps its finished ones."""

    def __init__(self, path: Path, profile: str, keep: bool) -> None:
        self.path, self.profile, self.machine = path, profile, machine()
        self.rows: list[dict[str, Any]] = []
        self.missing: list[dict[str, Any]] = []
        self.jobs: list[dict[str, Any]] = []
        make_folder(path.parent)  # before the first measurement, not after it
        if keep and path.exists():
            self._read()

    def _read(self) -> None:
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

    def add(self, measurement: Measurement, outcome: dict[str, Any], seconds: float, load: float) -> None:
        """Replace the earlier rows of this measurement and write the file."""
        where = {at: getattr(measurement, at) for at in PLACE}
        for entries in (self.rows, self.missing, self.jobs):
            entries[:] = [entry for entry in entries if any(entry[at] != where[at] for at in PLACE)]
        self.rows += outcome["rows"]
        self.missing += [{**where, "model": name, "reason": why} for name, why in outcome["missing"].items()]
        cost = {"repeats": measurement.repeats, "seconds": round(seconds, 1), "load_before": round(load, 2)}
        today = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "commit": commit()}
        self.jobs.append({**where, **cost, "flushed": outcome["flushed"], **today})
        self.save()

    def save(self) -> None:
        """Write the whole file; targets are judged only at the paper's sizes, for which they are set."""
        seconds = sum(job["seconds"] for job in self.jobs)
        claims = [verdict.claim() for verdict in verdicts(self.rows)] if self.profile == "paper" else []
        save_results(
            self.path, "runtime", self.profile, self.rows, seconds, claims=claims, machine=self.machine,
            missing=self.missing, jobs=self.jobs,
        )  # fmt: skip


def bench(measurements: Sequence[Measurement], record: Record, tell: Callable[[str], None]) -> None:
    """Make all measurements; one whose process dies is reported as missing, and the others go on."""
    for number, measurement in enumerate(measurements, start=1):
        threads = f"{measurement.threads} thread{'s' if measurement.threads > 1 else ''}"
        tell(f"{number}/{len(measurements)} {measurement.group}: {measurement.part}, {threads}")
        load, start = os.getloadavg()[0], time.monotonic()
        outcome = in_a_process(measurement)
        for name, reason in outcome["missing"].items():
            tell(f"  missing: {name}: {reason}")
        record.add(measurement, outcome, time.monotonic() - start, load)


def machine() -> dict[str, Any]:
    """The processor and its instruction sets, memory, torch, and the kernel that `native` runs.

    >>> sorted(machine())
    ['blas', 'cpu', 'flags', 'kernel', 'memory_gb', 'torch', 'torch_uses']
    """
    about, kernel = cpu(), status()
    return {
        "cpu": about.get("model name", platform.processor() or platform.machine()),
        "flags": [flag for flag in FLAGS if flag in about.get("flags", "").split()],
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "torch": torch.__version__,
        "torch_uses": torch.backends.cpu.get_cpu_capability(),
        "blas": "MKL" if torch.backends.mkl.is_available() else "another BLAS",  # type: ignore[no-untyped-call]
        "kernel": kernel.library if kernel.available else f"missing: {kernel.reason}",
    }


def cpu() -> dict[str, str]:
    """The first processor of /proc/cpuinfo; empty where there is none."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().split("\n\n")[0].splitlines() if path.exists() else []
    pairs = (line.split(":", 1) for line in lines if ":" in line)
    return {name.strip(): value.strip() for name, value in pairs}
