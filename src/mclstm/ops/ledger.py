"""The mass balance in float64: what came in, what went out, what is stored, and what is missing."""

from typing import NamedTuple

import torch
from torch import Tensor

from mclstm.errors import ConservationError

__all__ = ["Ledger", "audit", "ledger", "promised"]


class Ledger(NamedTuple):
    """Cumulative amounts of every sample after every step; float64, on the CPU, led by E in an ensemble.

    initial + inflow = outflow + storage + residual
    """

    initial: Tensor  # (B,)
    inflow: Tensor  # (T, B)
    outflow: Tensor  # (T, B)
    storage: Tensor  # (T, B)
    residual: Tensor  # (T, B)
    turnover: Tensor  # (T, B), initial + inflow, negative amounts counted as positive

    @property
    def error(self) -> Tensor:
        """|residual| / turnover, and 0 where there never was any mass: (T, B)."""
        return self.residual.abs() / torch.where(self.turnover > 0, self.turnover, 1.0)


def ledger(x: Tensor, h: Tensor, c: Tensor) -> Ledger:
    """The mass balance of a batch of sequences.

    x: (..., T, B, M) inflow · h: (..., T, B, K) outflow · c: (..., T + 1, B, K) storage, c[0] the initial one

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
    # On the CPU, because not every device has float64.
    return mass.detach().to(device="cpu", dtype=torch.float64).sum(dim=-1)


def promised(book: Ledger, cells: int, dtype: torch.dtype) -> Tensor:
    """How much may be missing: rounding, and what is too small for the dtype; (T, B), led by E with members.

        4 eps (t + K) turnover + tiny (t + K)        tiny: the smallest normal number of the dtype

    >>> book = ledger(torch.ones(1, 1, 1), torch.zeros(1, 1, 1), torch.tensor([0.0, 1.0]).view(2, 1, 1))
    >>> promised(book, cells=1, dtype=torch.float64).item() == 8 * torch.finfo(torch.float64).eps
    True
    """
    limits = torch.finfo(dtype)
    steps = torch.arange(1, book.residual.shape[-2] + 1, dtype=torch.float64).unsqueeze(-1)
    return (steps + cells) * (4.0 * limits.eps * book.turnover + limits.tiny)


def audit(book: Ledger, cells: int, dtype: torch.dtype) -> None:
    """Refuse a ledger in which more is missing than `promised`.

    >>> nothing, out = torch.zeros(1, 1, 1), torch.ones(1, 1, 1)
    >>> audit(ledger(nothing, out, torch.zeros(2, 1, 1)), cells=1, dtype=torch.float32)
    Traceback (most recent call last):
    mclstm.errors.ConservationError: Mass is not conserved: sample 0, step 0: ...
    """
    bound = promised(book, cells, dtype)
    broken = (~(book.residual.abs() <= bound)).nonzero()
    if len(broken) == 0:
        return
    at = tuple(broken[0].tolist())
    *member, step, sample = at
    whose = "".join(f"member {e}, " for e in member)
    raise ConservationError(
        f"Mass is not conserved: {whose}sample {sample}, step {step}: {book.residual[at]:.6g} of "
        f"{book.turnover[at]:.6g} is missing, rounding explains {bound[at]:.2g}; "
        "check `layer.conserving` and any module used for redistribution."
    )
