"""What a trained MC-LSTM of the addition problem does with its cells, as the paper's appendix looks at it."""

from pathlib import Path
from typing import Any

import torch

from mclstm.experiments.addition_models import recipe
from mclstm.experiments.experiment import Drawing
from mclstm.experiments.jobs import Job, Result
from mclstm.experiments.weights import one_member
from mclstm.report.marked import marked_cells
from mclstm.tasks.addition import addition

__all__ = ["draw_cells"]


@torch.no_grad()
def draw_cells(job: Job, result: Result, folder: Path) -> Drawing:
    """The cells of a job's best member over one test sequence, and what the gates of the main two do."""
    errors = [float("inf") if error is None else error for error in result["test"]["reference"]]
    member = errors.index(min(errors))
    parameters = job.parameters
    made = recipe(parameters["model"], parameters["protocol"])
    network = one_member(made, parameters["seeds"], member, folder, best=False)
    x, a, y = addition("test", "reference", protocol=parameters["protocol"], samples=1)
    flows = network.layer.flows(x, a)
    c, h = flows.c[0, :, 0], flows.h[0, :, 0]
    # What leaves at the end is the answer; of the others the fullest is where the rest went.
    accumulator = int(h[-1].argmax())
    trash = int(c[-2].index_fill(0, torch.tensor(accumulator), -1.0).argmax())
    marked = (a[:, 0, 0] == 1).nonzero().flatten().tolist()
    title = (
        f"{parameters['model']}, seed {parameters['seeds'][member]}: target {float(y):.3f}, outflow of the "
    )
    title += f"accumulator {float(h[-1, accumulator]):.3f}"
    figure = marked_cells(c.double().numpy(), marked, accumulator, trash, title)
    gates: dict[str, Any] = {
        "model": parameters["model"],
        "seed": parameters["seeds"][member],
        "marked input into the accumulator": round(float(flows.i[0, marked, 0, 0, accumulator].mean()), 4),
        "other input into the accumulator": round(
            float(flows.i[0, (a[:-1, 0, 0] == 0).nonzero().flatten(), 0, 0, accumulator].mean()), 4
        ),
        "output gate of the accumulator at the end": round(float(flows.o[0, -1, 0, accumulator]), 4),
        "output gate of the trash cell at the end": round(float(flows.o[0, -1, 0, trash]), 4),
        "output gates on the way, largest": round(float(flows.o[0, :-1, 0].amax()), 4),
    }
    return {"addition-cells": figure}, gates
