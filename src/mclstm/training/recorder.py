"""The files a run writes while it trains: checkpoints, the journal, and an update that went to NaN."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import SGD, Optimizer

from mclstm.data.windows import Batch
from mclstm.errors import CheckpointError, TrainingError
from mclstm.training import checkpoint, journal, state
from mclstm.training.loss import Importance
from mclstm.training.state import Progress
from mclstm.training.update import Update, one_update
from mclstm.training.weight_average import Average

__all__ = ["Recorder", "repeat_failure"]


class Recorder:
    """Writes and reads the files of one run folder; the progress itself stays with the caller."""

    def __init__(self, folder: Path, average: Average, optimiser: Optimizer, model_hash: str) -> None:
        self.model, self.average = average.model, average
        self.optimiser, self.model_hash = optimiser, model_hash
        self.last = folder / "checkpoints" / "last.safetensors"
        self.best = folder / "checkpoints" / "best.safetensors"
        self.failure = folder / "nan.safetensors"
        self.journal = folder / "metrics.jsonl"

    def resume(self) -> Progress:
        """Restore the last checkpoint, if there is one, and cut the journal back to that instant."""
        if self.last.exists():
            progress = self._restore()
        elif journal.length(self.journal):
            raise CheckpointError(
                f"{self.last} is missing, but the run had begun. Put it back, or start a new run."
            )
        else:
            progress = Progress()
        journal.truncate(self.journal, progress.journal)
        return progress

    def _restore(self) -> Progress:
        expected = state.weights_of(self.model) | {"random.torch": torch.get_rng_state()}
        tensors, metadata = checkpoint.load(self.last, expected=expected, model=self.model_hash)
        progress = state.progress_in(self.last, metadata)
        state.put_weights(self.model, tensors)
        state.put_moments(self.last, self.model, self.optimiser, tensors)
        self.average.restart(state.average_in(self.last, self.model, tensors))
        torch.set_rng_state(tensors["random.torch"])
        return progress

    def checkpoint(self, progress: Progress) -> None:
        """Save in one file: weights, their average if one is taken, moments, random state, progress."""
        tensors = state.weights_of(self.model) | state.moments_of(self.model, self.optimiser)
        tensors["random.torch"] = torch.get_rng_state()
        if self.average.decay:
            tensors |= {state.AVERAGE + name: value for name, value in self.average.weights.items()}
        metadata = {"model_hash": self.model_hash, "progress": progress._asdict()}
        checkpoint.save(self.last, tensors, metadata)

    def note(self, progress: Progress, **record: Any) -> Progress:
        """Add one line to the journal; its new length becomes part of the progress."""
        size = journal.append(self.journal, {"update": progress.update, **record})
        return progress._replace(journal=size)

    def validated(self, progress: Progress, epoch: int, score: float, peaks_from: int) -> Progress:
        """Note a validation score, and save the weights if it is the best so far.

        peaks_from: after so many updates peaks count more, and scores of earlier weights do not compete.
        """
        rival = None if progress.best_update <= peaks_from < progress.update else progress.best
        # Nothing is greater than NaN: an undefined score must never become the best one.
        better = math.isfinite(score) and (rival is None or score > rival)
        progress = progress._replace(stale=progress.stale + 1)
        if better:
            progress = progress._replace(best=score, best_update=progress.update, stale=0)
        progress = self.note(progress, epoch=epoch, validation_nse=score)
        if better:
            state.save_weights(self.best, self.model, progress, self.model_hash)
        return progress

    def failed(
        self,
        step: Update,
        batch: Batch,
        importance: Importance,  # of the samples
        random: Tensor,  # torch's random state before the update
        place: Callable[[int, int], str],
        **settings: Any,
    ) -> TrainingError:
        """Save what `repeat_failure` needs and return the error to raise.

        settings: update, clip and without_gradient of the failed update. The optimiser's moments are not
        needed, for it never got to step.
        """
        tensors = {f"batch.{name}": value for name, value in batch._asdict().items()}
        tensors |= {"loss.weight": importance.weight, "random.torch": random} | state.weights_of(self.model)
        tensors |= {} if importance.high is None else {"loss.high": importance.high}
        metadata = {"model_hash": self.model_hash, "extra": importance.extra, **settings}
        checkpoint.save(self.failure, tensors, metadata)
        return TrainingError(
            f"Update {settings['update']} is not finite: the first bad number is in "
            f"{step.first_bad(batch, place)}. "
            f"Its weights and its batch are kept in {self.failure}. "
            "Lower training.learning_rate, set training.clip, or look at the data of these windows."
        )


def repeat_failure(path: Path, model: nn.Module, model_hash: str) -> Update:
    """Repeat a failed update from the `nan.safetensors` of a run, with a model of the same config.

    Call it under `torch.autograd.set_detect_anomaly(True)` to see the operation that failed first.
    """
    tensors, settings = checkpoint.load(path, expected=state.weights_of(model), model=model_hash)
    try:
        batch = Batch(*(tensors[f"batch.{name}"] for name in Batch._fields))
        clip, warm = settings["clip"], settings.get("without_gradient", 0)
        importance = Importance(tensors["loss.weight"], tensors.get("loss.high"), settings.get("extra", 0.0))
    except KeyError as error:
        raise CheckpointError(f"{path} holds no failed update. Give the nan.safetensors of a run.") from error
    state.put_weights(model, tensors)
    if "random.torch" in tensors:  # files of versions without dropout have none, and need none
        torch.set_rng_state(tensors["random.torch"])
    return one_update(model, SGD(model.parameters(), lr=0.0), batch, importance, 0.0, clip, warm)
