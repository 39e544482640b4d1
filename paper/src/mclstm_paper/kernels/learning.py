"""Training of small arithmetic networks by the kernel library, many updates per call."""

import ctypes
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mclstm_paper.kernels.library import library

__all__ = [
    "GATED_CELLS",
    "HEADS",
    "LAYERS",
    "OPERATIONS",
    "Parameter",
    "Trained",
    "address",
    "learn",
    "learns",
]

LAYERS = ("mass", "mcfc", "nau", "nac", "recurrent-nau", "recurrent-nac", "nalu", "gated-mass")
GATED_CELLS = (2, 3)  # of a gated-mass layer
HEADS = ("linear", "product", "nau", "nac", "nmu", "nac-mul", "nalu")
OPERATIONS = ("addition", "subtraction", "multiplication")
MOST_PARAMETERS, MOST_OUTPUTS, WHOLE_VECTORS = 9, 16, 64
SIZES = ("members", "inputs", "steps", "batch", "outputs", "layer", "head", "operation", "subset", "overlap")


class Parameter(ctypes.Structure):
    """`struct Parameter` of learn_call.h."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("value", "mean", "square")),
        ("size", ctypes.c_int64),
    ]


class _Learn(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int64) for name in (*SIZES, "first", "updates")),
        *((name, ctypes.c_void_p) for name in ("seeds", "offsets", "rates", "pulls")),
        *((name, ctypes.c_double) for name in ("low", "epsilon", "l2")),
        ("parameters", Parameter * MOST_PARAMETERS),
        ("failed", ctypes.c_void_p),
    ]


class Trained(NamedTuple):
    """The network, its task and its optimiser; the tensors are changed in place."""

    layer: str  # of LAYERS
    head: str  # of HEADS
    operation: str  # of OPERATIONS, between the sums of two subsets
    inputs: int  # n numbers per step, uniform in [low, low + 1)
    steps: int
    batch: int
    outputs: int  # K of the layer
    subset: int  # elements of a subset
    overlap: int  # elements of both
    low: float
    seeds: Tensor  # (E,) int64
    offsets: Tensor  # (E,) int64, the first element of the first subset
    parameters: Sequence[
        tuple[Tensor | None, Tensor | None, Tensor | None]
    ]  # (E, ...) value and Adam's moments
    failed: Tensor  # (E,) int64, the update at which a member failed, -1 for none
    epsilon: float  # Adam's
    l2: float  # factor of half the mean square of a linear head's weights


def learns(batch: int, outputs: int) -> bool:
    """Whether the library is loaded and takes batches and layers of this size."""
    return batch % WHOLE_VECTORS == 0 and outputs <= MOST_OUTPUTS and library() is not None


def learn(trained: Trained, first: int, rates: Tensor, pulls: Tensor) -> None:
    """Make updates first, first + 1, ...; rates and pulls are (U,) float64, one of each per update.

    pulls: factors of the sparsity penalty. A member whose gradient is not finite stays as it was; `failed`
    gets the update.
    """
    kernel = library()
    assert kernel is not None
    call = _Learn(first=first, updates=len(rates), members=len(trained.seeds))
    for name in ("inputs", "steps", "batch", "outputs", "subset", "overlap", "low", "epsilon", "l2"):
        setattr(call, name, getattr(trained, name))
    call.layer, call.head = LAYERS.index(trained.layer), HEADS.index(trained.head)
    call.operation = OPERATIONS.index(trained.operation)
    for name, value in (("seeds", trained.seeds), ("offsets", trained.offsets), ("failed", trained.failed)):
        setattr(call, name, address(value, torch.int64))
    call.rates, call.pulls = address(rates, torch.float64), address(pulls, torch.float64)
    for at, parts in enumerate(trained.parameters):
        each = 0 if parts[0] is None else parts[0].numel() // len(trained.seeds)
        call.parameters[at] = Parameter(*(address(part, torch.float32) for part in parts), each)
    if kernel.mclstm_learn(ctypes.byref(call)) != 0:
        raise MemoryError("The paper's kernel library found no memory for a batch; train fewer members.")


def address(value: Tensor | None, dtype: torch.dtype) -> int | None:
    """Where a tensor lies that the library reads or writes without strides; None for None."""
    if value is None:
        return None
    if not value.is_contiguous() or value.dtype != dtype or value.device.type != "cpu":
        raise ValueError(f"The library takes contiguous {dtype} on the CPU, not this {value.dtype} tensor.")
    return value.data_ptr()
