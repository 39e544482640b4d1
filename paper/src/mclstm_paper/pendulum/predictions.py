"""Predicted energies of a job: their scores, and the file that keeps them for the figures."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save

from mclstm.jobs.job import Result
from mclstm.training.atomic import write_bytes_atomic
from mclstm_paper.pendulum.motion import Floats
from mclstm_paper.pendulum.task import Series, errors

__all__ = ["load_predictions", "save_predictions", "scores"]

FILE = "predictions.safetensors"


def scores(predictions: Sequence[Floats], sets: Sequence[Series]) -> Result:
    """What is reported of every set: errors, and what the predicted total does that no pendulum's does.

    predictions: (N, 2) J for each set · rise: the largest increase of the total in one step · least: the
    lowest energy
    """
    return {
        "mse": errors(predictions, sets),
        "mse-noisy": errors(predictions, sets, noisy=True),
        "rise": [float(np.diff(one.sum(axis=1)).max()) for one in predictions],
        "least": [float(one.min()) for one in predictions],
    }


def save_predictions(folder: Path, energies: Sequence[Floats], **more: Floats) -> None:
    """Keep the predictions of every set, (N, 2) J each, and whatever else has a set as its first index."""
    content = {"energies": np.stack(energies)} | more
    single = {name: np.ascontiguousarray(values, dtype=np.float32) for name, values in content.items()}
    write_bytes_atomic(folder / FILE, save(single))


def load_predictions(folder: Path) -> dict[str, Floats]:
    """What a finished job kept, by name."""
    content: dict[str, Floats] = load_file(folder / FILE)
    return content
