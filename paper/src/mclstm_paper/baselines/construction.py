"""What all baselines share: the options of an ensemble, its parameters, inputs, and a learned start."""

from typing import TypedDict

import torch
from torch import Tensor, nn

from mclstm.nn.ensemble_dim import Fill, Seeds, leading, stacked

__all__ = ["MemberOptions", "empty", "initial_state", "outward", "sequences", "states", "uniform"]


class MemberOptions(TypedDict, total=False):
    """The keyword arguments that every baseline takes."""

    members: int | None  # E parameter sets in one module; None: one set without a leading dimension
    seeds: Seeds | None  # one per member; None: torch's global generator
    device: torch.device | str | None
    dtype: torch.dtype | None


def empty(options: MemberOptions, *shape: int) -> nn.Parameter:
    """A parameter that still has to be filled: (*shape), or (E, *shape) with members.

    >>> empty({"members": 3}, 2, 5).shape
    torch.Size([3, 2, 5])
    """
    lead = leading(options.get("members"))
    values = torch.empty(*lead, *shape, device=options.get("device"), dtype=options.get("dtype"))
    return nn.Parameter(values)


def initial_state(
    h0: Tensor,  # (K,) or (E, K), the learned start
    state: Tensor | None,  # (B, K) or (E, B, K), the caller's
    members: int | None,
    batch: int,
) -> Tensor:
    """The state before the first step: the caller's, or the learned one of every member; (E, B, K)."""
    if state is not None:
        return states(state, members, batch, h0.shape[-1])
    return stacked(h0, members).unsqueeze(1).expand(-1, batch, -1)


def sequences(x: Tensor, members: int | None, size: int) -> Tensor:
    """(T, B, I), shared or plain, or (E, T, B, I) -> (E, T, B, I)."""
    each = members is not None and x.dim() == 4
    if x.dim() != (4 if each else 3) or x.shape[-1] != size or (each and x.shape[0] != members):
        more = "" if members is None else f" or ({members}, T, B, {size})"
        raise ValueError(f"x has shape {tuple(x.shape)}, expected (T, B, {size}){more}.")
    if x.shape[-3] == 0:
        raise ValueError("x has no steps; give sequences of at least one.")
    return x if each else x.expand(members or 1, *x.shape)


def states(value: Tensor, members: int | None, batch: int, size: int) -> Tensor:
    """A state given by a caller, (B, K), or (E, B, K) with members -> (E, B, K)."""
    expected = (*leading(members), batch, size)
    if value.shape != expected:
        raise ValueError(f"The state has shape {tuple(value.shape)}, expected {expected}.")
    return stacked(value, members)


def outward(value: Tensor, members: int | None) -> Tensor:
    """The result of a module: (E, ...) with members, else without its leading 1."""
    return value.squeeze(0) if members is None else value


def uniform(low: float, high: float) -> Fill:
    """For `draw`: uniform numbers between two bounds."""
    return lambda parameter, source: parameter.uniform_(low, high, generator=source)
