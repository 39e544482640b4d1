"""The updates of a training on one rank: its windows of every batch, and the step that all ranks take."""

from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import nn

from mclstm.data.windows import Batch, StoredTensors, Tensors, Windows, gather, stacked
from mclstm.errors import Interrupted
from mclstm.models.members import Members
from mclstm.training.interrupt import listening
from mclstm.training.loss import Importance
from mclstm.training.order import orders, shifts
from mclstm.training.ranks import Ranks, Task
from mclstm.training.update import Update, one_update, outflow_of

__all__ = ["Learner", "follow"]


class Learner(NamedTuple):
    """A model, what it learns from, and how."""

    model: nn.Module
    optimiser: torch.optim.Optimizer
    data: Tensors | StoredTensors
    where: Windows
    importance: Importance
    batch_size: int
    seed: int
    clip: float | None
    warmup_gradient: bool

    @property
    def without_gradient(self) -> int:
        """The first steps of a window that only fill the stores."""
        return 0 if self.warmup_gradient else self.where.length - self.where.scored

    def update(self, task: Task, ranks: Ranks) -> Update:
        """Learn from the batch of a task, together with the other ranks."""
        if ranks.first:
            ranks.tell(task)
        ranks.seed(self.seed, task.update)
        batch = self.batch(task, ranks)
        counts = self.importance.of(batch.site, peaks=task.peaks)
        rate, clip, without_gradient = task.rate, self.clip, self.without_gradient
        step = one_update(self.model, self.optimiser, batch, counts, rate, clip, without_gradient, ranks)
        ranks.done()
        return step

    def batch(self, task: Task, ranks: Ranks) -> Batch:
        """A rank's windows of a task's batch."""
        first = task.position * self.batch_size
        part = slice(first, min(len(self.where.site), first + self.batch_size))
        return ranks.batch(part, partial(batch_of, self.model, self.data, self.where, self.seed, task.epoch))

    def whole(self, task: Task, failure: Update, ranks: Ranks) -> tuple[Update, Batch, Importance]:
        """A failed update with the windows of all ranks: what is not finite may have been on any of them."""
        whole = self.batch(task, Ranks(ranks.device))
        if ranks.size > 1:
            with torch.no_grad():
                _, y, refusal = outflow_of(self.model, whole, self.without_gradient)
            failure = failure._replace(y=y, refusal=refusal)
        return failure, whole, self.importance.of(whole.site, peaks=task.peaks)

    def settings(self, task: Task) -> dict[str, Any]:
        """What it takes to repeat an update, beside weights and batch."""
        return {"update": task.update + 1, "clip": self.clip, "without_gradient": self.without_gradient}


def follow(
    model: nn.Module,
    data: Tensors | StoredTensors,
    where: Windows,
    importance: Importance,
    ranks: Ranks,
    *,
    batch_size: int,
    seed: int,
    clip: float | None,
    weight_decay: float,
    warmup_gradient: bool,
) -> None:
    """Take part in every update that rank 0 begins, until it is done. Nothing is written.

    A signal is passed on to rank 0, which then stops all ranks after a checkpoint.
    """
    optimiser = torch.optim.Adam(model.parameters(), weight_decay=weight_decay)
    learner = Learner(model, optimiser, data, where, importance, batch_size, seed, clip, warmup_gradient)
    united = ranks.united(model, optimiser, learner.without_gradient)
    with suppress(Interrupted), listening() as stopped, united:
        while (task := ranks.told()) is not None:
            ranks.noted = stopped() or 0
            learner.update(task, ranks)
        if (signum := stopped()) is not None:
            raise Interrupted(signum, "answered by rank 0")  # else it would be delivered again and kill


def batch_of(
    model: nn.Module, data: Tensors | StoredTensors, where: Windows, seed: int, epoch: int, part: slice
) -> Batch:
    """The windows of one part of an epoch; `Members` get one batch each, in the order of their own seeds."""
    seeds = tuple(seed + member for member in range(model.size if isinstance(model, Members) else 1))
    batches = [
        gather(data, where, order[part], shifts(own, epoch, len(data.x), where.every))
        for own, order in zip(seeds, orders(seeds, epoch, len(where.site)), strict=True)
    ]
    return stacked(batches) if isinstance(model, Members) else batches[0]
