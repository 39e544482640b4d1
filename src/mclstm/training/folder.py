"""The folder of a run: what lies where, and how a new one begins."""

import json
import os
import platform
import secrets
import sys
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from mclstm.errors import CheckpointError, StorageError
from mclstm.training.atomic import write_text_atomic

__all__ = ["RunFolder", "environment"]

PACKAGES = ("mclstm", "torch", "numpy", "safetensors", "pandas", "xarray", "h5netcdf", "scipy")


class RunFolder:
    """Paths of one run, `runs/<name>/<date>-<hex>/`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / "config.yaml"
        self.environment = path / "environment.json"
        self.manifest = path / "data_manifest.json"
        self.moments = path / "scaling.json"
        self.journal = path / "metrics.jsonl"
        self.log = path / "log.txt"
        self.checkpoints = path / "checkpoints"
        self.figures = path / "figures"

    @classmethod
    def create(cls, root: Path, name: str) -> "RunFolder":
        """A new folder that no other run has, with what is known of the machine."""
        stamp = f"{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        return cls.at(root / name / stamp, new=True)

    @classmethod
    def at(cls, path: Path, *, new: bool = False) -> "RunFolder":
        """The folder for a run that begins at this very place, which may be there unless it must be new."""
        folder = cls(path)
        try:
            folder.path.mkdir(parents=True, exist_ok=not new)
            folder.checkpoints.mkdir(exist_ok=not new)
        except OSError as error:
            raise StorageError(
                f"Cannot make the run folder {folder.path}: {error.strerror or error}. "
                "Choose another place with --out."
            ) from error
        write_text_atomic(folder.environment, json.dumps(environment(), indent=1) + "\n")
        return folder

    @classmethod
    def existing(cls, path: Path) -> "RunFolder":
        """The folder of a run that was begun."""
        folder = cls(path)
        if not folder.config.is_file():
            raise CheckpointError(f"{path} is not a run: it has no config.yaml. Give the folder of a run.")
        return folder

    def evaluation(self, split: str) -> Path:
        """Where the results of a period lie."""
        return self.path / "evaluation" / split

    def weights(self) -> Path:
        """The checkpoint to use: the best by validation, or else the last."""
        best, last = (self.checkpoints / f"{name}.safetensors" for name in ("best", "last"))
        for path in (best, last):
            if path.is_file():
                return path
        raise CheckpointError(f"{self.path} has no checkpoint yet. Go on with: mclstm resume {self.path}")

    def is_scored(self, split: str) -> bool:
        """Whether the run has been evaluated on a period, by its log, which is written last."""
        return any(f"evaluated {split}:" in line for line in self.notes())

    def notes(self) -> list[str]:
        """The lines of the log."""
        return self.log.read_text(encoding="utf-8").splitlines() if self.log.is_file() else []

    def note(self, line: str) -> None:
        """One line with the time in the log."""
        try:
            with self.log.open("a", encoding="utf-8") as log:
                log.write(f"{datetime.now():%Y-%m-%d %H:%M:%S} {line}\n")
        except OSError as error:
            raise StorageError(
                f"Cannot write {self.log}: {error.strerror or error}. "
                "Make room or make the folder writable, then run the command again."
            ) from error

    def read_json(self, path: Path) -> dict[str, Any]:
        """A JSON object of the run, or a CheckpointError that names the file."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise CheckpointError(
                f"{path} cannot be read: {getattr(error, 'strerror', None) or error}. "
                "Restore it, or start a new run."
            ) from error
        if not isinstance(content, dict):
            raise CheckpointError(f"{path} is not a JSON object. Restore it, or start a new run.")
        return content


def environment() -> dict[str, Any]:
    """What a run ran on: versions, machine, threads.

    >>> sorted(environment())
    ['cores', 'machine', 'packages', 'platform', 'python']
    """
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return {
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "machine": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "packages": versions,
    }
