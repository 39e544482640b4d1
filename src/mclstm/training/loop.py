"""The training loop, top to bottom."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from torch import nn

from mclstm.data.windows import Scheme, Tensors, gather, windows
from mclstm.errors import Interrupted
from mclstm.training.average import Average
from mclstm.training.interrupt import listening
from mclstm.training.keeper import Keeper
from mclstm.training.loss import site_weights
from mclstm.training.order import batch_indices, batches_per_epoch, locate, permutation
from mclstm.training.progress import Show
from mclstm.training.state import Progress
from mclstm.training.update import one_update

__all__ = ["fit", "planned_updates"]

JOURNAL_EVERY = 10  # updates between two lines of the journal


def planned_updates(count: int, batch_size: int, epochs: int | None, updates: int | None) -> int:
    """How many updates a run has: by epochs over `count` windows, by updates, or whichever ends first.

    >>> planned_updates(count=10, batch_size=4, epochs=2, updates=None)
    6
    """
    by_epochs = math.inf if epochs is None else epochs * batches_per_epoch(count, batch_size)
    return int(min(by_epochs, math.inf if updates is None else updates))


def fit(
    model: nn.Module,
    data: Tensors,
    period: tuple[int, int],
    folder: Path,
    *,
    validate: Callable[[], float] | None,
    show: Show,
    model_hash: str,
    place: Callable[[int, int], str] = "site {}, step {}".format,
    scheme: Scheme,
    length: int,
    warmup: int,
    stride: int | None,
    batch_size: int,
    epochs: int | None,
    updates: int | None,
    learning_rate: float,
    schedule: Mapping[int, float],
    schedule_by: str,
    weight_decay: float,
    clip: float | None,
    loss: str,
    early_stopping: int | None,
    validate_every: int,
    checkpoint_every: int,
    seed: int,
    warmup_gradient: bool = True,
    average: float = 0.0,
    stop: Callable[[], int | None] = lambda: None,
) -> Progress:
    """Train until done, interrupted or NaN; goes on from checkpoints/last.safetensors if that is there.

    `stop` is asked after every update for the number of a signal to stop for, as if it had come.
    Every update is a function of the weights and of (seed, epoch, position), so that a run that was killed
    and resumed ends with the bits of one that was not.
    """
    # What there is to learn from, and how much each site counts.
    where = windows(data, period, scheme, length, warmup, stride)
    count, per_epoch = len(where.site), batches_per_epoch(len(where.site), batch_size)
    total = planned_updates(count, batch_size, epochs, updates)
    importance = site_weights(data.y[:, period[0] : period[1]], loss)
    without_gradient = 0 if warmup_gradient else where.length - where.scored

    # Where the run stands.
    optimiser = torch.optim.Adam(model.parameters(), lr=learning_rate, weight_decay=weight_decay)
    mean = Average(model, average)
    keep = Keeper(folder, model, optimiser, model_hash, mean)
    progress = keep.resumed()

    if not progress.finished:
        keep.checkpoint(progress)  # a run that cannot save does not begin

    with listening() as stopped:
        while not progress.finished:
            # One update, on a batch that is a function of where the run stands.
            epoch, position = locate(progress.update, count, batch_size)
            chosen = batch_indices(seed, epoch, position, count, batch_size)
            batch = gather(data, where, chosen, int(permutation(seed, epoch, where.every)[0]))
            rate = rate_at(learning_rate, schedule, epoch if schedule_by == "epoch" else progress.update)
            weight, random = importance[batch.site], torch.get_rng_state()
            step = one_update(model, optimiser, batch, weight, rate, clip, without_gradient)
            progress = progress._replace(update=progress.update + 1)
            if not step.finite:
                about = {"update": progress.update, "clip": clip, "without_gradient": without_gradient}
                raise keep.failed(step, batch, weight, random, place, **about)
            mean.follow(progress.update)
            done, epoch_over = progress.update == total, position + 1 == per_epoch

            # What is shown and written down; whether it is better than before.
            show(progress.update, step.loss, step.mass_error)
            if progress.update % JOURNAL_EVERY == 0 or done:
                progress = keep.noted(progress, epoch=epoch, rate=rate, **step.record())
            if validate is not None and (done or (epoch_over and (epoch + 1) % validate_every == 0)):
                with mean.in_place():
                    progress = keep.validated(progress, epoch, validate())
            enough = early_stopping is not None and progress.stale >= early_stopping
            progress = progress._replace(finished=done or enough)

            # What survives a crash.
            signum = stopped() or stop()
            if progress.finished or signum is not None or progress.update % checkpoint_every == 0:
                keep.checkpoint(progress)
            if signum is not None:
                raise Interrupted(signum, f"Stopped after update {progress.update} of {total}: {keep.advice}")
    return progress


def rate_at(start: float, schedule: Mapping[int, float], step: int) -> float:
    """The learning rate of an epoch or update: the last entry of the schedule that has begun.

    >>> rate_at(0.01, {20: 0.005, 25: 0.001}, step=24)
    0.005
    """
    begun = [key for key in schedule if key <= step]
    return schedule[max(begun)] if begun else start
