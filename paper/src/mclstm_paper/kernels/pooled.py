"""A convolution with pooling and ReLU, whose gradients the kernel library computes."""

import ctypes
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import conv2d, max_pool2d, relu

from mclstm.ops.native.operator import traced, transformed
from mclstm_paper.kernels.library import library
from mclstm_paper.kernels.recurrence import KINDS

__all__ = ["pooled_convolution"]

SIZES = ("N", "H", "W", "C", "k", "O", "h", "w", "wide")
ARRAYS = ("x", "kernels", "y", "dy", "largest", "dx", "dkernels", "dbias")


class _Pooled(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int64) for name in SIZES),
        *((name, ctypes.c_void_p) for name in ARRAYS),
    ]


def pooled_convolution(
    x: Tensor,  # (N, C, H, W), fastest with channels last in memory
    W: Tensor,  # (O, C, k, k)
    b: Tensor,  # (O,)
) -> Tensor:
    """y = relu(max over 2x2 of (W * x + b)): (N, O, h, w).

    torch computes y. Three of four outputs of the convolution have a gradient of 0: torch multiplies these
    zeros in its backward, the library leaves them out.

    >>> pooled_convolution(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2), torch.ones(1)).item()
    5.0
    """
    x, W = (value.contiguous(memory_format=torch.channels_last) for value in (x, W))
    if not runs(x, W, b):
        return plain(x, W, b)
    y: Tensor = _PooledConvolution.apply(x, W, b)  # type: ignore[no-untyped-call]
    return y


def runs(*tensors: Tensor) -> bool:
    """Whether the library is loaded and takes x, W and b; under autocast torch computes in another type."""
    alike = {(value.dtype, value.device.type) for value in tensors} in KINDS
    square = tensors[1].shape[2] == tensors[1].shape[3]
    watched = transformed() or torch.is_autocast_enabled("cpu") or any(traced(value) for value in tensors)
    return alike and square and not watched and library() is not None


def plain(x: Tensor, W: Tensor, b: Tensor) -> Tensor:
    """The same in torch's operations: x (N, I, H, V), W (O, I, k, k), b (O,) -> (N, O, h, v).

    The largest of four is rectified once instead of all four.
    """
    return relu(max_pool2d(conv2d(x, W, b), 2))


class _PooledConvolution(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, W: Tensor, b: Tensor) -> Tensor:
        y, largest = max_pool2d(conv2d(x, W, b), 2, return_indices=True)
        y = y.relu_()
        ctx.save_for_backward(x, W, b, y, largest)
        return y

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        x, W, b, y, largest = ctx.saved_tensors
        if torch.is_grad_enabled():  # create_graph: for second derivatives
            learned = [value for value in (x, W, b) if value.requires_grad]
            gradients = iter(torch.autograd.grad(plain(x, W, b), learned, dy, create_graph=True))
            return tuple(next(gradients) if value.requires_grad else None for value in (x, W, b))
        # The layout that the library writes; a hook may have changed that of the saved tensors.
        dx, dW = (torch.empty_like(value, memory_format=torch.channels_last) for value in (x, W))
        db, wanted = torch.empty_like(b), dx if ctx.needs_input_grad[0] else None
        _back(x, W, y, dy, largest, wanted, dW, db)
        return wanted, dW, db


def _back(
    x: Tensor,  # (N, C, H, W)
    W: Tensor,  # (O, C, k, k)
    y: Tensor,  # (N, O, h, w)
    dy: Tensor,  # (N, O, h, w)
    largest: Tensor,  # (N, O, h, w): where in the output of the convolution
    dx: Tensor | None,  # as x, channels last; None: not wanted
    dW: Tensor,  # as W, channels last
    db: Tensor,  # (O,)
) -> None:
    kernel, (images, channels, height, width) = library(), x.shape
    assert kernel is not None
    sizes = (images, height, width, channels, W.shape[2], *y.shape[1:], x.dtype == torch.float64)
    arrays = [value.resolve_neg() for value in (x, W, y, dy, largest)]
    arrays = [value.contiguous(memory_format=torch.channels_last) for value in arrays]
    results = (dx, dW, db)
    call = _Pooled(*sizes, *(None if value is None else value.data_ptr() for value in (*arrays, *results)))
    if kernel.mclstm_pooled_back(ctypes.byref(call)) != 0:
        raise MemoryError("The paper's kernel library found no memory for the gradients of a convolution.")
