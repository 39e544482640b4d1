"""What every backend takes: one call of a layer, from the checked inputs to the kernel.

Letters: T time, B batch, M mass inputs, A auxiliary and S static inputs, K cells, E members of an ensemble.
F features are what the gates see, in the order a, s, c / |c|, x, as far as `Form.gates_see` names them.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from torch import Tensor

__all__ = ["Form", "Problem", "Weights"]

SHUT = -1e4  # a logit far below the one at which logistic gates saturate


class Form(NamedTuple):
    """Which MC-LSTM: the choices that are not tensors."""

    redistribution: str  # dynamic | static | outer | identity | module
    redistribution_norm: str  # softmax | sigmoid | relu
    input_norm: str  # softmax | sigmoid | relu
    gates_see: tuple[str, ...]  # any of aux, state, mass
    outlet: str  # gate | constant | none
    state_norm: str  # sample | batch | none, which sees c instead of c / |c|
    not_conserving: tuple[str, ...]  # any of input, redistribution, output
    signed: bool  # mass may be negative

    @property
    def negative_cells(self) -> bool:
        """Whether cells may be negative: by negative inputs, or by an R that is not normalised."""
        return self.signed or "redistribution" in self.not_conserving

    @property
    def row_kinds(self) -> tuple[str, str]:
        """How logits become rows of i and of R; the rows of ablations, plain and linear, sum to anything."""
        return (
            "plain" if "input" in self.not_conserving else self.input_norm,
            "linear" if "redistribution" in self.not_conserving else self.redistribution_norm,
        )


class Weights(NamedTuple):
    """The parameters of an MC-LSTM. All tensors but the mask lead with E in an ensemble."""

    W_i: Tensor  # (M, K, F)
    b_i: Tensor  # (M, K)
    W_o: Tensor | None  # (K, F), only for a gate
    b_o: Tensor | None  # (K,), for a gate or a constant outlet
    W_r: Tensor | None  # (K, K, F) dynamic, (2, K, F) outer
    b_r: Tensor | None  # (2, K) outer
    B_r: Tensor | None  # (K, K) dynamic, static, outer
    mask: Tensor | None  # (K, K) bool
    hypernetwork: Callable[[Tensor, Tensor, Tensor], Tensor] | None  # (x, a, c) -> (B, K, K) logits, led by E

    def each(self, change: Callable[[Tensor], Tensor]) -> "Weights":
        """The same change made to every tensor that leads with E in an ensemble."""
        tensors = {name: value for name, value in self._asdict().items() if isinstance(value, Tensor)}
        led: dict[str, Any] = {name: change(value) for name, value in tensors.items() if name != "mask"}
        return self._replace(**led)

    def with_gate(self) -> "Weights":
        """The same outlet as a gate, for backends that always have one: W_o z + b_o with W_o = 0.

        Without an outlet σ(z_o) is the smallest a gate can be and σ(-z_o) is exactly 1: the cells are those
        of no outlet, and the outflow has to be set to zero.
        """
        W_o = self.W_i.new_zeros(*self.W_i.shape[:-3], *self.W_i.shape[-2:]) if self.W_o is None else self.W_o
        b_o = W_o.new_full(W_o.shape[:-1], SHUT) if self.b_o is None else self.b_o
        return self._replace(W_o=W_o, b_o=b_o)


class Problem(NamedTuple):
    """Inputs, weights and form of one call. All inputs but `valid` lead with E in an ensemble.

    Inputs that members share are expanded along E (stride 0): no backend copies them, and their gradient is
    the sum over the members.
    """

    x: Tensor  # (T, B, M)
    a: Tensor  # (T, B, A)
    s: Tensor  # (B, S)
    c0: Tensor  # (B, K)
    valid: Tensor | None  # (T, B) bool, False for padding
    weights: Weights
    form: Form

    @property
    def members(self) -> int | None:
        """E, or None for a plain layer."""
        return len(self.x) if self.x.dim() == 4 else None

    def member(self, e: int) -> "Problem":
        """The problem of one member of an ensemble."""
        x, a, s, c0 = (value[e] for value in self[:4])
        weights = self.weights.each(lambda value: value[e])
        network: Any = weights.hypernetwork
        weights = weights if network is None else weights._replace(hypernetwork=network.member(e))
        return self._replace(x=x, a=a, s=s, c0=c0, weights=weights)
