"""The fused autoregression of the kernel as a differentiable operation: fills `struct Autoregression`."""

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from mclstm.ops.autoregression import Autoregression, grouped, reference
from mclstm.ops.hypernetwork import ACTIVATIONS, SEES, Sight
from mclstm.ops.manual import rerun_gradients
from mclstm.ops.native.build import library
from mclstm.ops.native.call import NORMS, WORK_OF_A_THREAD

__all__ = ["Call", "View", "covers", "described", "fits", "run", "view"]

MOST_LAYERS = 8
MOST_WEIGHTS = 2 * MOST_LAYERS + 2
SIZES = ("E", "T", "B", "A", "K", "wide", "threads", "depth")
FORM = ("activation", "norm", "sees", "looks", "outlet")
NONE, CONSTANT, GATE = range(3)  # outlets


class View(ctypes.Structure):
    """`struct View` of call.h: the address and strides of a tensor (E, T, B, entries)."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("member", "step", "sample", "entry")),
    ]


class Call(ctypes.Structure):
    """`struct Autoregression` of autoregression.h."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in SIZES),
        ("widths", ctypes.c_int64 * (MOST_LAYERS + 1)),
        *((name, ctypes.c_int64) for name in FORM),
        *((name, ctypes.c_void_p) for name in ("cells", "scale", "shift", "steps")),
        *((name, View) for name in ("a", "c0", "h", "c", "dh", "dc", "da", "dc0")),
        ("weights", ctypes.c_void_p * MOST_WEIGHTS),
        ("gradients", ctypes.c_void_p * MOST_WEIGHTS),
    ]


def view(value: Tensor | None) -> View:
    """The address and strides of a tensor (E, T, B, entries), or (E, B, entries) of one step."""
    if value is None:
        return View()
    first, *rest = value.stride()
    return View(value.data_ptr(), first, *(rest if len(rest) == 3 else (0, *rest)))


def covers(problem: Autoregression) -> bool:
    """Whether the kernel is built and takes the problem; wrong shapes are left to torch's errors."""
    tensors = (problem.c0, problem.a, *problem.weights)
    alike = {(value.dtype, value.device.type) for value in tensors}
    plain = alike in ({(torch.float32, "cpu")}, {(torch.float64, "cpu")})
    return plain and fits(problem) and library() is not None


def fits(problem: Autoregression) -> bool:
    """Whether all shapes fit together, and the network is not too deep."""
    (members, batch, cells), sight = problem.c0.shape, problem.sight
    width = problem.a.shape[3] + len(sight.scale)
    features = len(sight.cells) * (2 if sight.sees == "share and change" else 1)
    good = len(sight.scale) == len(sight.shift) == features and len(problem.layers) <= MOST_LAYERS
    good &= problem.a.shape[0] == members and problem.a.shape[2] == batch
    good &= all(0 <= cell < cells for cell in sight.cells) and problem.steps.shape == (members,)
    for W, b in problem.layers:
        good &= W.shape == (members, W.shape[1], width) and b.shape == W.shape[:2]
        width = W.shape[1]
    for value, shape in ((problem.W_o, (cells, cells)), (problem.b_o, (cells,))):
        good &= value is None or value.shape == (members, *shape)
    return good and width == cells * cells


def described(problem: Autoregression, kept: list[Any]) -> Call:
    """The sizes, inputs and weights of a problem; what its addresses point to is added to `kept`."""
    (members, steps, batch, aux), cells, sight = problem.a.shape, problem.c0.shape[-1], problem.sight
    outlet = NONE if problem.b_o is None else CONSTANT if problem.W_o is None else GATE
    window = problem.steps.clamp(0, steps)
    weights = [value.resolve_neg().contiguous() for value in problem.weights]
    work = int(window.sum()) * batch * sum(value[0].numel() for value in weights)
    threads = max(1, min(torch.get_num_threads(), work // WORK_OF_A_THREAD))
    call = Call(members, steps, batch, aux, cells, problem.c0.dtype == torch.float64, threads)
    call.depth = len(problem.layers)
    for n, width in enumerate([problem.layers[0][0].shape[2], *(W.shape[1] for W, _ in problem.layers)]):
        call.widths[n] = width
    call.activation, call.norm = tuple(ACTIVATIONS).index(problem.activation), NORMS[problem.norm]
    call.sees, call.looks, call.outlet = SEES.index(sight.sees), len(sight.cells), outlet
    numbers = (ctypes.c_int64 * len(sight.cells))(*sight.cells)
    scale, shift = ((ctypes.c_double * len(row))(*row) for row in (sight.scale, sight.shift))
    a, c0 = problem.a.resolve_neg(), problem.c0.resolve_neg()
    call.cells, call.scale, call.shift = (ctypes.addressof(row) for row in (numbers, scale, shift))
    call.steps, call.a, call.c0 = window.data_ptr(), view(a), view(c0)
    for n, value in enumerate(weights):
        call.weights[n] = value.data_ptr()
    kept += [numbers, scale, shift, window, a, c0, weights]
    return call


def run(problem: Autoregression) -> tuple[Tensor, Tensor]:
    """Outflows h (E, T, B, K) and cells c (E, T + 1, B, K) of a problem that the kernel covers."""
    form = Form(len(problem.layers), *problem[5:])
    tensors = (problem.c0, problem.a, *problem.weights)
    h, c = Fused.apply(form, *tensors)  # type: ignore[no-untyped-call]
    return h, c


class Form(NamedTuple):
    """What is not a differentiable tensor of a problem."""

    depth: int
    activation: str
    sight: Sight
    norm: str
    steps: Tensor  # (E,) int64

    def problem(self, tensors: Sequence[Tensor]) -> Autoregression:
        """The problem of c0, a and all weights."""
        c0, a, *weights = tensors
        _, activation, sight, norm, steps = self
        return Autoregression(c0, a, *grouped(weights, self.depth), activation, sight, norm, steps)


class Fused(torch.autograd.Function):
    """The kernel, there and back; the backward runs the trajectory again instead of keeping it."""

    @staticmethod
    def forward(ctx: Any, form: Form, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        ctx.form = form
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)
        (members, batch, cells), steps = tensors[0].shape, tensors[1].shape[1]
        h, c = (tensors[0].new_empty(members, count, batch, cells) for count in (steps, steps + 1))
        _call(form.problem(tensors), False, {"h": h, "c": c}, [])
        return h, c

    @staticmethod
    def backward(ctx: Any, dh: Tensor | None, dc: Tensor | None) -> tuple[Tensor | None, ...]:
        tensors = ctx.saved_tensors
        problem = ctx.form.problem(tensors)
        if torch.is_grad_enabled():  # create_graph: second derivatives are wanted
            return None, *rerun_gradients(lambda: reference(problem), tensors, dh, dc)
        dc0, da, *dweights = (value.new_zeros(value.shape) for value in tensors)
        moving = {"dh": dh, "dc": dc, "dc0": dc0, "da": da if ctx.needs_input_grad[2] else None}
        views = {name: None if value is None else value.resolve_neg() for name, value in moving.items()}
        _call(problem, True, views, dweights)
        return None, dc0, moving["da"], *dweights


def _call(
    problem: Autoregression, backward: bool, views: dict[str, Tensor | None], dweights: Sequence[Tensor]
) -> None:
    kernel, kept = library(), list(views.values())
    assert kernel is not None
    call = described(problem, kept)
    for name, value in views.items():
        setattr(call, name, view(value))
    for n, value in enumerate(dweights):
        call.gradients[n] = value.data_ptr()
    if kernel.mclstm_autoregress(ctypes.byref(call), int(backward)) != 0:
        raise MemoryError("The native kernel could not allocate memory for a trajectory; use fewer steps.")
