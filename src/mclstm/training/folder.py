"""The folder of a run: the path of every file, and how a new folder begins."""

import json
import os
import platform
import secrets
import sys
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from mclstm.errors import CheckpointError
from mclstm.training.atomic import storage_errors, write_text_atomic

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

    @classmethod
    def create(cls, root: Path, name: str) -> "RunFolder":
        """A new folder that no other run has, with a description of the machine."""
        stamp = f"{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        return cls.at(root / name / stamp, new=True)

    @classmethod
    def at(cls, path: Path, *, new: bool = False) -> "RunFolder":
        """The folder of a run that begins at this very path; `new` refuses a folder that exists."""
        folder = cls(path)
        with storage_errors(f"make the run folder {path}", "Choose another place with --out."):
            folder.path.mkdir(parents=True, exist_ok=not new)
            folder.checkpoints.mkdir(exist_ok=not new)
        write_text_atomic(folder.environment, json.dumps(environment(), indent=1) + "\n")
        return folder

    @classmethod
    def existing(cls, path: Path) -> "RunFolder":
        """The folder of a run that was begun."""
        folder = cls(path)
        if not path.exists():
            raise CheckpointError(f"{path}: there is no such folder. Give the folder of a run.")
        if not folder.config.is_file():
            raise CheckpointError(f"{path} is not a run: it has no config.yaml. Give the folder of a run.")
        return folder

    def evaluation(self, split: str) -> Path:
        """The folder with the results of a period."""
        return self.path / "evaluation" / split

    def weights(self) -> Path:
        """The checkpoint to use: the best by validation, or else the last."""
        best, last = (self.checkpoints / f"{name}.safetensors" for name in ("best", "last"))
        for path in (best, last):
            if path.is_file():
                return path
        raise CheckpointError(f"{self.path} has no checkpoint yet. Go on with: mclstm resume {self.path}")

    def is_scored(self, split: str) -> bool:
        """Whether the run was evaluated on a period, as its log says; the log is written last."""
        return self.log.is_file() and f" evaluated {split}:" in self.log.read_text(encoding="utf-8")

    def note(self, line: str) -> None:
        """Write one line with the time to the log."""
        remedy = "Make room or make the folder writable, then run the command again."
        with storage_errors(f"write {self.log}", remedy), self.log.open("a", encoding="utf-8") as log:
            log.write(f"{datetime.now():%Y-%m-%d %H:%M:%S} {line}\n")

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
    """The versions of packages and the machine that a run used.

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
