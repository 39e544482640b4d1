"""Multiply-adds of one step: counted while it runs, and by the paper's formulas."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from mclstm.nn.layer import MCLSTM

__all__ = ["MultiplyAdds", "lstm_step", "mclstm_step", "paper_dynamic", "paper_static"]

aten = torch.ops.aten


class MultiplyAdds(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the products of tensors with tensors; exponentials, divisions and scalars are not products.

    >>> with MultiplyAdds() as count:
    ...     _ = torch.ones(2, 3) @ torch.ones(3, 5)
    ...     _ = torch.ones(7) * torch.ones(7)
    >>> count.products, count.elementwise
    (30, 7)
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.products = 0
        self.elementwise = 0

    @property
    def total(self) -> int:
        return self.products + self.elementwise

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func in (aten.mm.default, aten.bmm.default):
            self.products += result.numel() * args[0].shape[-1]
        elif func is aten.addmm.default:
            self.products += result.numel() * args[1].shape[-1]
        elif func is aten.mul.Tensor and all(_is_number(factor) for factor in args):
            self.elementwise += result.numel()
        return result


def _is_number(factor: object) -> bool:
    # `torch.isfinite` multiplies truth values: that is a check, not arithmetic.
    return isinstance(factor, Tensor) and factor.is_floating_point()


def mclstm_step(cells: int, mass: int, aux: int, form: str) -> MultiplyAdds:
    """The cost of one step of one sample in the reference; form: dynamic | static | outer | identity."""
    layer = MCLSTM(mass, aux, cells, redistribution=form, backend="reference")  # type: ignore[arg-type]
    x, a, c0 = torch.rand(1, 2, mass), torch.randn(1, 2, aux), torch.rand(2, cells)
    count = MultiplyAdds()
    with torch.no_grad(), count:
        layer(x, a, c0)
    # Of two samples, because the reference computes a sample alone twice.
    count.products, count.elementwise = count.products // 2, count.elementwise // 2
    return count


def lstm_step(cells: int, mass: int, aux: int) -> MultiplyAdds:
    """The cost of one step of one sample in an LSTM that sees mass and auxiliary inputs alike."""
    cell = nn.LSTMCell(mass + aux, cells)
    count = MultiplyAdds()
    with torch.no_grad(), count:
        cell(torch.rand(1, mass + aux))
    return count


def paper_dynamic(cells: int, mass: int, aux: int) -> int:
    """The paper's order for a time-dependent R: K³ + K²(M + L) + KML, with coefficients of one."""
    return cells**3 + cells**2 * (mass + aux) + cells * mass * aux


def paper_static(cells: int, mass: int, aux: int) -> int:
    """The paper's order for a time-independent R: K²M + KML, with coefficients of one."""
    return math.prod((cells, cells, mass)) + math.prod((cells, mass, aux))
