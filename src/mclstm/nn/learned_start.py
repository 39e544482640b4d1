"""A learned initial state: amounts that are never negative and can leave zero again."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

__all__ = ["current_name", "projected", "without_logarithm"]

START, LOG_START = "c0", "log_c0"  # of the parameter, and of its logarithm in version 0.1.0
POWERS = {"exp_avg": 1, "exp_avg_sq": 2}  # of the gradient, in Adam's moments


class Projected(torch.autograd.Function):
    """max(c0, 0) with the gradient of a projected descent; see `projected`."""

    generate_vmap_rule = True

    @staticmethod
    def forward(c0: Tensor) -> Tensor:
        return c0.clamp(min=0.0)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (c0,), (grad,) = ctx.saved_tensors, grads
        return torch.where((c0 > 0) | (grad < 0), grad, 0.0)


def projected(c0: Tensor) -> Tensor:
    """max(c0, 0), whose gradient passes at or below zero if a descent raises c0, and is cut if it lowers c0.

    c0, result: any shape

    >>> c0 = torch.zeros(2, requires_grad=True)
    >>> (projected(c0) * torch.tensor([-1.0, 1.0])).sum().backward()
    >>> c0.grad.tolist()
    [-1.0, 0.0]
    """
    start: Tensor = Projected.apply(c0)  # type: ignore[no-untyped-call]
    return start


def current_name(name: str) -> str:
    """The name of a tensor in this version.

    >>> current_name("optimiser.layer.gates.log_c0.exp_avg")
    'optimiser.layer.gates.c0.exp_avg'
    """
    return ".".join(START if part == LOG_START else part for part in name.split("."))


def without_logarithm(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of a checkpoint with c0 = exp(log_c0), where version 0.1.0 learned the logarithm.

    Adam's moments become those of dL/dc0 = (dL/dlog_c0) / c0.

    >>> without_logarithm({"weights.gates.log_c0": torch.zeros(2)})
    {'weights.gates.c0': tensor([1., 1.])}
    """
    result = {}
    for name, value in tensors.items():
        parameter, _, last = name.rpartition(".")
        owner = "weights." + parameter.removeprefix("optimiser.")
        if last == LOG_START:
            value = torch.exp(value)
        elif last in POWERS and parameter.endswith(LOG_START) and owner in tensors:
            value = value / torch.exp(tensors[owner]) ** POWERS[last]
        result[current_name(name)] = value
    return result
