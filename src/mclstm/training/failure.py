"""An update that went to NaN: kept whole in one file, and done again from it."""

from pathlib import Path

import torch
from torch import Tensor, nn

from mclstm.data.windows import Batch
from mclstm.errors import CheckpointError
from mclstm.training import checkpoint, state
from mclstm.training.update import Update, one_update

__all__ = ["keep_failure", "repeat_failure"]


def keep_failure(
    path: Path,
    model: nn.Module,
    batch: Batch,
    weight: Tensor,  # (B, targets)
    *,
    random: Tensor,  # torch's random state before the update
    update: int,
    clip: float | None,
    without_gradient: int,
    model_hash: str,
) -> None:
    """Weights, batch, loss weights, random state; no moments, for the optimiser never got to step."""
    tensors = {f"batch.{name}": value for name, value in batch._asdict().items()}
    tensors |= {"loss.weight": weight, "random.torch": random}
    about = {"model_hash": model_hash, "update": update, "clip": clip, "without_gradient": without_gradient}
    checkpoint.save(path, tensors | state.weights_of(model), about)


def repeat_failure(path: Path, model: nn.Module, model_hash: str) -> Update:
    """Do the failing update again with a model of the same config; it fails again, now under your eyes.

    Call it under `torch.autograd.set_detect_anomaly(True)` to be shown the operation that failed first.
    """
    tensors, about = checkpoint.load(path, expected=state.weights_of(model), model=model_hash)
    try:
        batch = Batch(*(tensors[f"batch.{name}"] for name in Batch._fields))
        weight, clip, warm = tensors["loss.weight"], about["clip"], about.get("without_gradient", 0)
    except KeyError as error:
        raise CheckpointError(f"{path} holds no failed update. Give the nan.safetensors of a run.") from error
    state.put_weights(model, tensors)
    if "random.torch" in tensors:  # files from before dropout have none, and need none
        torch.set_rng_state(tensors["random.torch"])
    return one_update(model, torch.optim.SGD(model.parameters(), lr=0.0), batch, weight, 0.0, clip, warm)
