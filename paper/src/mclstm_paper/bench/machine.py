"""What a bench ran on: enough to judge whether two of them can be compared."""

import os
import platform
from pathlib import Path
from typing import Any

__all__ = ["machine"]

FLAGS = ("avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16")


def machine() -> dict[str, Any]:
    """Processor, its instruction sets that matter here, memory, torch and the kernel that `native` runs.

    >>> sorted(machine())
    ['blas', 'cpu', 'flags', 'kernel', 'memory_gb', 'torch', 'torch_uses']
    """
    import torch

    from mclstm.ops.native.library import status

    about, kernel = cpu(), status()
    return {
        "cpu": about.get("model name", platform.processor() or platform.machine()),
        "flags": [flag for flag in FLAGS if flag in about.get("flags", "").split()],
        "memory_gb": memory_gb(),
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


def memory_gb() -> float | None:
    """All memory of the machine, or None where it cannot be asked."""
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (AttributeError, ValueError, OSError):
        return None
