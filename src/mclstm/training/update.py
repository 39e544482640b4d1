"""One update: forward, loss, backward, clip, step; and whether all of it stayed finite."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from mclstm.data.windows import Batch
from mclstm.errors import NotFiniteError
from mclstm.models.output import Output, State
from mclstm.ops.ledger import ledger
from mclstm.training.loss import weighted_error

__all__ = ["Update", "mass_error", "one_update"]


class Update(NamedTuple):
    """What came of an update."""

    loss: float
    gradient: float  # norm before clipping
    mass_error: float | None  # the largest share of a sample's mass that is missing
    y: Tensor  # (T, B, outlets)
    refusal: str = ""  # what a layer said of the numbers that the parts before it made

    @property
    def finite(self) -> bool:
        """Whether loss and gradient are numbers; if not, the weights were left alone."""
        return math.isfinite(self.loss) and math.isfinite(self.gradient)

    def first_bad(self, batch: Batch, place: Callable[[int, int], str]) -> str:
        """In words, where the first number lies that is none."""
        if self.refusal:
            return f"what reaches the layer, where {self.refusal}"
        bad = (~torch.isfinite(self.y)).nonzero()
        if len(bad):
            step, window = int(bad[0, 0]), int(bad[0, 1])
            where = place(int(batch.site[window]), int(batch.start[window]) + step)
            return f"{where}, step {step} of its window"
        return "the gradient" if math.isfinite(self.loss) else "the loss"

    def record(self) -> dict[str, Any]:
        """The numbers, for the journal."""
        return {"loss": self.loss, "gradient": self.gradient, "mass_error": self.mass_error}


def one_update(
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    batch: Batch,
    weight: Tensor,  # (B, targets)
    rate: float,
    clip: float | None,
    without_gradient: int = 0,
) -> Update:
    """Take one step downhill, unless loss or gradient is not finite.

    The first `without_gradient` steps only fill the stores: the gradient stops at what they left there.
    """
    for group in optimiser.param_groups:
        group["lr"] = rate
    model.train()
    y = batch.y[:0]
    try:
        state, y = _warmed(model, batch, without_gradient)
        output: Output = model(batch.x[len(y) :], batch.a[len(y) :], batch.static, state)
    except NotFiniteError as refusal:
        # Stores that are not finite after a warm-up: the steps before say better where it began.
        said = "" if bool(torch.isnan(y).any()) else str(refusal).split(";")[0]
        return Update(math.nan, math.nan, None, y, said)
    scored = output.y[-len(batch.y) :, :, : batch.y.shape[-1]]
    error = weighted_error(scored, batch.y, weight) + output.penalty
    optimiser.zero_grad(set_to_none=True)
    error.backward()  # type: ignore[no-untyped-call]
    norm = nn.utils.clip_grad_norm_(model.parameters(), math.inf if clip is None else clip)
    y = torch.cat([y, output.y.detach()]) if len(y) else output.y.detach()
    made = Update(float(error.detach()), float(norm), mass_error(output), y)
    if made.finite:
        optimiser.step()
    return made


@torch.no_grad()
def _warmed(model: nn.Module, batch: Batch, steps: int) -> tuple[State | None, Tensor]:
    """What the first steps leave in the stores, and what flowed out, (steps, B, outlets)."""
    if not steps:
        return None, batch.y[:0]
    output: Output = model(batch.x[:steps], batch.a[:steps], batch.static)
    return output.state, output.y


def mass_error(output: Output) -> float | None:
    """The largest share of a sample's mass that is missing at the end, None for a model without stores."""
    if output.x is None or output.h is None or output.c is None:
        return None
    # Summed over time first: the books of the whole batch would be larger than the batch.
    inflow, outflow = (v.detach().sum(0, keepdim=True, dtype=torch.float64) for v in (output.x, output.h))
    return float(ledger(inflow, outflow, output.c.detach()[[0, -1]]).error.max())
