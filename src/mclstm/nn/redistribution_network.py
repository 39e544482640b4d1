"""The built-in network of a redistribution; any module (x, a, c) -> logits of R can take its place."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from mclstm.nn.arguments import is_number, one_of, require_dtype, require_number, require_size, require_width
from mclstm.nn.ensemble_dim import Seeds, draw, generators, leading, stacked, uniform
from mclstm.ops.hypernetwork import ACTIVATIONS, SEES, Sight, perceptron, state_features

__all__ = ["Hypernetwork"]

Sees = Literal["cells", "share", "share and change"]


class Hypernetwork(nn.Module):
    """A fully connected network from auxiliary inputs and cells to the logits of R, the paper's g.

        z = [a, scale * seen(c) + shift],    logits = W_L f(... f(W_1 z + b_1) ...) + b_L

    Args:
        aux_size: A, auxiliary inputs; static inputs of the layer count, too.
        hidden_size: K, cells.
        layers: the sizes of the hidden layers.
        activation: f, "relu" or "tanh".
        sees: "cells", the raw amounts; "share", c / |c|_1; "share and change", the share and its change since
            the last step. The last share is a state of the network; `reset_state()` starts a new sequence,
            whose first change is zero.
        cells: which cells it looks at, all by default; of two shares one is enough.
        scale, shift: fixed numbers, for each feature of the cells or one for all.
        next_aux_size: how many auxiliary inputs of the next step it predicts beside R; `next_aux` holds them
            after a call, and `rollout` uses them.
        members, seeds: as for `MCLSTM`; every parameter leads with E, and so do all tensors of a call.

    A call is (x, a, c) -> logits: x (B, M), which it does not look at, a (B, A), c (B, K) -> (B, K, K).

    >>> from mclstm import MCLSTM
    >>> network = Hypernetwork(aux_size=1, hidden_size=2, layers=(8,), members=3)
    >>> pendulum = MCLSTM(0, 1, 2, redistribution=network, outlet="none", members=3)
    >>> h, energy = pendulum(None, torch.zeros(50, 1, 1), torch.tensor([[0.2, 0.8]]))
    >>> energy.shape, torch.allclose(energy.sum(-1), torch.ones(3, 1))
    (torch.Size([3, 1, 2]), True)
    """

    def __init__(
        self,
        aux_size: int,
        hidden_size: int,
        layers: Sequence[int] = (50, 100),
        *,
        activation: Literal["relu", "tanh"] = "relu",
        sees: Sees = "cells",
        cells: Sequence[int] | None = None,
        scale: float | Sequence[float] = 1.0,
        shift: float | Sequence[float] = 0.0,
        next_aux_size: int = 0,
        members: int | None = None,
        seeds: Seeds | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_size("aux_size", aux_size, least=0)
        require_size("hidden_size", hidden_size, least=1)
        require_size("next_aux_size", next_aux_size, least=0)
        self.aux_size, self.hidden_size, self.next_aux_size = aux_size, hidden_size, next_aux_size
        self.activation = one_of("activation", activation, ACTIVATIONS)
        self.sight = make_sight(one_of("sees", sees, SEES), cells, scale, shift, hidden_size)
        self.members = members
        hidden = whole_numbers("layers", layers, least=1)
        sizes = [aux_size + len(self.sight.scale), *hidden, hidden_size**2 + next_aux_size]
        factory: dict[str, Any] = {
            "device": device,
            "dtype": require_dtype(dtype or torch.get_default_dtype()),
        }
        pairs, lead = list(zip(sizes[1:], sizes[:-1], strict=True)), leading(members)
        self.W = nn.ParameterList(torch.empty(*lead, wide, narrow, **factory) for wide, narrow in pairs)
        self.b = nn.ParameterList(torch.empty(*lead, wide, **factory) for wide, _ in pairs)
        self.reset_parameters(seeds)
        self.reset_state()

    def reset_parameters(self, seeds: Seeds | None = None) -> None:
        """Initialise as `nn.Linear` does: uniform within 1 / √(inputs of the layer)."""
        sources = generators(self.members, seeds)
        for W, b in zip(self.W, self.b, strict=True):
            for value in (W, b):
                draw(value, self.members, sources, uniform(W.shape[-1]))

    def reset_state(self) -> None:
        """Forget the last step: a new sequence begins."""
        self.seen: list[Tensor | None] = [None] * (self.members or 1)  # (B, n) of each member
        self.next_aux: Tensor | None = None  # (B, next_aux_size), led by E with members

    def remember(self, c: Tensor | None) -> None:
        """Take c (E, B, K) for the cells of the last step; None is `reset_state`."""
        self.reset_state()
        if c is not None and self.sight.sees == "share and change":
            self.seen = list(state_features(c, None, self.sight)[1].unbind(0))

    def __getstate__(self) -> dict[str, Any]:
        # A copy begins a new sequence: tensors with a graph cannot be copied.
        return self.__dict__ | {"seen": [None] * len(self.seen), "next_aux": None}

    @property
    def layers(self) -> tuple[tuple[Tensor, Tensor], ...]:
        """Weights (E, O, I) and biases (E, O) of every layer; E is 1 without members."""
        both = zip(self.W, self.b, strict=True)
        return tuple((stacked(W, self.members), stacked(b, self.members)) for W, b in both)

    def forward(self, x: Tensor, a: Tensor, c: Tensor) -> Tensor:
        """Logits of R (B, K, K); the network looks at a (B, A) and c (B, K), all led by E with members."""
        led = self.members is not None
        y = self._ask(a if led else a.unsqueeze(0), c if led else c.unsqueeze(0), slice(None))
        y = y if led else y.squeeze(0)
        self.next_aux = y[..., self.hidden_size**2 :] if self.next_aux_size else None
        return self._matrix(y)

    def member(self, e: int) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
        """The network of one member, whose tensors do not lead with E."""

        def ask(x: Tensor, a: Tensor, c: Tensor) -> Tensor:
            return self._matrix(self._ask(a.unsqueeze(0), c.unsqueeze(0), slice(e, e + 1)).squeeze(0))

        return ask

    def _matrix(self, y: Tensor) -> Tensor:  # (..., O) -> (..., K, K)
        return y[..., : self.hidden_size**2].reshape(*y.shape[:-1], self.hidden_size, self.hidden_size)

    def _ask(self, a: Tensor, c: Tensor, which: slice) -> Tensor:
        """All outputs of some members: a (E, B, A), c (E, B, K) -> (E, B, O)."""
        require_width("a", a, self.aux_size)
        require_width("c", c, self.hidden_size)
        known = [seen for seen in self.seen[which] if seen is not None]
        features, seen = state_features(c, torch.stack(known) if known else None, self.sight)
        if self.sight.sees == "share and change":
            self.seen[which] = seen.unbind(0)
        layers = [(W[which], b[which]) for W, b in self.layers]
        return perceptron(torch.cat([a, features], dim=-1), layers, self.activation)

    def extra_repr(self) -> str:
        sizes = [str(W.shape[-1]) for W in self.W] + [str(self.hidden_size**2)]
        more = f", next_aux_size={self.next_aux_size}" if self.next_aux_size else ""
        more += "" if self.members is None else f", members={self.members}"
        return f"{'-'.join(sizes)}, {self.activation}, sees={self.sight.sees!r}{more}"


def make_sight(
    sees: str,
    cells: Sequence[int] | None,
    scale: float | Sequence[float],
    shift: float | Sequence[float],
    hidden_size: int,
) -> Sight:
    """What a network sees, with one number of `scale` and `shift` for every feature."""
    chosen = tuple(range(hidden_size)) if cells is None else whole_numbers("cells", cells, least=0)
    if max(chosen, default=0) >= hidden_size:
        raise ValueError(f"cells names cell {max(chosen)}; cells are 0 to {hidden_size - 1}.")
    count = len(chosen) * (2 if sees == "share and change" else 1)
    return Sight(sees, chosen, per_feature("scale", scale, count), per_feature("shift", shift, count))


def whole_numbers(name: str, values: Sequence[int], least: int) -> tuple[int, ...]:
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise ValueError(f"{name} is {values!r}; give whole numbers, such as (2, 1).")
    for value in values:
        require_size(name, value, least)
    return tuple(values)


def per_feature(name: str, value: float | Sequence[float], count: int) -> tuple[float, ...]:
    """One finite number for each feature, or one for all."""
    if is_number(value):
        value = [value] * count  # type: ignore[list-item]
    if not isinstance(value, Sequence) or len(value) != count:
        raise ValueError(
            f"{name} is {value!r}; give one number, or {count}, one for each feature of the cells."
        )
    return tuple(require_number(name, one) for one in value)
