"""The mass balance of a model in operation, step after step, in float64."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

__all__ = ["RunningLedger"]

Amounts = NDArray[np.float64]


@dataclass
class RunningLedger:
    """initial + inflow + corrected = outflow + storage + residual, since the stores were begun or loaded.

    All amounts are (E, N, B): members, realisations, sites. `corrected` is what corrections by observations
    added, less what they removed. `turnover` counts every amount that came in or was corrected as positive.

    >>> books = RunningLedger.begun(np.array([[[2.0]]]))
    >>> books.step(inflow=np.array([[[1.0]]]), outflow=np.array([[[0.5]]]), storage=np.array([[[2.5]]]))
    >>> books.correct(storage=np.array([[[4.0]]]))
    >>> books.corrected.item(), books.residual.item(), books.steps
    (1.5, 0.0, 1)
    """

    initial: Amounts
    inflow: Amounts
    outflow: Amounts
    corrected: Amounts
    storage: Amounts
    turnover: Amounts
    steps: int = 0

    @classmethod
    def begun(cls, storage: Amounts) -> "RunningLedger":
        """The ledger before the first step, with what is stored then, (E, N, B)."""
        inflow, outflow, corrected = np.zeros((3, *storage.shape))
        return cls(storage, inflow, outflow, corrected, storage, np.abs(storage))

    def step(self, inflow: Amounts, outflow: Amounts, storage: Amounts) -> None:
        """Book one step: what came in, what left, and what is stored after it, (E, N, B) each."""
        self.inflow = self.inflow + inflow
        self.outflow = self.outflow + outflow
        self.turnover = self.turnover + np.abs(inflow)
        self.storage = storage
        self.steps += 1

    def correct(self, storage: Amounts) -> None:
        """Book a correction: what is stored after it, (E, N, B)."""
        change = storage - self.storage
        self.corrected = self.corrected + change
        self.turnover = self.turnover + np.abs(change)
        self.storage = storage

    def copy(self) -> "RunningLedger":
        """The same amounts, booked on from here by themselves; no array is ever changed in place."""
        return replace(self)

    @property
    def residual(self) -> Amounts:
        """What is missing, (E, N, B): rounding, where the model conserves mass."""
        return self.initial + self.inflow + self.corrected - self.outflow - self.storage

    def promised(self, cells: int, dtype: torch.dtype) -> Amounts:
        """How much may be missing in a model that conserves mass, (E, N, B).

        4 eps (t + K) turnover + tiny (t + K), as `mclstm.ops.ledger.promised` of a sequence.
        """
        limits = torch.finfo(dtype)
        return (self.steps + cells) * (4.0 * limits.eps * self.turnover + limits.tiny)
