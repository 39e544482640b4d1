"""What a run leaves on disk while it trains: checkpoints, the journal, and the evidence of a failure."""

from pathlib import Path
from typing import Any

import torch
from torch import nn

from mclstm.data.windows import Batch
from mclstm.errors import TrainingError
from mclstm.training import checkpoint, journal, state
from mclstm.training.state import Progress
from mclstm.training.update import Update

__all__ = ["Keeper"]


class Keeper:
    """Writes for one run folder; holds no state of its own but where things are."""

    def __init__(
        self, folder: Path, model: nn.Module, optimiser: torch.optim.Optimizer, model_hash: str
    ) -> None:
        self.folder, self.model, self.optimiser, self.model_hash = folder, model, optimiser, model_hash
        self.last = folder / "checkpoints" / "last.safetensors"
        self.best = folder / "checkpoints" / "best.safetensors"
        self.journal = folder / "metrics.jsonl"
        self.advice = f"go on with `mclstm resume {folder}`."

    def resumed(self) -> Progress:
        """Where the last checkpoint left off, or the beginning; the journal is cut back to that instant."""
        here = self.last.exists()
        progress = (
            state.restore(self.last, self.model, self.optimiser, self.model_hash) if here else Progress()
        )
        journal.truncate(self.journal, progress.journal)
        return progress

    def checkpoint(self, progress: Progress) -> None:
        """Everything, in one file, at once or not at all."""
        state.save(self.last, self.model, self.optimiser, progress, self.model_hash)

    def noted(self, progress: Progress, **record: Any) -> Progress:
        """One line in the journal, whose new length becomes part of the progress."""
        size = journal.append(self.journal, {"update": progress.update, **record})
        return progress._replace(journal=size)

    def validated(self, progress: Progress, epoch: int, score: float) -> Progress:
        """Note a validation score, and keep the weights if it is the best so far."""
        better = progress.best is None or score > progress.best
        best, stale = (score, 0) if better else (progress.best, progress.stale + 1)
        progress = self.noted(progress._replace(best=best, stale=stale), epoch=epoch, validation_nse=score)
        if better:
            state.save(self.best, self.model, self.optimiser, progress, self.model_hash)
        return progress

    def failed(self, step: Update, batch: Batch, update: int) -> TrainingError:
        """The error to raise, after keeping all that is needed to see the failing update again."""
        bad = (~torch.isfinite(step.y)).nonzero()
        place = "the gradient"
        if len(bad):
            place = f"step {int(bad[0, 0])} of the window of site {int(batch.site[bad[0, 1]])}"
        target = self.folder / "nan.safetensors"
        tensors = {f"batch.{name}": value for name, value in batch._asdict().items()}
        checkpoint.save(target, tensors | state.weights_of(self.model), {"update": update})
        return TrainingError(
            f"Update {update} is not finite: the first bad number is in {place}. "
            f"Its weights and its batch are kept in {target}. "
            "Lower training.learning_rate, set training.clip, or look at the data of these windows."
        )
