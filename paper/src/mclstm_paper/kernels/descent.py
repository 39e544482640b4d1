"""Training of autoregressive models on one series each: many updates of many members per call of the library.

    loss = mean (ŷ - y)² - mean over the outputs of corr(ŷ, y),    over the steps 1 .. window - 1

A member's window grows by a few steps whenever its loss has reached a threshold.
"""

import ctypes
from typing import Any, NamedTuple

import torch
from torch import Tensor

from mclstm.ops.autoregression import Autoregression
from mclstm.ops.native.trajectory import MOST_WEIGHTS, Call, View, described, fits, view
from mclstm_paper.kernels import descent_in_torch
from mclstm_paper.kernels.descent_in_torch import PredictingLSTM, Progress, Recipe
from mclstm_paper.kernels.learning import Parameter, address
from mclstm_paper.kernels.library import library

__all__ = ["PredictingLSTM", "Progress", "Recipe", "begin", "descend"]

SIZES = ("E", "T", "A", "K", "hidden", "first", "updates", "growth", "threads", "count")
NUMBERS = ("threshold", "decay", "clip", "slope", "intercept", "epsilon")
COUNTS, AMOUNTS = ("window", "cap", "failed"), ("loss", "error", "lowest")
WHOLE_VECTORS = 16  # an LSTM's cells come in such groups


class _Descent(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int64) for name in SIZES),
        ("model", ctypes.POINTER(Call)),
        *((name, View) for name in ("a", "start")),
        *((name, ctypes.c_void_p) for name in ("targets", "rates")),
        *((name, ctypes.c_double) for name in NUMBERS),
        ("parameters", Parameter * MOST_WEIGHTS),
        ("best", ctypes.c_void_p * MOST_WEIGHTS),
        *((name, ctypes.c_void_p) for name in (*COUNTS, *AMOUNTS)),
    ]


def begin(
    model: Autoregression | PredictingLSTM,
    cap: Tensor,  # (E,) int64, the largest window of each member: the length of its training part
    *,
    window: int = 11,
    keep_best: bool = False,
) -> Progress:
    """A training before its first update."""
    means, squares = (tuple(torch.zeros_like(value) for value in model.weights) for _ in range(2))
    best = tuple(value.detach().clone() for value in model.weights) if keep_best else ()
    loss, error, lowest = (torch.full(cap.shape, torch.inf, dtype=torch.float64) for _ in range(3))
    failed = torch.full_like(cap, -1)
    return Progress(means, squares, best, cap.clamp(max=window), cap.clone(), failed, loss, error, lowest)


class _Sizes(NamedTuple):
    members: int
    steps: int
    aux: int
    outputs: int


def descend(
    model: Autoregression | PredictingLSTM,  # its weights, float32 and contiguous, are changed in place
    targets: Tensor,  # (E, L, K) float32 from the first state on; windows count these rows
    progress: Progress,  # changed in place
    recipe: Recipe,
    first: int,  # how many updates were made before
    rates: Tensor,  # (U,) float64, the learning rate of each update
) -> None:
    """Make U updates of all members. Updates in portions, with their numbers in `first`, give the same bits.

    A member whose loss or gradient is not finite stays as it was; `progress.failed` gets the update.
    Where the library is not built torch does the same, about thirty times slower.
    """
    sizes = _checked(model, targets, progress)
    kernel = library()
    if kernel is None or not _covers(model):
        descent_in_torch.descend(model, targets, progress, recipe, first, rates)
        return
    kept: list[Any] = []
    call = _Descent(*sizes, 0, first, len(rates), recipe.growth, torch.get_num_threads(), len(model.weights))
    _describe_model(call, model, kept)
    for name in NUMBERS:
        setattr(call, name, getattr(recipe, name) or 0.0)
    call.targets, call.rates = address(targets, torch.float32), address(rates, torch.float64)
    _describe_progress(call, model.weights, progress)
    if kernel.mclstm_descend(ctypes.byref(call)) != 0:
        raise MemoryError("The paper's kernel library found no memory for a trajectory; train fewer steps.")


def _covers(model: Autoregression | PredictingLSTM) -> bool:
    return fits(model) if isinstance(model, Autoregression) else model.hidden % WHOLE_VECTORS == 0


def _describe_model(call: _Descent, model: Autoregression | PredictingLSTM, kept: list[Any]) -> None:
    if isinstance(model, Autoregression):
        inner = described(model, kept)
        call.model, call.a, call.start = ctypes.pointer(inner), inner.a, inner.c0
    else:
        call.hidden = model.hidden
        call.a, call.start = view(model.a.unsqueeze(2)), view(model.start.unsqueeze(1))


def _describe_progress(call: _Descent, weights: tuple[Tensor, ...], progress: Progress) -> None:
    for n, parts in enumerate(zip(weights, progress.means, progress.squares, strict=True)):
        addresses = (address(part, torch.float32) for part in parts)
        call.parameters[n] = Parameter(*addresses, parts[0][0].numel())
    for n, value in enumerate(progress.best):
        call.best[n] = address(value, torch.float32)
    for name in (*COUNTS, *AMOUNTS):
        dtype = torch.int64 if name in COUNTS else torch.float64
        setattr(call, name, address(getattr(progress, name), dtype))


def _checked(model: Autoregression | PredictingLSTM, targets: Tensor, progress: Progress) -> _Sizes:
    """The sizes of a training whose series, auxiliary inputs and windows fit together."""
    members, length, outputs = targets.shape
    steps, aux = model.a.shape[1], model.a.shape[-1]
    if steps < length - 1:
        raise ValueError(f"Targets have {length} rows, but auxiliary inputs only {steps}; give {length - 1}.")
    if isinstance(model, Autoregression) and model.c0.shape != (members, 1, outputs):
        raise ValueError(
            f"c0 is {tuple(model.c0.shape)}; give one sample for each series, {(members, 1, outputs)}."
        )
    if int(progress.cap.max()) > length or int(progress.window.min()) < 3:
        raise ValueError(
            f"A window has 3 to {length} rows, the length of the targets; change `cap` or `window`."
        )
    return _Sizes(members, length - 1, aux, outputs)
