"""Bookkeeping in float64: what came in, what went out, what is stored, and what is missing."""

from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["Ledger", "ledger"]


class Ledger(NamedTuple):
    """Cumulative amounts of every sample after every step; float64, on the CPU.

    initial + inflow = outflow + storage + residual

    Those of an ensemble lead with E.
    """

    initial: Tensor  # (B,)
    inflow: Tensor  # (T, B)
    outflow: Tensor  # (T, B)
    storage: Tensor  # (T, B)
    residual: Tensor  # (T, B)
    turnover: Tensor  # (T, B), all that was ever in the system, negative amounts counted as positive

    @property
    def error(self) -> Tensor:
        """|residual| / turnover, and 0 where there never was any mass: (T, B)."""
        return self.residual.abs() / torch.where(self.turnover > 0, self.turnover, 1.0)


def ledger(x: Tensor, h: Tensor, c: Tensor) -> Ledger:
    """The mass balance of a batch of sequences.

    x: (..., T, B, M) inflow · h: (..., T, B, K) outflow · c: (..., T + 1, B, K) storage, its first the
    initial one

    >>> book = ledger(torch.ones(2, 1, 1), torch.zeros(2, 1, 1), torch.tensor([0.0, 1.0, 2.0]).view(3, 1, 1))
    >>> book.residual.flatten().tolist()
    [0.0, 0.0]
    """
    inflow = _total(x).cumsum(dim=-2)
    outflow = _total(h).cumsum(dim=-2)
    stored = _total(c)
    before, storage = stored[..., :1, :], stored[..., 1:, :]
    turnover = _total(c[..., :1, :, :].abs()) + _total(x.abs()).cumsum(dim=-2)
    residual = before + inflow - outflow - storage
    return Ledger(before.squeeze(-2), inflow, outflow, storage, residual, turnover)


def _total(mass: Tensor) -> Tensor:
    # Not every device has float64, so the books are kept on the CPU.
    return mass.detach().to(device="cpu", dtype=torch.float64).sum(dim=-1)
