"""Gives back what the rounding of a step lost, so that a million steps close as well as one.

A store that hardly changes is rounded the same way at every step, and these errors add up. The mass before
a step is compared with the mass after it. The difference goes to the cells, and then to the outflows, in
portions of a few eps of each amount: no amount changes by more than its own rounding, and what is empty stays
empty. That is why masks, the identity and single cells need no exception.
"""

import torch
from torch import Tensor

__all__ = ["missing", "settled"]

PORTION = 4.0  # epsilons of an amount that it takes at most, rounded to units in its last place


def settled(before: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """Outflow h and cells c whose sum is that of `before`, as far as the portions allow: the gradient is 1.

    before: (..., N) inflow and cells before the step · h, c: (..., K)

    >>> c = torch.tensor([0.0, 0.2])
    >>> h, c = settled(c + 2e-8, torch.zeros(2), c)
    >>> c.tolist()
    [0.0, 0.20000003278255463]
    """
    amounts = torch.cat([c, h], dim=-1).detach()
    changed = amounts + portions(missing(before.detach(), amounts), amounts)
    change = torch.where(torch.isfinite(amounts), changed - amounts, 0.0)
    change_c, change_h = change.chunk(2, dim=-1)
    return h + change_h, c + change_c


def missing(before: Tensor, after: Tensor) -> Tensor:
    """sum(before) - sum(after), hardly rounded: before (..., N), after (..., L) -> (..., 1).

    High parts of all amounts, multiples of one power of two, have an exact sum; the rest is summed beside it.

    >>> missing(torch.tensor([1.0, 1e-9]), torch.tensor([1.0])).item()
    9.999999717180685e-10
    """
    amounts = torch.cat([before, -after], dim=-1)
    large = 8.0 * amounts.shape[-1] * amounts.abs().amax(dim=-1, keepdim=True)
    high = (amounts + large) - large
    rest = high.sum(dim=-1, keepdim=True) + (amounts - high).sum(dim=-1, keepdim=True)
    return torch.where(torch.isfinite(rest), rest, 0.0)  # near the largest number `large` overflows


def portions(rest: Tensor, amounts: Tensor) -> Tensor:
    """What each amount takes of the rest, in their order: rest (..., 1), amounts (..., L) -> (..., L).

    An amount too large to notice the rest takes nothing, nor does one that is not finite.
    """
    sizes = amounts.abs()
    most = sizes * (1.0 + PORTION * torch.finfo(amounts.dtype).eps) - sizes  # whole units in the last place
    notices = (sizes + rest.abs() > sizes) & torch.isfinite(sizes)
    most = torch.where(notices, most, 0.0)
    taken = most.cumsum(dim=-1) - most
    return rest.sign() * (rest.abs() - taken).clamp(min=0.0).minimum(most)
