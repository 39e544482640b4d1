"""Terms added to a loss: what the paper asks of cells, scales and outlets beside the fit."""

import torch
from torch import Tensor

__all__ = ["cell_penalty", "closure_penalty", "guide_penalty", "scaling_penalty"]


def cell_penalty(c: Tensor) -> Tensor:
    """Mean of c², against a trash cell that grows until it leaks into the output.

    c: (..., K) -> scalar

    >>> cell_penalty(torch.tensor([[1.0, 3.0]])).item()
    5.0
    """
    return c.square().mean()


def closure_penalty(h: Tensor, y: Tensor) -> Tensor:
    """Mean of (sum_k h_k - sum_n y_n)²: outlets of a free head must add up to the outflow.

    This is the regulariser of the paper's evapotranspiration outlet. It asks for a sum, not for vapour: an
    outlet without a target becomes all that the others leave, in whatever season, and may be negative.

    h: (..., K) outflow · y: (..., N) outlets -> scalar

    >>> closure_penalty(torch.tensor([[1.0, 3.0]]), torch.tensor([[3.0, 0.0]])).item()
    1.0
    """
    return (h.sum(dim=-1) - y.sum(dim=-1)).square().mean()


def scaling_penalty(factors: Tensor) -> Tensor:
    """Mean of (s - 1)²: input scaling should stay close to one.

    factors: (..., M) -> scalar

    >>> scaling_penalty(torch.tensor([1.5, 1.0])).item()
    0.125
    """
    return (factors - 1.0).square().mean()


def guide_penalty(c: Tensor, observed: Tensor) -> Tensor:
    """Mean of (c - observed)² where there is an observation: ties a chosen cell to a measured store.

    Missing observations are NaN; with none at all the penalty is zero.

    c: (...) one cell's storage · observed: (...) of the same shape -> scalar

    >>> guide_penalty(torch.tensor([1.0, 2.0]), torch.tensor([float("nan"), 4.0])).item()
    4.0
    """
    if c.shape != observed.shape:
        raise ValueError(
            f"c has shape {tuple(c.shape)} and observed {tuple(observed.shape)}; choose one cell, c[..., k]."
        )
    known = ~torch.isnan(observed)
    gap = torch.where(known, c - torch.where(known, observed, 0.0), 0.0)
    return gap.square().sum() / known.sum().clamp(min=1)
