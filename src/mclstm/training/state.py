"""The state of a run at one instant: weights, the optimiser's moments, the progress."""

from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from mclstm.errors import CheckpointError
from mclstm.training import checkpoint

__all__ = ["Progress", "load_weights", "read_progress", "save_weights", "tensors_in"]

WEIGHTS, AVERAGE = "weights.", "average."


class Progress(NamedTuple):
    """How far a run has come."""

    update: int = 0
    best: float | None = None  # the best validation score so far
    best_update: int = 0  # the update it belongs to
    stale: int = 0  # validations since then
    journal: int = 0  # bytes of the journal at this instant
    finished: bool = False


def load_weights(path: Path, model: nn.Module, model_hash: str) -> Progress:
    """Load only the weights of a checkpoint, or their average if it has one, to evaluate or predict."""
    tensors, metadata = checkpoint.load(path, expected=weights_of(model), model=model_hash)
    progress = progress_in(path, metadata)
    averaged = {WEIGHTS + name: value for name, value in average_in(path, model, tensors).items()}
    put_weights(model, tensors | averaged)
    return progress


def save_weights(path: Path, model: nn.Module, progress: Progress, model_hash: str) -> None:
    """Save only what prediction needs: `load_weights` reads the file, training cannot resume from it."""
    checkpoint.save(path, weights_of(model), {"model_hash": model_hash, "progress": progress._asdict()})


def read_progress(path: Path) -> Progress:
    """How far the run of a checkpoint has come, whatever its model is."""
    return progress_in(path, checkpoint.load(path)[1])


def progress_in(path: Path, metadata: dict[str, Any]) -> Progress:
    try:
        return Progress(**metadata["progress"])
    except (KeyError, TypeError) as error:
        raise CheckpointError(
            f"{path} does not say how far its run has come. Give a file from the checkpoints folder of a run."
        ) from error


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    return {WEIGHTS + name: value for name, value in model.state_dict().items()}


def put_weights(model: nn.Module, tensors: dict[str, Tensor]) -> None:
    model.load_state_dict(tensors_in(tensors, WEIGHTS))


def tensors_in(tensors: dict[str, Tensor], group: str) -> dict[str, Tensor]:
    """The tensors whose names begin with `group`, by the rest of their names."""
    return {name.removeprefix(group): value for name, value in tensors.items() if name.startswith(group)}


def average_in(path: Path, model: nn.Module, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The average of the weights in a checkpoint by names of parameters; empty if there is none."""
    average = tensors_in(tensors, AVERAGE)
    shapes = {name: value.shape for name, value in model.named_parameters()}
    if average and {name: value.shape for name, value in average.items()} != shapes:
        raise CheckpointError(f"{path} has an average of other weights than the model's. Use another one.")
    return average


def moments_of(model: nn.Module, optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    return {
        f"optimiser.{name}.{key}": torch.as_tensor(value)
        for name, parameter in model.named_parameters()
        for key, value in optimiser.state.get(parameter, {}).items()
    }


def put_moments(
    path: Path, model: nn.Module, optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]
) -> None:
    """Put the moments among a checkpoint's tensors into an optimiser; an error names `path`."""
    for name, parameter in model.named_parameters():
        moments = {
            key.rsplit(".", 1)[1]: value.to(_place(key, parameter), copy=True)
            for key, value in tensors.items()
            if key.rsplit(".", 1)[0] == f"optimiser.{name}"
        }
        if any(value.dim() and value.shape != parameter.shape for value in moments.values()):
            raise CheckpointError(f"{path} has moments that do not fit {name!r}. Use another checkpoint.")
        if moments:
            optimiser.state[parameter] = moments


def _place(key: str, parameter: Tensor) -> torch.device:
    """Where Adam keeps a moment: with its parameter, but its count of steps on the CPU."""
    return torch.device("cpu") if key.endswith(".step") else parameter.device
