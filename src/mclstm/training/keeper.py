"""What a run leaves on disk while it trains: checkpoints, the journal, and the evidence of a failure."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from mclstm.data.windows import Batch
from mclstm.errors import CheckpointError, TrainingError
from mclstm.training import journal, state
from mclstm.training.average import Average
from mclstm.training.failure import keep_failure
from mclstm.training.state import Progress
from mclstm.training.update import Update

__all__ = ["Keeper"]


class Keeper:
    """Writes for one run folder; holds no state of its own but where things are."""

    def __init__(
        self,
        folder: Path,
        model: nn.Module,
        optimiser: torch.optim.Optimizer,
        model_hash: str,
        average: Average,
    ) -> None:
        self.folder, self.model, self.optimiser, self.model_hash = folder, model, optimiser, model_hash
        self.average = average
        self.last = folder / "checkpoints" / "last.safetensors"
        self.best = folder / "checkpoints" / "best.safetensors"
        self.journal = folder / "metrics.jsonl"
        self.advice = f"go on with `mclstm resume {folder}`."

    def resumed(self) -> Progress:
        """Where the last checkpoint left off, or the beginning; the journal is cut back to that instant."""
        if self.last.exists():
            progress = state.restore(self.last, self.model, self.optimiser, self.model_hash, self.average)
        elif journal.length(self.journal):
            raise CheckpointError(
                f"{self.last} is missing, but the run had begun. Put it back, or start a new run."
            )
        else:
            progress = Progress()
        journal.truncate(self.journal, progress.journal)
        return progress

    def checkpoint(self, progress: Progress) -> None:
        """Everything, in one file, at once or not at all."""
        state.save(self.last, self.model, self.optimiser, progress, self.model_hash, self.average)

    def noted(self, progress: Progress, **record: Any) -> Progress:
        """One line in the journal, whose new length becomes part of the progress."""
        size = journal.append(self.journal, {"update": progress.update, **record})
        return progress._replace(journal=size)

    def validated(self, progress: Progress, epoch: int, score: float) -> Progress:
        """Note a validation score, and keep the weights if it is the best so far."""
        # Nothing is greater than NaN: one score that is undefined must not be the best for ever.
        better = math.isfinite(score) and (progress.best is None or score > progress.best)
        best, stale = (score, 0) if better else (progress.best, progress.stale + 1)
        progress = self.noted(progress._replace(best=best, stale=stale), epoch=epoch, validation_nse=score)
        if better:
            state.save_weights(self.best, self.model, progress, self.model_hash)
        return progress

    def failed(
        self,
        step: Update,
        batch: Batch,
        weight: Tensor,  # (B, targets)
        random: Tensor,  # torch's random state before the update
        place: Callable[[int, int], str],
        **about: Any,
    ) -> TrainingError:
        """The error to raise, after keeping all that is needed to see the failing update again.

        about: update, clip and without_gradient, as it was made.
        """
        target = self.folder / "nan.safetensors"
        keep_failure(target, self.model, batch, weight, random=random, model_hash=self.model_hash, **about)
        return TrainingError(
            f"Update {about['update']} is not finite: the first bad number is in "
            f"{step.first_bad(batch, place)}. "
            f"Its weights and its batch are kept in {target}. "
            "Lower training.learning_rate, set training.clip, or look at the data of these windows."
        )
