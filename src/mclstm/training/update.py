"""One update: forward, loss, backward, clip, step; and whether all numbers stayed finite."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from mclstm.data.windows import Batch
from mclstm.errors import NotFiniteError
from mclstm.models.members import Members
from mclstm.models.output import Output, State, device_of
from mclstm.ops.ledger import ledger
from mclstm.training.gradient_norm import clip_, fault, total_norm
from mclstm.training.loss import Importance, squared_errors
from mclstm.training.ranks import Ranks

__all__ = ["Update", "mass_error", "one_update", "outflow_of"]

SQUARABLE = 1e19  # no gradient of a smaller norm has a square that is infinite in float32


class Update(NamedTuple):
    """The outcome of an update; of `Members` the mean loss and the largest of the other numbers."""

    loss: float
    gradient: float  # norm before clipping
    mass_error: float | None  # the largest share of a sample's mass that is missing
    y: Tensor  # (T, B, outlets), led by E with members
    refusal: str = ""  # the message of a layer that refused its inputs
    fault: str = ""  # which gradient is not finite, or its square

    @property
    def finite(self) -> bool:
        """Whether loss, gradient and its square are finite; if not, the weights did not change."""
        return math.isfinite(self.loss) and math.isfinite(self.gradient) and not self.fault

    def first_bad(self, batch: Batch, place: Callable[[int, int], str]) -> str:
        """In words, where the first number lies that is not finite."""
        if self.refusal:
            return f"what reaches the layer, where {self.refusal}"
        bad = (~torch.isfinite(self.y)).nonzero()
        if len(bad):
            *member, step, window, _ = bad[0].tolist()
            site, start = batch.site[*member, window], batch.start[*member, window]
            where = place(int(site), int(start) + step)
            return f"{where}, step {step} of its window" + (f", member {member[0]}" if member else "")
        if not math.isfinite(self.loss):
            return f"the loss, which is {'NaN' if math.isnan(self.loss) else 'infinite'}"
        return self.fault or "the gradient, whose norm is infinite"


def one_update(
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    batch: Batch,
    importance: Importance,  # of the samples
    rate: float,
    clip: float | None,
    without_gradient: int = 0,
    ranks: Ranks | None = None,
) -> Update:
    """Take one step downhill, unless loss, gradient or its square is not finite.

    The first `without_gradient` steps only fill the stores: the gradient stops at the state after them. With
    `Members`, batch and importance lead with E; each gradient is that of its member's loss, clipped alone.
    With several ranks the batch is this rank's part, and the step that of the whole batch.
    """
    device = device_of(model)
    ranks = ranks or Ranks(device)
    batch, importance = batch.to(device), importance.to(device)
    for group in optimiser.param_groups:
        group["lr"] = rate
    model.train()
    output, y, refusal = outflow_of(model, batch, without_gradient, ranks)
    if output is None:
        ranks.refuse(torch.isfinite(batch.y).sum((-3, -2, -1)))
        return Update(math.nan, math.nan, None, y, refusal)
    scored = output.y[..., -batch.y.shape[-3] :, :, : batch.y.shape[-1]]
    errors, known = squared_errors(scored, batch.y, importance)
    whole = ranks.whole(errors.detach(), known, output.penalty.detach(), mass_error(output))
    if whole.refused:
        return Update(math.nan, math.nan, None, y)
    error = (errors / whole.known.clamp(min=1)).sum() + ranks.share * output.penalty
    optimiser.zero_grad(set_to_none=True)
    (ranks.size * error).backward()  # type: ignore[no-untyped-call]
    norm, wrong = _clipped(model, clip)
    loss = float(error.detach()) if whole.loss is None else whole.loss
    loss = loss / (model.size if isinstance(model, Members) else 1)
    update = Update(loss, norm, whole.mass_error, y, fault=wrong)
    if update.finite:
        optimiser.step()
    return update


def outflow_of(
    model: nn.Module, batch: Batch, without_gradient: int = 0, ranks: Ranks | None = None
) -> tuple[Output | None, Tensor, str]:
    """The output after the warm-up, all that flowed out, (T, B, outlets), and why there is none, in words."""
    device = device_of(model)
    batch = batch.to(device)
    y = batch.y[..., :0, :, :]
    try:
        state, y = _warmed(model, batch, without_gradient)
        x, a = (value[..., without_gradient:, :, :] for value in (batch.x, batch.a))
        output: Output = (ranks or Ranks(device)).forward(model)(x, a, batch.static, state)
    except NotFiniteError as refusal:
        # If the warm-up is not finite already, its steps say better where that began.
        return None, y, "" if bool(torch.isnan(y).any()) else str(refusal).split(";")[0]
    flowed = output.y.detach()
    return output, torch.cat([y, flowed], dim=-3) if without_gradient else flowed, ""


def _clipped(model: nn.Module, clip: float | None) -> tuple[float, str]:
    """The norm of the gradient before clipping, and what is wrong with it after, in words."""
    gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    norm = total_norm(gradients.values(), lead=int(isinstance(model, Members)))
    if clip is not None and bool(torch.isfinite(norm).all()):
        clip_(gradients.values(), norm, clip)
    return float(norm.max()), "" if bool((norm < SQUARABLE).all()) else fault(gradients)


@torch.no_grad()
def _warmed(model: nn.Module, batch: Batch, steps: int) -> tuple[State | None, Tensor]:
    """The state after the first steps, and what flowed out, (steps, B, outlets)."""
    if not steps:
        return None, batch.y[..., :0, :, :]
    output: Output = model(batch.x[..., :steps, :, :], batch.a[..., :steps, :, :], batch.static)
    return output.state, output.y


def mass_error(output: Output) -> float | None:
    """The largest share of a sample's mass that is missing at the end, None for a model without stores."""
    if output.x is None or output.h is None or output.c is None:
        return None
    # Summed over time first: a ledger of every step would need more memory than the batch.
    inflow, outflow = (v.detach().sum(-3, keepdim=True, dtype=torch.float64) for v in (output.x, output.h))
    ends = output.c.detach()[..., [0, -1], :, :]
    return float(ledger(inflow, outflow, ends).error.max())
