"""`mclstm doctor`: what this installation has and what it lacks."""

import importlib.util
import json
from typing import Any

from mclstm.cli.show import Json

__all__ = ["doctor"]

EXTRAS = {
    "parquet": "pyarrow",
    "process": "cmaes",
    "export": "onnxruntime",
    "dask": "distributed",
    "tune": "optuna",
}


def doctor(as_json: Json = False) -> None:
    """Show versions, threads, backends and extras."""
    report = examination()
    if as_json:
        print(json.dumps(report, indent=1))
        return
    for section, content in report.items():
        print(section)
        for name, value in content.items():
            print(f"  {name:<14}{value}")


def examination() -> dict[str, dict[str, Any]]:
    """The report by section: a name and a value per line."""
    import torch

    from mclstm.ops.dispatch import BACKENDS
    from mclstm.training.folder import environment

    machine = environment()
    return {
        "versions": {"python": machine["python"], **machine["packages"]},
        "machine": {
            "platform": machine["platform"],
            "cores": machine["cores"],
            "threads": torch.get_num_threads(),
            "gpu": _gpu(),
        },
        "backends": dict.fromkeys(BACKENDS, "available") | {"native": _kernel()},
        "extras": {name: _extra(package) for name, package in EXTRAS.items()},
    }


def _gpu() -> str:
    """Which graphics cards torch sees, and what runs on them."""
    import torch

    if not torch.cuda.is_available():
        build = "a CPU build" if torch.version.cuda is None else f"built for CUDA {torch.version.cuda}"
        return f"none (torch is {build}); mclstm needs none: its kernel is for processors"
    cards = [torch.cuda.get_device_name(at) for at in range(torch.cuda.device_count())]
    return f"{', '.join(cards)}: layers run there with .to('cuda'), mclstm train runs on the processor"


def _kernel() -> str:
    from mclstm.ops.native.build import VARIABLE, chosen, status

    kernel, name = status(), chosen()
    if not kernel.available:
        return str(kernel.reason) if name == "none" else f"missing: {kernel.reason}"
    if name is not None:
        return f"available: {kernel.library}, chosen by {VARIABLE}={name}"
    skipped = f"; better ones skipped: {kernel.skipped}" if kernel.skipped else ""
    return f"available: {kernel.library}{skipped}"


def _extra(package: str) -> str:
    installed = importlib.util.find_spec(package) is not None
    return "installed" if installed else f"missing: pip install {package}"
