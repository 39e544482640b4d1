"""MC-LSTMs that learn the energies of pendulums: one for each data set, trained together by the kernel.

The two cells hold kinetic and potential energy. A hypernetwork redistributes between them; no mass comes in.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from mclstm.errors import Interrupted
from mclstm.jobs.monitor import JobMonitor
from mclstm.ops.autoregression import Autoregression, grouped
from mclstm.ops.dispatch import autoregress
from mclstm.ops.hypernetwork import perceptron, state_features
from mclstm.ops.normalise import normalise
from mclstm_paper.kernels import descent
from mclstm_paper.kernels.descent import PredictingLSTM, Progress
from mclstm_paper.pendulum.inputs import scaling
from mclstm_paper.pendulum.motion import POINTS, Floats
from mclstm_paper.pendulum.settings import Recipe
from mclstm_paper.pendulum.starts import CELLS, hypernetwork_start, outlet_start
from mclstm_paper.pendulum.task import Series

__all__ = ["FIRST_SEED", "Forecast", "forecasts", "trained"]

PORTION = 50  # updates between two looks at a signal
FIRST_SEED = 111  # the published one


class Forecast(NamedTuple):
    """What a model predicts of a set, and how far its curriculum came."""

    energies: Floats  # (N, 2) J
    transfers: Floats  # (N - 1, 2) share of the potential energy that becomes kinetic, and the reverse
    window: int  # steps it learned from at the end


def forecasts(
    sets: Sequence[Series],
    recipe: Recipe,
    aux: Tensor,  # (S, N, A)
    updates: int,
    monitor: JobMonitor,
    *,
    numbers: Sequence[int],  # of the sets: they decide the starts
    closed: Sequence[bool],  # whether the model of a set has no outlet
) -> list[Forecast]:
    """The forecast of every set, in their order; models with and without an outlet are trained apart."""
    by_set: dict[int, Forecast] = {}
    groups = sorted(set(closed))
    for part, without in enumerate(groups):
        chosen = [at for at, is_closed in enumerate(closed) if is_closed is without]
        group, starts = [sets[at] for at in chosen], [numbers[at] for at in chosen]
        watched = monitor.part(part, len(groups))
        of_group = group_forecasts(group, recipe, aux[chosen], updates, watched, starts, without)
        by_set |= dict(zip(chosen, of_group, strict=True))
    return [by_set[at] for at in range(len(sets))]


def group_forecasts(
    sets: Sequence[Series],
    recipe: Recipe,
    aux: Tensor,  # (S, N, A)
    updates: int,
    monitor: JobMonitor,
    numbers: Sequence[int],
    closed: bool,
) -> list[Forecast]:
    """Train `restarts` members for each set; the one with the lowest error on the training part predicts."""
    scale = scaling(sets, recipe.separate_scales)
    values = torch.from_numpy(scale.values(np.stack([one.observed for one in sets]))).float()  # (S, N, 2)
    members = [at for at in range(len(sets)) for _ in range(recipe.restarts)]
    seeds = [FIRST_SEED + number + 10_000 * r for number in numbers for r in range(recipe.restarts)]
    steps = torch.tensor([sets[at].setting.steps for at in members])
    start = problem_of(recipe, values[members], aux[members], seeds, closed)
    progress = trained(start, values[members], steps, recipe, updates, monitor)
    problem = with_best(start, progress)
    c = autoregress(problem)[1]  # (E, N, 1, K)
    slope, intercept = recipe.offset
    predicted = torch.cat([c[:, :1], slope * c[:, 1:] + intercept], dim=1).squeeze(2)
    best = best_members(predicted, values[members], steps, recipe.restarts)
    moved = transfers(problem, c)
    energies = scale.energies(predicted[best].double().numpy())
    return [
        Forecast(energies[at], moved[member].double().numpy(), int(progress.window[member]))
        for at, member in enumerate(best)
    ]


def problem_of(
    recipe: Recipe,
    values: Tensor,  # (E, N, 2)
    aux: Tensor,  # (E, N, A)
    seeds: Sequence[int],
    closed: bool,
) -> Autoregression:
    """Members before training, over the whole series."""
    inputs = aux.shape[-1] + len(recipe.sight.scale)
    W_o, b_o = (None, None) if closed else outlet_start(recipe, seeds)
    return Autoregression(
        c0=values[:, :1].clamp(min=0.0),
        a=aux[:, :-1].unsqueeze(2),
        layers=hypernetwork_start(recipe, inputs, seeds),
        W_o=W_o,
        b_o=b_o,
        activation="relu",
        sight=recipe.sight,
        norm="softmax",
        steps=torch.full((len(seeds),), POINTS - 1),
    )


def trained(
    model: Autoregression | PredictingLSTM,  # its weights are changed in place
    values: Tensor,  # (E, N, 2)
    steps: Tensor,  # (E,) points of the training parts
    recipe: Recipe,
    updates: int,
    monitor: JobMonitor,
) -> Progress:
    """Train members on their training parts, with the window and the loss of the paper."""
    targets = values[:, : int(steps.max())].contiguous()
    slope, intercept = recipe.offset
    plan = descent.Recipe(recipe.weight_decay, recipe.clip, slope=slope, intercept=intercept)
    rates = torch.tensor(recipe.rates(updates), dtype=torch.float64)
    progress = descent.begin(model, steps, keep_best=recipe.keep_best)
    for first in range(0, updates, PORTION):
        if (signum := monitor.stopped()) is not None:
            raise Interrupted(signum, "Stopped; these sets begin again.")
        descent.descend(model, targets, progress, plan, first, rates[first : first + PORTION])
        monitor.show(min(first + PORTION, updates), updates)
    return progress


def with_best(problem: Autoregression, progress: Progress) -> Autoregression:
    """The members with the weights that count: the best ones where they were kept, else the last."""
    if not progress.best:
        return problem
    layers, W_o, b_o = grouped(progress.best, len(problem.layers))
    return problem._replace(layers=layers, W_o=W_o, b_o=b_o)


def best_members(
    predicted: Tensor,  # (E, N, 2)
    values: Tensor,  # (E, N, 2)
    steps: Tensor,  # (E,)
    restarts: int,
) -> list[int]:
    """For each set the member with the lowest error on the training part; those of a set are neighbours."""
    inside = torch.arange(values.shape[1]) < steps.unsqueeze(1)
    squares = (predicted - values).square().mean(dim=-1)
    error = torch.where(inside, squares, 0.0).sum(dim=1) / steps
    lowest = error.view(-1, restarts).nan_to_num(nan=torch.inf).argmin(dim=1)
    return (torch.arange(len(lowest)) * restarts + lowest).tolist()


def transfers(problem: Autoregression, c: Tensor) -> Tensor:
    """What share of the potential energy becomes kinetic in each step, and the reverse: (E, N - 1, 2).

    c: (E, N, 1, K) as `autoregress` gives them
    """
    eye, before, moved = torch.eye(CELLS), None, []
    for a, cells in zip(problem.a.unbind(1), c[:, :-1].unbind(1), strict=True):
        seen, before = state_features(cells, before, problem.sight)
        logits = perceptron(torch.cat([a, seen], dim=-1), problem.layers, problem.activation)
        R = normalise(logits.view(*logits.shape[:-1], CELLS, CELLS), problem.norm, eye)
        moved.append(torch.stack([R[:, 0, 1, 0], R[:, 0, 0, 1]], dim=-1))
    return torch.stack(moved, dim=1)
