"""Everything that moved in a run of the layer, with its ledger."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from mclstm.nn.arguments import has_values
from mclstm.nn.door import Layout
from mclstm.ops import dispatch, reference
from mclstm.ops.ledger import Ledger, ledger
from mclstm.ops.problem import Problem

__all__ = ["Flows", "backend_flows", "reference_flows"]


class Flows(NamedTuple):
    """Gates, flows and stores of every step; shapes for time-first batches, laid out as the inputs were.

    With members all lead with E. The seven tensors unpack: `x, i, o, R, c, h, residual = flows`. `transfers`,
    `ledger` and `layout` are computed from them.
    """

    x: Tensor  # (T, B, M) inflow
    i: Tensor  # (T, B, M, K) input gate
    o: Tensor  # (T, B, K) output gate
    R: Tensor  # (T, B, K, K) redistribution, row = from
    c: Tensor  # (T + 1, B, K) storage, c[0] the initial state
    h: Tensor  # (T, B, K) outflow
    residual: Tensor  # (T, B) float64, cumulative mass that is missing

    def __repr__(self) -> str:
        """Sizes and the largest error of the ledger: seven tensors would fill the screen."""
        *_, steps, batch, cells = self.layout.inward(self.c).shape
        members = "" if self.layout.members is None else f"E={self.layout.members}, "
        sizes = f"{members}T={steps - 1}, B={batch}, M={self.x.shape[-1]}, K={cells}"
        if not has_values(self.c):
            return f"Flows({sizes})"
        error = float(self.ledger.error.max()) if self.residual.numel() else 0.0
        return f"Flows({sizes}, largest ledger error {error:.1e})"

    @property
    def layout(self) -> Layout:
        """How the tensors lie, which follows from their shapes: along time c has one more entry than x."""
        unbatched, members = self.x.dim() == 2, len(self.x) if self.x.dim() == 4 else None
        return Layout(not unbatched and self.c.shape[-2] == self.x.shape[-2] + 1, unbatched, members)

    @property
    def transfers(self) -> Tensor:
        """Mass moved from cell to cell in each step, (T, B, K, K); the diagonal is what stayed."""
        before = self.layout.outward(self.layout.inward(self.c)[..., :-1, :, :])
        return before.unsqueeze(-1) * self.R

    @property
    def ledger(self) -> Ledger:
        """The cumulative mass balance, time-first, float64."""
        return ledger(*(self.layout.inward(value) for value in (self.x, self.h, self.c)))


def reference_flows(problem: Problem, layout: Layout, moved: tuple[Tensor, Tensor] | None = None) -> Flows:
    """Run the reference and keep everything; `moved` are h and c of another backend, to take their place."""
    if problem.members is not None:
        alone = layout._replace(members=None)
        each = [None if moved is None else (moved[0][e], moved[1][e]) for e in range(problem.members)]
        flows = [reference_flows(problem.member(e), alone, both) for e, both in enumerate(each)]
        return Flows(*(torch.stack(parts) for parts in zip(*flows, strict=True)))
    x, c0 = problem.x, problem.c0
    steps = list(reference.steps(problem))
    none, masses, cells = c0.new_zeros(0, *c0.shape), x.shape[-1], c0.shape[-1]
    empty = (none.new_zeros(0, len(c0), masses, cells), none, none.new_zeros(0, *c0.shape, cells), none, none)
    i, o, R, h, c = (torch.stack(parts) for parts in zip(*steps, strict=True)) if steps else empty
    h, c = (h, torch.cat([c0.unsqueeze(0), c])) if moved is None else moved
    residual = ledger(x, h, c).residual
    return Flows(*(layout.outward(value) for value in (x, i, o, R, c, h, residual)))


def backend_flows(backend: str, problem: Problem, layout: Layout) -> Flows:
    """What the named backend moved and stored, beside the gates of the reference."""
    first = again = problem
    if problem.weights.hypernetwork is not None:
        recorder = Recorder(problem.weights.hypernetwork)
        first, again = (
            problem._replace(weights=problem.weights._replace(hypernetwork=module))
            for module in (recorder, Replay(recorder))
        )
    return reference_flows(again, layout, dispatch.BACKENDS[backend](first))


class Recorder:
    """A module whose answers are kept: a second run must not change the module's own state."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.answers: list[Tensor] = []  # logits of R (B, K, K) of every step, led by E with members
        self.members: dict[int, Recorder] = {}  # those that were asked alone

    def __call__(self, x: Tensor, a: Tensor, c: Tensor) -> Tensor:
        self.answers.append(self.module(x, a, c))
        return self.answers[-1]

    def member(self, e: int) -> "Recorder":
        self.members[e] = Recorder(self.module.member(e))
        return self.members[e]


class Replay:
    """Repeats the answers of a recorder, or of one member of it."""

    def __init__(self, recorder: Recorder, member: int | None = None) -> None:
        self.recorder, self.e, self.step = recorder, member, -1

    def __call__(self, x: Tensor, a: Tensor, c: Tensor) -> Tensor:
        self.step += 1
        if self.e is None:
            return self.recorder.answers[self.step]
        if self.e in self.recorder.members:
            return self.recorder.members[self.e].answers[self.step]
        return self.recorder.answers[self.step][self.e]

    def member(self, e: int) -> "Replay":
        return Replay(self.recorder, e)
