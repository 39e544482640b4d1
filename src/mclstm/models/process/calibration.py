"""Parameters of a process model for each basin, by gradient or by an evolution strategy, all basins at once.

Both maximise the NSE of the flow over the days with an observation; days that only fill the stores are NaN.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mclstm.models.process.process_model import Forcing, Parameters, ProcessModel, flow

__all__ = ["CALIBRATIONS", "Calibration", "by_evolution", "by_gradient", "efficiency", "physical"]

# By gradient so many basins run together, and so many days are in memory at once: about a gigabyte.
BASINS, DAYS = 512, 128


class Calibration(NamedTuple):
    """The best parameters of each basin, and their NSE in calibration."""

    parameters: Parameters  # each (N,)
    nse: Tensor  # (N,)


def physical(model: ProcessModel, share: Tensor) -> Parameters:
    """Parameters in their units from shares of their ranges; (P, ..., N) in [0, 1] -> each (..., N)."""
    values = {}
    for part, (name, (low, high, log)) in zip(share, model.bounds.items(), strict=True):
        values[name] = low * (high / low) ** part if log else low + (high - low) * part
    return values


def efficiency(simulated: Tensor, observed: Tensor) -> Tensor:
    """NSE of each column; simulated (T, ..., N), observed (T, N) with NaN where there is none -> (..., N).

    >>> efficiency(torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([[1.0], [2.0], [3.0]])).item()
    0.5
    """
    known = observed.isfinite()
    count = known.sum(0)
    filled = observed.nan_to_num()
    mean = filled.sum(0) / count
    spread = ((filled - mean) ** 2 * known).sum(0)
    between = (len(observed), *[1] * (simulated.dim() - observed.dim()), observed.shape[1])
    error = (simulated - filled.view(between)) * known.view(between)
    return 1 - (error**2).sum(0) / spread


def by_gradient(
    model: ProcessModel,
    forcing: Forcing,
    observed: Tensor,  # (T, N) mm/day, NaN where it does not count
    *,
    starts: int = 4,
    updates: int = 100,
    rate: float = 0.15,
    seed: int = 0,
) -> Calibration:
    """Adam on the logits of the parameters' shares of their ranges, from several random starts per basin.

    The rate falls to a tenth of itself.
    """
    generator = torch.Generator().manual_seed(seed)
    shape = (len(model.bounds), starts, observed.shape[1])
    share = 0.05 + 0.9 * torch.rand(shape, generator=generator, dtype=observed.dtype)
    parts = []
    for first in range(0, observed.shape[1], BASINS):
        basins = slice(first, first + BASINS)
        own = Forcing(*(column if column.shape[1] == 1 else column[:, basins] for column in forcing))
        parts.append(_climb(model, own, observed[:, basins], share[..., basins], updates, rate))
    best, nse = (torch.cat(part, -1) for part in zip(*parts, strict=True))
    return Calibration(physical(model, best), nse)


def _climb(
    model: ProcessModel,
    forcing: Forcing,
    observed: Tensor,  # (T, N)
    share: Tensor,  # (P, C, N)
    updates: int,
    rate: float,
) -> tuple[Tensor, Tensor]:
    """The best shares (P, N) on the way from all starts, and their NSE (N,)."""
    logits = torch.logit(share).requires_grad_()
    optimiser = torch.optim.Adam([logits], lr=rate)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimiser, 0.1 ** (1 / updates))
    record = _Best(share)
    for _ in range(updates):
        optimiser.zero_grad()
        simulated = flow(model, physical(model, logits.sigmoid()), forcing, at_once=DAYS)
        nse = efficiency(simulated, observed)
        (-nse).sum().backward()  # type: ignore[no-untyped-call]
        record.update(logits.detach().sigmoid(), nse.detach())
        optimiser.step()
        schedule.step()
    return record.share, record.nse


@torch.no_grad()
def by_evolution(
    model: ProcessModel,
    forcing: Forcing,
    observed: Tensor,  # (T, N) mm/day, NaN where it does not count
    *,
    generations: int = 300,
    population: int | None = None,
    seed: int = 0,
) -> Calibration:
    """CMA-ES (Hansen 2016, package `cmaes`): a search per basin, candidates of all basins in one batch."""
    from cmaes import CMA

    size = len(model.bounds)
    searches = [
        CMA(mean=np.full(size, 0.5), sigma=0.25, population_size=population, seed=seed + basin)
        for basin in range(observed.shape[1])
    ]
    record = _Best(torch.full((size, 1, len(searches)), 0.5, dtype=observed.dtype))
    for _ in range(generations):
        asked = np.array([[s.ask() for _ in range(s.population_size)] for s in searches])  # (N, C, P)
        share = torch.from_numpy(mirrored(asked).transpose(2, 1, 0).copy()).to(observed.dtype)
        nse = efficiency(flow(model, physical(model, share), forcing), observed)
        for search, points, values in zip(searches, asked, -nse.T.double().numpy(), strict=True):
            search.tell(list(zip(points, values, strict=True)))
        record.update(share, nse)
    return Calibration(physical(model, record.share), record.nse)


class _Best:
    """The best parameters of each basin so far."""

    def __init__(self, share: Tensor) -> None:
        self.share = share[:, 0]  # (P, N)
        self.nse = torch.full_like(self.share[0], -torch.inf)  # (N,)

    def update(self, share: Tensor, nse: Tensor) -> None:
        """Candidates share (P, C, N) with nse (C, N); NaN is worse than anything."""
        top, chosen = nse.nan_to_num(nan=-torch.inf).max(0)
        better = top > self.nse
        self.nse = torch.where(better, top, self.nse)
        one = share.gather(1, chosen.expand(len(share), 1, -1))[:, 0]
        self.share = torch.where(better, one, self.share)


def mirrored(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points reflected at 0 and 1 until they lie between: a search without bounds stays within the ranges.

    >>> mirrored(np.array([-0.25, 0.5, 1.25])).tolist()
    [0.25, 0.5, 0.75]
    """
    folded: NDArray[np.float64] = 1 - np.abs(np.mod(points, 2.0) - 1)
    return folded


CALIBRATIONS: dict[str, Callable[..., Calibration]] = {"gradient": by_gradient, "evolution": by_evolution}
