"""`mclstm doctor`: what this installation has, and what it lacks."""

import importlib.util
import json
import os
from pathlib import Path
from typing import Any

from mclstm.cli.show import Json

__all__ = ["doctor"]

EXTRAS = {"parquet": "pyarrow"}


def doctor(as_json: Json = False) -> None:
    """Versions, threads, backends, extras and data."""
    found = examination()
    if as_json:
        print(json.dumps(found, indent=1))
        return
    for section, content in found.items():
        print(section)
        for name, value in content.items():
            print(f"  {name:<14}{value}")


def examination() -> dict[str, dict[str, Any]]:
    """Everything the doctor says, by section."""
    import torch

    from mclstm.ops.dispatch import BACKENDS
    from mclstm.training.folder import environment

    around = environment()
    return {
        "versions": {"python": around["python"], **around["packages"]},
        "machine": {
            "platform": around["platform"],
            "cores": around["cores"],
            "threads": torch.get_num_threads(),
        },
        "backends": dict.fromkeys(BACKENDS, "available") | {"native": _kernel()},
        "extras": {name: _extra(package) for name, package in EXTRAS.items()},
        "data": {place: _data(Path(path)) for place, path in data_places().items()},
    }


def data_places() -> dict[str, str]:
    """Where real data is looked for: the folder that the variable MCLSTM_DATA names."""
    return {"MCLSTM_DATA": os.environ.get("MCLSTM_DATA", "")}


def _kernel() -> str:
    from mclstm.ops.native.library import status

    found = status()
    if not found.available:
        return f"missing: {found.reason}"
    return f"available: {found.library}" + (
        f"; better ones skipped: {found.skipped}" if found.skipped else ""
    )


def _extra(package: str) -> str:
    there = importlib.util.find_spec(package) is not None
    return "installed" if there else f"missing: pip install {package}"


def _data(path: Path) -> str:
    if str(path) in ("", "."):
        return "not set"
    if not path.is_dir():
        return f"{path}: no such folder"
    kinds = sorted(entry.name for entry in path.iterdir() if not entry.name.startswith("."))
    return f"{path}: {', '.join(kinds[:8])}"
