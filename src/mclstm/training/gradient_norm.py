"""The norm of a gradient, clipping by it, and what makes a gradient useless.

A norm adds squares: in float32 it overflows at 1.8e19, while every gradient is finite. Here it is float64.
"""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

__all__ = ["clip_", "fault", "total_norm"]

EPSILON = 1e-6  # of `torch.nn.utils.clip_grad_norm_`


@torch.no_grad()
def total_norm(gradients: Iterable[Tensor], lead: int = 0) -> Tensor:
    """The norm of all gradients together, sqrt(sum g²), in float64; with lead = 1 one norm per member, (E,).

    gradients: at least one, of any shapes; with lead = 1 they are (E, ...)

    >>> total_norm([torch.tensor([3e25]), torch.tensor([[4e25]])])
    tensor(5.0000e+25, dtype=torch.float64)
    """
    norm: Tensor = torch.linalg.vector_norm(torch.stack([_norm(value, lead) for value in gradients]), dim=0)
    return norm


def _norm(value: Tensor, lead: int) -> Tensor:  # (...) or (E, ...) -> () or (E,)
    rows, wide = value.unsqueeze(-1).flatten(lead), torch.promote_types(value.dtype, torch.float64)
    norm: Tensor = torch.linalg.vector_norm(rows, dim=-1, dtype=wide)
    return norm


@torch.no_grad()
def clip_(gradients: Iterable[Tensor], norm: Tensor, largest: float) -> None:
    """Scale gradients in place to a norm of at most `largest`: g <- g min(1, largest / (norm + 1e-6)).

    gradients: of any shapes · norm: theirs, () or, one per member of gradients (E, ...), (E,)

    >>> W = torch.tensor([3e25, 4e25])
    >>> clip_([W], total_norm([W]), 1.0)
    >>> W
    tensor([0.6000, 0.8000])
    """
    # The root twice: float32 does not hold the scale of the largest norms.
    root = (largest / (norm + EPSILON)).clamp(max=1.0).sqrt()
    for value in gradients:
        factor = root.to(value.dtype).view(norm.shape + (1,) * (value.dim() - norm.dim()))
        value.mul_(factor).mul_(factor)


def fault(gradients: Mapping[str, Tensor]) -> str:
    """In words, the first gradient that is not finite, or that Adam cannot square; empty if there is none.

    gradients: of any shapes, by the names of their parameters

    >>> fault({"W": torch.ones(2), "b": torch.tensor([1.0, torch.inf])})
    'the gradient of b, which is infinite'
    """
    for name, value in gradients.items():
        if not bool(torch.isfinite(value).all()):
            return f"the gradient of {name}, which is {'NaN' if bool(value.isnan().any()) else 'infinite'}"
    # An infinite second moment would hold its weight still for the rest of the run, without a word.
    for name, value in gradients.items():
        if not bool(torch.isfinite(value.square()).all()):
            kind = str(value.dtype).removeprefix("torch.")
            return f"the gradient of {name}, whose square is infinite in {kind}"
    return ""
