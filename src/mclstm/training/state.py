"""Everything a run is at one instant, as the tensors and the dictionary of a checkpoint, and back."""

from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from mclstm.errors import CheckpointError
from mclstm.training import checkpoint
from mclstm.training.average import Average

__all__ = ["Progress", "load_weights", "named", "read_progress", "restore", "save", "save_weights"]

WEIGHTS, AVERAGE = "weights.", "average."


class Progress(NamedTuple):
    """How far a run has come."""

    update: int = 0
    best: float | None = None  # the best validation score so far
    stale: int = 0  # validations since then
    journal: int = 0  # bytes of the journal at this instant
    finished: bool = False


def save(
    path: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    progress: Progress,
    model_hash: str,
    average: Average,
) -> None:
    """One file: weights, their average if one is taken, moments of the optimiser, random state, position."""
    tensors = weights_of(model) | moments_of(model, optimiser) | {"random.torch": torch.get_rng_state()}
    if average.decay:
        tensors |= {AVERAGE + name: value for name, value in average.weights.items()}
    checkpoint.save(path, tensors, {"model_hash": model_hash, "progress": progress._asdict()})


def restore(
    path: Path, model: nn.Module, optimiser: torch.optim.Optimizer, model_hash: str, average: Average
) -> Progress:
    """Put a run back to where the checkpoint was made; refuses the checkpoint of another model."""
    expected = weights_of(model) | {"random.torch": torch.get_rng_state()}
    tensors, metadata = checkpoint.load(path, expected=expected, model=model_hash)
    progress = progress_of(path, metadata)
    put_weights(model, tensors)
    put_moments(path, model, optimiser, tensors)
    average.restart(kept_average(path, model, tensors))
    torch.set_rng_state(tensors["random.torch"])
    return progress


def load_weights(path: Path, model: nn.Module, model_hash: str) -> Progress:
    """Only the weights of a checkpoint, or the average it holds of them, for evaluation and prediction."""
    tensors, metadata = checkpoint.load(path, expected=weights_of(model), model=model_hash)
    progress = progress_of(path, metadata)
    averaged = {WEIGHTS + name: value for name, value in kept_average(path, model, tensors).items()}
    put_weights(model, tensors | averaged)
    return progress


def save_weights(path: Path, model: nn.Module, progress: Progress, model_hash: str) -> None:
    """Only what prediction needs: a checkpoint that `load_weights` reads and no training can go on from."""
    checkpoint.save(path, weights_of(model), {"model_hash": model_hash, "progress": progress._asdict()})


def read_progress(path: Path) -> Progress:
    """How far the run of a checkpoint has come, whatever its model is."""
    return progress_of(path, checkpoint.load(path)[1])


def progress_of(path: Path, metadata: dict[str, Any]) -> Progress:
    try:
        return Progress(**metadata["progress"])
    except (KeyError, TypeError) as error:
        raise CheckpointError(
            f"{path} does not say how far its run has come. Give a file from the checkpoints folder of a run."
        ) from error


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    return {WEIGHTS + name: value for name, value in model.state_dict().items()}


def put_weights(model: nn.Module, tensors: dict[str, Tensor]) -> None:
    model.load_state_dict(named(tensors, WEIGHTS))


def named(tensors: dict[str, Tensor], group: str) -> dict[str, Tensor]:
    """The tensors of a group, by their names without it."""
    return {name.removeprefix(group): value for name, value in tensors.items() if name.startswith(group)}


def kept_average(path: Path, model: nn.Module, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The average of the weights in a checkpoint by names of parameters, nothing if it holds none."""
    found = named(tensors, AVERAGE)
    shapes = {name: value.shape for name, value in model.named_parameters()}
    if found and {name: value.shape for name, value in found.items()} != shapes:
        raise CheckpointError(f"{path} has an average of other weights than the model's. Use another one.")
    return found


def moments_of(model: nn.Module, optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    return {
        f"optimiser.{name}.{key}": torch.as_tensor(value)
        for name, parameter in model.named_parameters()
        for key, value in optimiser.state.get(parameter, {}).items()
    }


def put_moments(
    path: Path, model: nn.Module, optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]
) -> None:
    """The moments of a checkpoint's tensors into an optimiser; `path` is named if they do not fit."""
    for name, parameter in model.named_parameters():
        moments = {
            key.rsplit(".", 1)[1]: value.clone()
            for key, value in tensors.items()
            if key.rsplit(".", 1)[0] == f"optimiser.{name}"
        }
        if any(value.dim() and value.shape != parameter.shape for value in moments.values()):
            raise CheckpointError(f"{path} has moments that do not fit {name!r}. Use another checkpoint.")
        if moments:
            optimiser.state[parameter] = moments
