"""What a trained MC-LSTM of the addition problem does with its cells, as in the paper's appendix."""

import math
from pathlib import Path

import torch
from matplotlib.figure import Figure
from torch import Tensor

from mclstm.jobs.job import Job, Result
from mclstm.nn.flows import Flows
from mclstm.report.site_series import Floats
from mclstm.report.style import COLOURS, legend_above, plot_style
from mclstm_paper.addition.models import recipe
from mclstm_paper.addition.task import addition
from mclstm_paper.baselines import Linear
from mclstm_paper.experiment import Drawing
from mclstm_paper.seeds.networks import MassConserving
from mclstm_paper.seeds.training_loop import one_member

__all__ = ["draw_cells"]


@torch.no_grad()
def draw_cells(job: Job, result: Result, folder: Path) -> Drawing:
    """The cells of a job's best member over one test sequence, and what the gates of the main two do.

    Best is the one with the lowest validation error.
    """
    errors = [math.inf if error is None else error for error in result["validation"]]
    member = errors.index(min(errors))
    parameters = job.parameters
    model_recipe = recipe(parameters["model"], parameters["protocol"])
    network = one_member(model_recipe, parameters["seeds"], member, folder, best=False)
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
    a: Tensor,  # (T, 1, 1) the marker: 1 for a summand, 0 otherwise, -1 at the end
    weights: Tensor,  # (K,) of the output layer
    accumulator: int,
    trash: int,
) -> dict[str, float]:
    """What the gates of the two main cells do over one sequence, and what the output layer makes of them."""
    i, o, marker = flows.i[0, :, 0, 0], flows.o[0, :, 0], a[:, 0, 0]
    readings = {
        "marked input into the accumulator": i[marker == 1, accumulator].mean(),
        "other input into the accumulator": i[marker == 0, accumulator].mean(),
        "output gate of the accumulator at the end": o[-1, accumulator],
        "output gate of the trash cell at the end": o[-1, trash],
        "weight of the accumulator in the output layer": weights[accumulator],
        "weight of the trash cell in the output layer": weights[trash],
        "output gates on the way, largest": o[:-1].amax(),
    }
    return {name: round(float(value), 4) for name, value in readings.items()}


def output_weights(network: MassConserving) -> Tensor:
    """The factor of each cell's outflow in the output layer of a network with one member: (K,)."""
    head = network.head
    return head.W[0, 0] if isinstance(head, Linear) else torch.ones(network.layer.gates.hidden_size)


def main_cells(
    c: Tensor,  # (K,) before the last step
    h: Tensor,  # (K,) at the last step
    weights: Tensor,  # (K,) of the output layer
) -> tuple[int, int]:
    """The accumulator, which gives most of the output at the end, and the trash cell, the fullest other one.

    A cell with the weight 0 in the output layer is not the accumulator, however much mass leaves it.

    >>> c, h = torch.tensor([9.0, 1.0, 0.0]), torch.tensor([0.5, 0.4, 0.0])
    >>> main_cells(c, h, weights=torch.tensor([0.0, -1.0, 7.0]))
    (1, 0)
    """
    accumulator = int((weights * h).abs().argmax())
    return accumulator, int(c.index_fill(0, torch.tensor(accumulator), -1.0).argmax())


def marked_cells(c: Floats, marked: list[int], accumulator: int, trash: int, title: str) -> Figure:
    """Every cell of c (T + 1, K) over time; the accumulator orange, the trash cell blue, the others grey."""
    with plot_style():
        figure = Figure(figsize=(7.0, 3.2), layout="constrained")
        axis = figure.subplots()
        others = [k for k in range(c.shape[1]) if k not in (accumulator, trash)]
        for at, k in enumerate(others):
            axis.plot(c[:, k], color="#BBBBBB", linewidth=0.9, label=None if at else "other cells")
        axis.plot(c[:, trash], color=COLOURS["inflow"], linewidth=1.4, label=f"trash cell ({trash})")
        axis.plot(
            c[:, accumulator], color=COLOURS["simulated"], linewidth=1.6, label=f"accumulator ({accumulator})"
        )
        for at, step in enumerate(marked):
            axis.axvline(
                step + 1,
                color=COLOURS["guide"],
                linewidth=0.8,
                linestyle=":",
                label=None if at else "marked step",
            )
        axis.set(xlabel="step", ylabel="mass in the cell", xlim=(0, len(c) - 1), ylim=(0, None))
        figure.suptitle(title, x=0.01, ha="left")
        legend_above(axis)
    return figure
