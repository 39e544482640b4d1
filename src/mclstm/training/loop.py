"""The training loop, top to bottom."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from torch import nn

from mclstm.data.windows import StoredTensors, Tensors, Windows
from mclstm.errors import Interrupted
from mclstm.training.interrupt import listening
from mclstm.training.learner import Learner
from mclstm.training.loss import Importance
from mclstm.training.order import batches_per_epoch, locate
from mclstm.training.progress import Show
from mclstm.training.ranks import Ranks, Task
from mclstm.training.recorder import Recorder
from mclstm.training.state import Progress
from mclstm.training.weight_average import Average

__all__ = ["fit", "planned_updates"]

JOURNAL_EVERY = 10  # updates between two lines in the journal


def planned_updates(count: int, batch_size: int, epochs: int | None, updates: int | None) -> int:
    """The number of updates of a run: by epochs over `count` windows or by updates, whichever ends first.

    >>> planned_updates(count=10, batch_size=4, epochs=2, updates=None)
    6
    """
    by_epochs = math.inf if epochs is None else epochs * batches_per_epoch(count, batch_size)
    return int(min(by_epochs, math.inf if updates is None else updates))


def fit(
    model: nn.Module,
    data: Tensors | StoredTensors,
    where: Windows,
    importance: Importance,
    folder: Path,
    *,
    validate: Callable[[], float] | None,
    show: Show,
    model_hash: str,
    place: Callable[[int, int], str] = "site {}, step {}".format,
    batch_size: int,
    epochs: int | None,
    updates: int | None,
    learning_rate: float,
    schedule: Mapping[int, float],
    schedule_by: str,
    weight_decay: float,
    clip: float | None,
    early_stopping: int | None,
    validate_every: int,
    checkpoint_every: int,
    seed: int,
    warmup_gradient: bool = True,
    average: float = 0.0,
    peak_updates: int = 0,
    stop: Callable[[], int | None] = lambda: None,
    ranks: Ranks | None = None,
) -> Progress:
    """Train until done, interrupted or NaN; continues from checkpoints/last.safetensors if it exists.

    Every update is a function of the weights and of (seed, epoch, position), so that a run that was killed
    and resumed ends with the bits of one that was not.

    `Members` learn as each would alone with the seeds seed, seed + 1, ...; the run validates, stops and saves
    them together.

    peak_updates: in so many last updates the peaks of `importance` count more
    validate: the score of the present weights, higher is better · place: names a site and step in an error
    stop: is asked after every update for the number of a signal; the run then stops as if that had come
    ranks: other processes that take part in every update; None: there are none
    """
    # What there is to learn from.
    count, per_epoch = len(where.site), batches_per_epoch(len(where.site), batch_size)
    total = planned_updates(count, batch_size, epochs, updates)

    # Where the run stands.
    optimiser = torch.optim.Adam(model.parameters(), lr=learning_rate, weight_decay=weight_decay)
    mean = Average(model, average)
    recorder = Recorder(folder, mean, optimiser, model_hash)
    ranks = ranks or Ranks(torch.device("cpu"))
    learner = Learner(model, optimiser, data, where, importance, batch_size, seed, clip, warmup_gradient)
    progress = recorder.resume()
    if not progress.finished:
        recorder.checkpoint(progress)  # a run that cannot save does not begin

    with listening() as stopped, ranks.united(model, optimiser, learner.without_gradient):
        while not progress.finished:
            # One update on the batch of this epoch and position.
            epoch, position = locate(progress.update, count, batch_size)
            rate = rate_at(learning_rate, schedule, epoch if schedule_by == "epoch" else progress.update)
            task = Task(progress.update, epoch, position, rate, progress.update >= total - peak_updates)
            random = torch.get_rng_state()
            step = learner.update(task, ranks)
            progress = progress._replace(update=progress.update + 1)
            if not step.finite:
                step, batch, counts = learner.whole(task, step, ranks)
                raise recorder.failed(step, batch, counts, random, place, **learner.settings(task))
            mean.follow(progress.update)
            done, epoch_over = progress.update == total, position + 1 == per_epoch

            # Show and note the update; validate, and decide whether to stop.
            show(progress.update, step.loss, step.mass_error)
            if progress.update % JOURNAL_EVERY == 0 or done:
                record = {"loss": step.loss, "gradient": step.gradient, "mass_error": step.mass_error}
                progress = recorder.note(progress, epoch=epoch, rate=rate, **record)
            if validate is not None and (done or (epoch_over and (epoch + 1) % validate_every == 0)):
                with mean.in_place():
                    progress = recorder.validated(progress, epoch, validate(), total - peak_updates)
            enough = early_stopping is not None and progress.stale >= early_stopping
            progress = progress._replace(finished=done or enough)

            # Save what survives a crash.
            signum = stopped() or stop() or ranks.signum or None
            if progress.finished or signum is not None or progress.update % checkpoint_every == 0:
                recorder.checkpoint(progress)
            if signum is not None:
                advice = f"continue with `mclstm resume {folder}`."
                raise Interrupted(signum, f"Stopped after update {progress.update} of {total}: {advice}")
    return progress


def rate_at(start: float, schedule: Mapping[int, float], step: int) -> float:
    """The learning rate at an epoch or update: that of the last entry of the schedule that has begun.

    >>> rate_at(0.01, {20: 0.005, 25: 0.001}, step=24)
    0.005
    """
    begun = [key for key in schedule if key <= step]
    return schedule[max(begun)] if begun else start
