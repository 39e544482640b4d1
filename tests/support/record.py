"""The worst a long run met, kept in results/: `make record-properties`, `make record-backends`."""

import json
import os
from pathlib import Path

import torch

from mclstm.ops.native.build import status

__all__ = ["keep", "measured"]


def keep(worst: dict[str, float]) -> None:
    """Write the numbers to the file that the variable MCLSTM_RECORD names, if it names one."""
    target = os.environ.get("MCLSTM_RECORD")
    if target:
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        Path(target).write_text(json.dumps(worst, indent=1, sort_keys=True) + "\n")


def measured(backend: str, dtype: torch.dtype) -> str:
    """What a number is of: the backend, with the kernel that computes, and the dtype."""
    kernel = str(status().library).removesuffix(".so").removeprefix("kernel_")
    return f"{backend}{f' ({kernel})' if backend == 'native' else ''}, {str(dtype).removeprefix('torch.')}"
