"""Losses over what was observed, each site with a weight of its own."""

import torch
from torch import Tensor

__all__ = ["site_weights", "weighted_error"]
FLOOR = 0.1  # keeps a river that hardly varies from drowning all others, as in the field's definition


def site_weights(y: Tensor, loss: str) -> Tensor:
    """One weight per site and target: 1 for "mse", 1 / (σ_site + 0.1)² for "nse", σ of the training period.

    y: (sites, time, targets) with NaN where not observed -> (sites, targets)

    >>> round(site_weights(torch.tensor([[[0.0], [2.0], [float("nan")]]]), "nse").item(), 4)
    0.8264
    """
    known = torch.isfinite(y)
    if loss == "mse":
        return torch.ones_like(y[:, 0])
    count = known.sum(1).clamp(min=1)
    values = torch.where(known, y, 0.0).double()
    mean = values.sum(1) / count
    spread = torch.where(known, values - mean.unsqueeze(1), 0.0).square().sum(1) / count
    return ((spread.sqrt() + FLOOR) ** -2).to(y.dtype)


def weighted_error(y: Tensor, observed: Tensor, weight: Tensor) -> Tensor:
    """Mean of w (y - observed)² over what was observed; zero if nothing was.

    y, observed: (T, B, targets), NaN in `observed` where there is none · weight: (B, targets) -> scalar

    >>> observed = torch.tensor([[[2.0]], [[float("nan")]]])
    >>> weighted_error(torch.zeros(2, 1, 1), observed, torch.ones(1, 1)).item()
    4.0
    """
    known = torch.isfinite(observed)
    gap = torch.where(known, y - torch.where(known, observed, 0.0), 0.0)
    return (weight * gap.square()).sum() / known.sum().clamp(min=1)
