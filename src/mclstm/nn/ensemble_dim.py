"""The ensemble dimension: E parameter sets in one module, each initialised from its own seed.

Inside, every tensor leads with E (1 for a plain module), so that each module is written once.
"""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor, nn

Seeds = Sequence[int | torch.Generator]
Source = torch.Generator | None
Fill = Callable[[Tensor, Source], object]


def leading(members: int | None) -> tuple[int, ...]:
    """The leading dimensions of a parameter: none, or (E,)."""
    if members is not None and (not isinstance(members, int) or isinstance(members, bool) or members < 1):
        raise ValueError(f"members is {members!r}; give a whole number of at least 1, or None.")
    return () if members is None else (members,)


def generators(members: int | None, seeds: Seeds | None) -> list[Source]:
    """One source of random numbers per member; without seeds all members use torch's global one.

    A generator in place of a number continues where it stopped: several modules built from the same
    generators equal the modules built in the same order after `torch.manual_seed`.

    >>> [source.initial_seed() for source in generators(2, [7, 8])]
    [7, 8]
    """
    count = 1 if members is None else members
    if seeds is None:
        return [None] * count
    whole = isinstance(seeds, Iterable) and all(isinstance(one, (int, torch.Generator)) for one in seeds)
    if not whole:
        raise ValueError(f"seeds is {seeds!r}; give a whole number or a torch.Generator for each member.")
    if len(seeds) != count:
        raise ValueError(f"{len(seeds)} seeds are given for {count} members; give one per member.")
    return [
        seed if isinstance(seed, torch.Generator) else torch.Generator().manual_seed(seed) for seed in seeds
    ]


def draw(
    parameter: Tensor,  # (...) or (E, ...)
    members: int | None,
    sources: Sequence[Source],
    fill: Fill,
) -> None:
    """Fill a parameter member by member; on the CPU first, so that every device gets the same numbers."""
    with torch.no_grad():
        for member, source in enumerate(sources):
            one = parameter if members is None else parameter[member]
            values = torch.empty(one.shape, dtype=one.dtype)
            fill(values, source)
            one.copy_(values)


def orthogonal(parameter: Tensor, source: Source) -> None:
    """For `draw`: (..., F) gets (semi-)orthogonal columns, all leading dimensions taken as rows."""
    if parameter.numel() > 0:
        nn.init.orthogonal_(parameter.view(-1, parameter.shape[-1]), generator=source)


def uniform(inputs: int) -> Fill:
    """For `draw`: uniform within 1 / √inputs, as torch initialises linear and recurrent layers."""
    bound = max(1, inputs) ** -0.5
    return lambda parameter, source: parameter.uniform_(-bound, bound, generator=source)


def project(
    x: Tensor,  # (E, ..., I)
    W: Tensor,  # (E, O, I)
    b: Tensor | None = None,  # (E, O)
) -> Tensor:
    """W x + b of every member in one batched product: (E, ..., O)."""
    flat = x.reshape(x.shape[0], -1, x.shape[-1])
    Wt = W.transpose(1, 2)
    y = torch.bmm(flat, Wt) if b is None else torch.baddbmm(b.unsqueeze(1), flat, Wt)
    return y.view(*x.shape[:-1], W.shape[1])


def applied(W: Tensor, x: Tensor) -> Tensor:
    """W x of every member where W has few rows: W (E, O, I), x (E, N, I) -> (E, N, O).

    Computed as W x^T, which is several times as fast as x W^T.
    """
    shared = x.shape[0] > 1 and x.stride(0) == 0  # one product for all members, and nothing is copied
    y = (W.flatten(0, 1) @ x[0].mT).view(*W.shape[:2], -1) if shared else torch.bmm(W, x.mT)
    return y.mT


def stacked(parameter: Tensor, members: int | None) -> Tensor:
    """A parameter with its leading E: (...) -> (1, ...), (E, ...) -> (E, ...)."""
    return parameter.unsqueeze(0) if members is None else parameter


def rows(x: Tensor, members: int | None, size: int) -> tuple[Tensor, tuple[int, ...]]:
    """(..., I), shared (B, I) or (E, ..., I) -> rows (E, N, I), and the shape of the result without its last.

    A feed-forward module cannot tell (T, B, I) from (E, B, I): inputs that members share are (B, I).
    """
    shared = members is not None and x.dim() == 2
    if x.dim() == 0 or x.shape[-1] != size or (members is not None and not shared and x.shape[0] != members):
        more = "" if members is None else f" with shared (B, {size}) or leading {members}"
        raise ValueError(f"x has shape {tuple(x.shape)}, expected (..., {size}){more}.")
    if shared:
        assert members is not None
        return x.expand(members, *x.shape), (members, x.shape[0])
    return x.reshape(members or 1, -1, size), tuple(x.shape[:-1])
