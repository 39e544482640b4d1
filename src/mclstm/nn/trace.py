"""Where the mass of a call came from and where it went, exactly: `layer.trace(...)`."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from mclstm.nn.door import Layout
from mclstm.nn.flows import Recorder
from mclstm.ops import dispatch, tracing
from mclstm.ops.problem import Problem

__all__ = ["Origins", "Trace", "trace"]

NUMBERS = 4_000_000  # of R, and of flows by tag, that are held at a time; bounds the memory


class Origins(NamedTuple):
    """What some outflows are made of. Together, x and start are all of each outflow."""

    x: Tensor  # (T, B, G, M) what each input gave
    start: Tensor  # (B, G, K) what the initial stores gave


class Trace:
    """The mass of one call of a layer by its origin.

    h_t = sum_s G(t, s) x_s + what the initial stores still give, with G >= 0. Memory grows with the number of
    tags, not with the square of the steps. With members all results lead with E. The layer is not needed any
    more. Results are float64 and laid out as the inputs of the call were.
    """

    def __init__(
        self,
        problem: Problem,
        layout: Layout,
        c: Tensor,  # (T + 1, B, K)
        logits: Tensor | None = None,  # (T, B, K, K) of a module for R
    ) -> None:
        self.problem, self.layout, self.c, self.logits = problem, layout, c, logits
        self.steps, self.samples, self.masses = problem.x.shape[-3:]
        self.cells = c.shape[-1]
        self.sequences = self.samples * (problem.members or 1)
        self.each = max(1, NUMBERS // max(1, self.sequences * self.cells * self.cells))

    def forward(self, tags: Tensor, outlets: Tensor | None = None) -> Tensor:
        """The outflow by tag, (T, B, G + 1, O): the last tag is that of the initial stores.

        tags: (T,) or (T, M), the number of each input's tag, from 0 on · outlets: (K, O), the share of each
        cell's outflow; by default one outlet for every cell
        """
        return self._outward(torch.cat([flows for flows, _ in self.forward_parts(tags, outlets)]))

    def ages(self, longest: int, outlets: Tensor | None = None) -> Tensor:
        """The outflow by age, (T, B, longest + 2, O): what entered in the same step has age 0.

        The last two entries hold what is `longest` steps old or older, and what was there at the start.
        """
        return self._outward(torch.cat([flows for flows, _ in self.age_parts(longest, outlets)]))

    def behind(self, steps: Tensor, shares: Tensor | None = None) -> Origins:
        """What the outflows of some steps are made of; steps: (G,) · shares: (G, K) or (K,) of each cell."""
        parts = []
        start = self._start().unsqueeze(1)
        value = start.new_zeros(self.sequences, len(steps), self.cells)
        shares = start.new_ones(self.cells) if shares is None else shares
        shares = shares.double().expand(len(steps), self.cells)
        for first in reversed(range(0, self.steps, self.each)):
            entered, value = tracing.look_back(self._moves(first), value, steps - first, shares)
            parts.append(entered)
        start = start * value
        if self.layout.members is not None:
            start = start.view(self.layout.members, self.samples, *start.shape[1:])
        return Origins(self._outward(torch.cat(parts[::-1])), self.layout.state(start))

    def forward_parts(self, tags: Tensor, outlets: Tensor | None = None) -> Iterator[tuple[Tensor, Tensor]]:
        """As `forward`, some steps at a time, (T', N, G + 1, O), and the cells by tag after them.

        The samples of all members are N sequences.
        """
        columns = tags.unsqueeze(-1) if tags.dim() == 1 else tags
        tags = columns.expand(-1, self.masses) if tags.dim() == 1 else tags
        if tags.shape != (self.steps, self.masses) or (tags < 0).any():
            raise ValueError(f"tags has shape {tuple(tags.shape)}; give {self.steps} numbers from 0 on.")
        used = columns.amax(-1).cummax(0).values + 1 if columns.numel() else torch.zeros(self.steps)
        return self._followed(used, lambda first: tracing.tagged(tags[first:]), outlets)

    def age_parts(self, longest: int, outlets: Tensor | None = None) -> Iterator[tuple[Tensor, Tensor]]:
        """As `ages`, some steps at a time, (T', N, longest + 2, O), and the cells by age then."""
        if longest < 1:
            raise ValueError(f"longest is {longest}; give an age of at least 1 step.")
        used = torch.full((self.steps,), longest + 1)
        return self._followed(used, lambda first: tracing.aged, outlets)

    def _followed(
        self, used: Tensor, enter: Callable[[int], tracing.Enter], outlets: Tensor | None
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Flows by tag, of so few steps at a time that neither they nor the gates are large.

        used: (T,) how many tags hold anything until the end of a step · enter: how mass enters from a step on
        """
        count = int(used[-1])
        cells, outlets = self._cells_by_tag(count), self._outlets(outlets)
        some = max(1, NUMBERS // max(1, self.sequences * (count + 1) * outlets.shape[-1]))
        for first in range(0, self.steps, self.each):
            part = self._moves(first)
            for at in range(0, len(part.x), some):
                now = tracing.Moves(*(value[at : at + some] for value in part))
                held = int(used[first + at + len(now.x) - 1])
                flows, cells = tracing.follow_used(now, cells, enter(first + at), outlets, held)
                yield flows, cells

    def throughput(self, most: int) -> tuple[Tensor, Tensor]:
        """What each cell held after a step and what left it, to other cells or out: sums, (N, K) each.

        Their quotient is how many steps mass stays in a cell. At most so many steps are looked at, evenly
        spread.
        """
        held = passed = torch.zeros_like(self._start())
        steps = torch.linspace(0, self.steps - 1, min(most, self.steps)).long()
        for some in torch.split(steps, self.each):
            before = self.c[..., some, :, :].movedim(-3, 0).flatten(1, -2).double()
            after, gone = tracing.throughput(self._moves_of(some), before)
            held, passed = held + after, passed + gone
        return held, passed

    def parts(self) -> Iterator[tracing.Moves]:
        """How the mass moved, in shares, some steps at a time."""
        return (self._moves(first) for first in range(0, self.steps, self.each))

    def _moves(self, first: int) -> tracing.Moves:
        """The shares of some steps from `first` on."""
        return self._moves_of(torch.arange(first, min(first + self.each, self.steps)))

    def _moves_of(self, some: Tensor) -> tracing.Moves:  # (T',) numbers of steps
        x, a = (value[..., some, :, :] for value in (self.problem.x, self.problem.a))
        valid = None if self.problem.valid is None else self.problem.valid[some]
        problem = self.problem._replace(x=x, a=a, valid=valid)
        if self.logits is not None:
            answers = Answers(self.logits[..., some, :, :, :])
            problem = problem._replace(weights=problem.weights._replace(hypernetwork=answers))
        return tracing.moves(problem, self.c[..., some, :, :])

    def _start(self) -> Tensor:  # (N, K)
        return self.c.select(-3, 0).reshape(-1, self.cells).double()

    def _cells_by_tag(self, count: int) -> Tensor:  # (N, count + 1, K)
        """Empty tags, and the initial stores as the last."""
        start = self._start().unsqueeze(1)
        return torch.cat([start.new_zeros(self.sequences, count, self.cells), start], dim=1)

    def _outlets(self, outlets: Tensor | None) -> Tensor:  # (K, O)
        whole = torch.eye(self.cells, dtype=torch.float64, device=self.c.device)
        return whole if outlets is None else outlets.double()

    def _outward(self, flows: Tensor) -> Tensor:  # (T, N, ...) -> (T, B, ...), led by E with members
        if self.layout.members is not None:
            flows = flows.view(len(flows), self.layout.members, self.samples, *flows.shape[2:]).movedim(1, 0)
        return self.layout.outward(flows)


class Answers:
    """The recorded logits of a module for R, as its answer to all rows of some steps."""

    def __init__(self, logits: Tensor) -> None:  # (T, B, K, K), led by E with members
        self.logits = logits

    def __call__(self, x: Tensor, a: Tensor, c: Tensor) -> Tensor:
        return self.logits.flatten(0, 1)

    def member(self, e: int) -> "Answers":
        return Answers(self.logits[e])


@torch.no_grad()
def trace(backend: str, problem: Problem, layout: Layout, c: Tensor | None = None) -> Trace:
    """Run the backend and keep what is needed to trace its mass; c: as `MCLSTM.trace` takes it."""
    if problem.form.not_conserving:
        parts = " and ".join(problem.form.not_conserving)
        raise ValueError(f"This layer does not conserve mass ({parts}); trace a layer that does.")
    if problem.x.shape[-3] == 0:
        raise ValueError("The sequences have no steps; give at least one.")
    if problem.weights.hypernetwork is None:
        return Trace(problem, layout, dispatch.BACKENDS[backend](problem)[1] if c is None else c)
    recorder = Recorder(problem.weights.hypernetwork)
    recorded = problem._replace(weights=problem.weights._replace(hypernetwork=recorder))
    c = dispatch.BACKENDS[backend](recorded)[1]
    return Trace(problem, layout, c, _logits(recorder, c))


def _logits(recorder: Recorder, c: Tensor) -> Tensor:
    """What a module answered at every step, (T, B, K, K); c: (T + 1, B, K); both led by E with members."""
    if recorder.members:  # the backend asked each member alone
        return torch.stack([_logits(alone, c[e]) for e, alone in sorted(recorder.members.items())])
    shape = (*c.shape[:-3], *c.shape[-2:], c.shape[-1])
    return torch.stack([answer.reshape(shape) for answer in recorder.answers], dim=-4)
