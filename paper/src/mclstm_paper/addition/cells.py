"""What a trained MC-LSTM of the addition problem does with its cells, as the paper's appendix looks at it."""

import math
from pathlib import Path

import torch
from torch import Tensor

from mclstm.jobs.execution import Job, Result
from mclstm.nn.flows import Flows
from mclstm_paper.addition.cells_figure import marked_cells
from mclstm_paper.addition.models import recipe
from mclstm_paper.addition.task import addition
from mclstm_paper.baselines import Linear
from mclstm_paper.experiment import Drawing
from mclstm_paper.seeds.one_member import one_member
from mclstm_paper.seeds.recipes import MassConserving

__all__ = ["draw_cells"]


@torch.no_grad()
def draw_cells(job: Job, result: Result, folder: Path) -> Drawing:
    """The cells of a job's best member over one test sequence, and what the gates of the main two do.

    Best is the one with the lowest validation error.
    """
    errors = [math.inf if error is None else error for error in result["validation"]]
    member = errors.index(min(errors))
    parameters = job.parameters
    made = recipe(parameters["model"], parameters["protocol"])
    network = one_member(made, parameters["seeds"], member, folder, best=False)
    x, a, y = addition("test", "reference", protocol=parameters["protocol"], samples=1)
    flows = network.layer.flows(x, a)
    c, h = flows.c[0, :, 0], flows.h[0, :, 0]
    weights = output_weights(network)  # (K,)
    accumulator, trash = main_cells(c[-2], h[-1], weights)
    marked = (a[:, 0, 0] == 1).nonzero().flatten().tolist()
    title = (
        f"{parameters['model']}, seed {parameters['seeds'][member]}: target {float(y):.3f}, read of the "
        f"accumulator {float(weights[accumulator] * h[-1, accumulator]):.3f}"
    )
    figure = marked_cells(c.double().numpy(), marked, accumulator, trash, title)
    about = {"model": parameters["model"], "seed": parameters["seeds"][member]}
    return {"addition-cells": figure}, about | gates_read(flows, a, weights, accumulator, trash)


def gates_read(
    flows: Flows,
    a: Tensor,  # (T, 1, 1) the marker, 1 of what counts, 0 of the rest, -1 at the end
    weights: Tensor,  # (K,) of the output layer
    accumulator: int,
    trash: int,
) -> dict[str, float]:
    """What the gates of the two main cells do over one sequence, and what the output layer makes of them."""
    i, o, marker = flows.i[0, :, 0, 0], flows.o[0, :, 0], a[:, 0, 0]
    found = {
        "marked input into the accumulator": i[marker == 1, accumulator].mean(),
        "other input into the accumulator": i[marker == 0, accumulator].mean(),
        "output gate of the accumulator at the end": o[-1, accumulator],
        "output gate of the trash cell at the end": o[-1, trash],
        "weight of the accumulator in the output layer": weights[accumulator],
        "weight of the trash cell in the output layer": weights[trash],
        "output gates on the way, largest": o[:-1].amax(),
    }
    return {name: round(float(value), 4) for name, value in found.items()}


def output_weights(network: MassConserving) -> Tensor:
    """By what the output layer multiplies each cell's outflow, of a network with one member: (K,)."""
    head = network.head
    return head.W[0, 0] if isinstance(head, Linear) else torch.ones(network.layer.gates.hidden_size)


def main_cells(
    c: Tensor,  # (K,) before the last step
    h: Tensor,  # (K,) at the last step
    weights: Tensor,  # (K,) of the output layer
) -> tuple[int, int]:
    """The accumulator and the trash cell: of which most is read at the end, and the fullest of the others.

    A cell that the output layer does not look at cannot be the accumulator, however much leaves it.

    >>> c, h = torch.tensor([9.0, 1.0, 0.0]), torch.tensor([0.5, 0.4, 0.0])
    >>> main_cells(c, h, weights=torch.tensor([0.0, -1.0, 7.0]))
    (1, 0)
    """
    accumulator = int((weights * h).abs().argmax())
    return accumulator, int(c.index_fill(0, torch.tensor(accumulator), -1.0).argmax())
