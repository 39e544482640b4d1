"""Everything that moved in a run of the layer, and the audit of its ledger."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from mclstm.errors import ConservationError
from mclstm.nn.door import Arranged, Layout
from mclstm.ops import dispatch, reference
from mclstm.ops.ledger import Ledger, ledger
from mclstm.ops.reference import Form, Weights

__all__ = ["Flows", "audit_flows", "backend_flows", "flows_of"]

Hypernetwork = Callable[[Tensor, Tensor, Tensor], Tensor]  # (x, a, c) -> logits of R


class Flows(NamedTuple):
    """Gates, flows and stores of every step; shapes for time-first batches, laid out as the inputs were.

    Those of an ensemble lead with E. Seven tensors: `x, i, o, R, c, h, residual = flows`. `transfers`,
    `ledger` and `layout` follow from them.
    """

    x: Tensor  # (T, B, M) inflow
    i: Tensor  # (T, B, M, K) input gate
    o: Tensor  # (T, B, K) output gate
    R: Tensor  # (T, B, K, K) redistribution, row = from
    c: Tensor  # (T + 1, B, K) storage, c[0] the initial state
    h: Tensor  # (T, B, K) outflow
    residual: Tensor  # (T, B) float64, cumulative mass that is missing from the ledger

    @property
    def layout(self) -> Layout:
        """How the tensors lie: only along time does c have one more entry than x."""
        unbatched, members = self.x.dim() == 2, len(self.x) if self.x.dim() == 4 else None
        return Layout(not unbatched and self.c.shape[-2] == self.x.shape[-2] + 1, unbatched, members)

    @property
    def transfers(self) -> Tensor:
        """Mass moved from cell to cell in each step, (T, B, K, K); the diagonal is what stayed."""
        before = self.layout.outward(self._timed(self.c)[..., :-1, :, :])
        return before.unsqueeze(-1) * self.R

    @property
    def ledger(self) -> Ledger:
        """The cumulative mass balance, time-first, float64."""
        return ledger(self._timed(self.x), self._timed(self.h), self._timed(self.c))

    def _timed(self, value: Tensor) -> Tensor:
        return self.layout.inward(value)


def flows_of(
    given: Arranged, weights: Weights, form: Form, moved: tuple[Tensor, Tensor] | None = None
) -> Flows:
    """Run the reference and keep everything; `moved` are the h and c of another backend, to stand for its."""
    if given.layout.members is not None:
        alone = [
            flows_of(
                given.member(e),
                weights.member(e),
                form,
                None if moved is None else (moved[0][e], moved[1][e]),
            )
            for e in range(given.layout.members)
        ]
        return Flows(*(torch.stack(parts) for parts in zip(*alone, strict=True)))
    done = list(reference.steps(given.x, given.a, given.s, given.c0, weights, form, given.valid))
    batch, cells = given.c0.shape
    empty = reference.Step(
        i=given.x.new_zeros(0, batch, given.x.shape[-1], cells),
        o=given.c0.new_zeros(0, batch, cells),
        R=given.c0.new_zeros(0, batch, cells, cells),
        h=given.c0.new_zeros(0, batch, cells),
        c=given.c0.new_zeros(0, batch, cells),
    )
    i, o, R, h, c = (torch.stack(parts) for parts in zip(*done, strict=True)) if done else empty
    h, c = (h, torch.cat([given.c0.unsqueeze(0), c])) if moved is None else moved
    residual = ledger(given.x, h, c).residual
    out = given.layout.outward
    return Flows(out(given.x), out(i), out(o), out(R), out(c), out(h), out(residual))


def backend_flows(backend: str, given: Arranged, weights: Weights, form: Form) -> Flows:
    """What the named backend moved and stored, beside the gates of the reference."""
    first, again = weights, weights
    if weights.hypernetwork is not None:
        record, replay = remembered(weights.hypernetwork)
        first, again = weights._replace(hypernetwork=record), weights._replace(hypernetwork=replay)
    x, a, s, c0, valid, _ = given
    moved = dispatch.sequence(backend, x, a, s, c0, first, form, valid)
    return flows_of(given, again, form, moved)


def remembered(module: Hypernetwork) -> tuple[Hypernetwork, Hypernetwork]:
    """The module, and one that repeats its answers: a second run must not disturb a state of its own."""
    answers: list[Tensor] = []

    def record(x: Tensor, a: Tensor, c: Tensor) -> Tensor:
        answers.append(module(x, a, c))
        return answers[-1]

    def replay(x: Tensor, a: Tensor, c: Tensor) -> Tensor:
        return answers.pop(0) if answers else module(x, a, c)

    return record, replay


def audit_flows(flows: Flows, eps: float) -> None:
    """Refuse flows whose ledger does not close within 4 eps (t + K), the bound of rounding.

    >>> none, out = torch.zeros(1, 1, 1), torch.ones(1, 1, 1)
    >>> from_nothing = Flows(none, none, none, none, torch.zeros(2, 1, 1), out, none)
    >>> audit_flows(from_nothing, eps=1e-7)
    Traceback (most recent call last):
    mclstm.errors.ConservationError: Mass is not conserved: sample 0, step 0: ...
    """
    book = flows.ledger
    cells = flows.h.shape[-1]
    steps = torch.arange(1, book.residual.shape[-2] + 1, dtype=torch.float64).unsqueeze(-1)
    bound = 4.0 * eps * (steps + cells) * book.turnover
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
