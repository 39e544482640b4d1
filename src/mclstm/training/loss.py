"""The squared error that training lowers: what an error counts at each site, and at a peak that is missed."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mclstm.data.disk_tensor import DiskTensor

__all__ = ["Importance", "importance_of", "site_weights", "squared_errors", "weighted_error"]

TOGETHER = 64  # sites that are read at once, to bound the memory
FLOOR = 0.1  # keeps a river that hardly varies from outweighing all others, as in the field's definition


class Importance(NamedTuple):
    """What an error of each site and target counts."""

    weight: Tensor  # (sites, targets)
    high: Tensor | None = None  # (sites, targets) observations above it are peaks; None: there are none
    extra: float = 0.0  # how much more the error of a peak counts that is simulated too low

    def of(self, site: Tensor, peaks: bool = True) -> "Importance":
        """The same of the samples of a batch: site (B,), led by E with members."""
        high = self.high[site] if peaks and self.high is not None else None
        return Importance(self.weight[site], high, self.extra)

    def to(self, device: torch.device) -> "Importance":
        """The same on a device."""
        return Importance(
            self.weight.to(device), None if self.high is None else self.high.to(device), self.extra
        )


def importance_of(
    y: Tensor | DiskTensor,  # (sites, time, targets)
    loss: str,
    quantile: float | None = None,
    extra: float = 0.0,
    shares: Sequence[float] | None = None,
    steps: slice = slice(None),  # immutable
) -> Importance:
    """The weights of the loss "mse" or "nse", and the flow that peaks exceed, a quantile of a site.

    shares: what each target counts; None: all alike · steps: of training, which nothing else may inform
    """
    parts = [slice(at, at + TOGETHER) for at in range(0, len(y), TOGETHER)]
    weights = torch.cat([site_weights(y[part, steps], loss) for part in parts])
    weights = weights if shares is None else weights * weights.new_tensor(list(shares))
    if quantile is None:
        return Importance(weights, None, extra)
    peaks = [torch.nanquantile(y[part, steps].double(), quantile, dim=1) for part in parts]
    return Importance(weights, torch.cat(peaks).to(weights.dtype), extra)


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


def weighted_error(y: Tensor, observed: Tensor, importance: Importance) -> Tensor:
    """Mean of w (y - o)² over what was observed, w larger where a peak is simulated too low; 0 without any.

    y, observed: (T, B, targets), NaN in `observed` where there is none · importance: of the samples -> scalar
    With members all lead with E, and the result is the sum of their errors: the gradient of each is its own.

    >>> observed = torch.tensor([[[2.0]], [[float("nan")]], [[4.0]]])
    >>> weighted_error(torch.zeros(3, 1, 1), observed, Importance(torch.ones(1, 1))).item()
    10.0
    >>> peaks = Importance(torch.ones(1, 1), high=torch.full((1, 1), 3.0), extra=0.5)
    >>> weighted_error(torch.zeros(3, 1, 1), observed, peaks).item()
    14.0
    """
    errors, known = squared_errors(y, observed, importance)
    return (errors / known.clamp(min=1)).sum()


def squared_errors(y: Tensor, observed: Tensor, importance: Importance) -> tuple[Tensor, Tensor]:
    """The sum of w (y - o)² over what was observed, and the number of observations; (), with members (E,).

    Arguments as of `weighted_error`. Sums and numbers of parts of a batch add up to those of the batch.
    """
    weight, high, extra = importance
    weight, each = weight.unsqueeze(-3), (-3, -2, -1)
    known = torch.isfinite(observed)
    gap = torch.where(known, y - torch.where(known, observed, 0.0), 0.0)
    if high is not None:
        missed = (observed > high.unsqueeze(-3)) & (gap < 0)  # NaN is above nothing
        weight = weight * torch.where(missed, 1.0 + extra, 1.0)
    return (weight * gap.square()).sum(each), known.sum(each)
