"""The autoregressive LSTM, one for each data set: it sees its last prediction and predicts from its cells."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from mclstm.jobs.monitor import JobMonitor
from mclstm_paper.kernels import descent
from mclstm_paper.kernels.descent import PredictingLSTM
from mclstm_paper.kernels.descent_in_torch import predicted
from mclstm_paper.pendulum.inputs import scaling
from mclstm_paper.pendulum.mass_training import FIRST_SEED, trained
from mclstm_paper.pendulum.motion import POINTS, Floats
from mclstm_paper.pendulum.settings import LSTM_CELLS, Recipe
from mclstm_paper.pendulum.starts import CELLS, lstm_start
from mclstm_paper.pendulum.task import Series

__all__ = ["lstm_energies"]


def lstm_energies(
    sets: Sequence[Series],
    recipe: Recipe,
    aux: Tensor,  # (S, N, A)
    updates: int,
    monitor: JobMonitor,
    *,
    numbers: Sequence[int],  # of the sets: they decide the starts
    cells: int = LSTM_CELLS,
) -> tuple[list[Floats], list[int]]:
    """The predicted energies of every set, (N, 2) J each, and the window each learned from at the end.

    Set by set: the weights of one member fit into the cache, those of all do not.
    """
    scale = scaling(sets, recipe.separate_scales)
    values = torch.from_numpy(scale.values(np.stack([one.observed for one in sets]))).float()  # (S, N, 2)
    predictions, windows = [], []
    for at, one in enumerate(sets):
        weights = lstm_start(CELLS + aux.shape[-1], cells, [FIRST_SEED + numbers[at]])
        model = PredictingLSTM(values[at : at + 1, 0], aux[at : at + 1], *weights)
        steps = torch.tensor([one.setting.steps])
        progress = trained(model, values[at : at + 1], steps, recipe, updates, monitor.part(at, len(sets)))
        predictions.append(roll_out(model))
        windows.append(int(progress.window))
    energies = scale.energies(torch.stack(predictions).double().numpy())
    return list(energies), windows


@torch.no_grad()
def roll_out(model: PredictingLSTM) -> Tensor:
    """Predictions of one member from the first energies on, each from the one before: (N, 2)."""
    after = predicted(model._replace(a=model.a[:, :-1]), torch.tensor([POINTS]), descent.Recipe())
    return torch.cat([model.start, after[0]])
