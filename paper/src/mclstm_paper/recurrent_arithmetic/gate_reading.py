"""What a trained MC-LSTM of recurrent arithmetic does, in sentences made from its gates."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mclstm.jobs.job import Job, Result
from mclstm.nn.mcfc import MultiplicativeMCFC
from mclstm_paper.arithmetic.subsets import subset_masks
from mclstm_paper.baselines import Linear
from mclstm_paper.recurrent_arithmetic.task import RecurrentArithmetic
from mclstm_paper.results import Row
from mclstm_paper.seed_rows import find, numbers
from mclstm_paper.seeds.networks import MassConserving

__all__ = ["Gates", "gates_of", "outdated", "reading", "sentences", "task_in_words", "worth_reading"]

SIGNS = {"addition": "+", "subtraction": "-", "multiplication": "*"}
NOTICED = 0.02  # smaller shares and factors are not mentioned


class Gates(NamedTuple):
    """The gates of one member, averaged over samples and over all steps but the last."""

    i: Tensor  # (M, K) the share of each input that goes to each cell
    o: Tensor  # (2, K) output gate before the last step, and at the last step
    R: Tensor  # (K, K) row = from
    head: Tensor  # (K,) factor of each cell in the prediction, or its exponent
    scale: Tensor | None = None  # () exp(α), the factor of a product; sums have none


def worth_reading(
    jobs: Sequence[Job], results: Mapping[str, Result], protocol: str
) -> tuple[Job, int, list[str]]:
    """The first member that solved its task: its job, its number there, and no sentence.

    If none did, the member with the lowest validation error and a sentence that says so.
    """
    every = [(job, member) for job in jobs for member in range(len(job.parameters["seeds"]))]
    for job, member in every:
        if results[job.name]["solved"][protocol][member]:
            return job, member, []
    errors = [numbers(results[job.name]["validation"])[member] for job, member in every]
    job, member = every[int(np.nanargmin(errors))] if np.isfinite(errors).any() else every[0]
    validation, test = (numbers(results[job.name][name])[member] for name in ("validation", "test"))
    unsolved = (
        f"None of {len(every)} seeds solved this task; read is the one with the lowest validation error, "
        f"{validation:.2g}, whose test error is {test:.2g}."
    )
    return job, member, [unsolved]


def outdated(name: str, reading: object, rows: Sequence[Row]) -> bool:
    """Whether rows contradict the reading of "model, operation" that no seed solved the task.

    They do if some seed solved it, or if they have more seeds than could be read: seeds that were trained on
    another machine have values here, but no weights.
    """
    if not isinstance(reading, Mapping) or reading["solved"]:
        return False
    model, operation = name.split(", ")
    row = find(rows, model, operation, "success")
    return row is not None and (row["value"] > 0 or row["n"] > reading["seeds"])


def reading(
    network: MassConserving, operation: str, seed: int, seeds: int, unsolved: Sequence[str]
) -> dict[str, Any]:
    """What the page shows of a member: its task, sentences about its cells, and its gates, rounded.

    seeds: the number of members it was chosen from. unsolved: a sentence, if none of them solved the task
    """
    gates = gates_of(network, operation, seed)
    return {
        "seed": seed,
        "seeds": seeds,
        "solved": not unsolved,
        "task": task_in_words(operation, seed),
        "sentences": [*unsolved, *sentences(gates, operation)],
        **rounded(gates),
    }


def rounded(gates: Gates) -> dict[str, Any]:
    """The gates as lists, with four decimals."""
    tensors = {name: value for name, value in gates._asdict().items() if value is not None}
    return {name: value.double().round(decimals=4).tolist() for name, value in tensors.items()}


@torch.no_grad()
def gates_of(network: MassConserving, operation: str, seed: int) -> Gates:
    """The gates of a network with one member, on validation sequences of its task."""
    x, a, _ = RecurrentArithmetic(operation, [seed]).evaluation("validation", samples=64)
    flows = network.layer.flows(x, a)
    i, R = (value[0, :-1].mean(dim=(0, 1)) for value in (flows.i, flows.R))
    o = torch.stack([flows.o[0, :-1].mean(dim=(0, 1)), flows.o[0, -1].mean(dim=0)])
    head = network.head
    if not isinstance(head, MultiplicativeMCFC):
        assert isinstance(head, Linear)
        return Gates(i, o, R, head.W[0, 0].detach())
    mcfc = head.mcfc
    assert mcfc.b_o is not None
    exponents = (mcfc.input_gate[0, :, 1:] * torch.sigmoid(mcfc.b_o[0, 1:])).sum(dim=-1)
    return Gates(i, o, R, exponents, torch.exp(head.alpha[0, 0]))


def task_in_words(operation: str, seed: int, inputs: int = 10) -> str:
    """The task as a formula of the inputs' sums over time, with inputs counted from 1.

    >>> task_in_words("subtraction", seed=0)
    '(x5 + x6) - (x6 + x7)'
    """
    sums = [
        " + ".join(f"x{k + 1}" for k in mask.nonzero().flatten().tolist())
        for mask in subset_masks(inputs, [seed])[0]
    ]
    return f" {SIGNS[operation]} ".join(f"({one})" for one in sums)


def sentences(gates: Gates, operation: str) -> list[str]:
    """One sentence per cell, and one about the output layer.

    >>> i, o = torch.tensor([[1.0, 0.0], [0.5, 0.5]]), torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> for line in sentences(Gates(i, o, torch.eye(2), torch.tensor([0.0, 2.0])), "addition"): print(line)
    Cell 0, trash: takes x1 + 0.50 x2; keeps its mass; open (1.00) on the way, closed (0.00) at the end.
    Cell 1, accumulator: takes 0.50 x2; keeps its mass; closed (0.00) on the way, open (1.00) at the end.
    The output layer multiplies cell 0 by 0.00 and cell 1 by 2.00.
    """
    lines = [
        f"Cell {k}, {role(gates.o[:, k], factor)}: takes {inputs(gates.i[:, k])}; {moves(gates.R[k], k)}; "
        f"{gate(gates.o[0, k])} on the way, {gate(gates.o[1, k])} at the end."
        for k, factor in enumerate(gates.head.tolist())
    ]
    return [*lines, output_layer(gates, operation)]


def output_layer(gates: Gates, operation: str) -> str:
    """The sentence about the output layer.

    >>> i_o_R = torch.eye(1), torch.ones(2, 1), torch.eye(1)
    >>> output_layer(Gates(*i_o_R, torch.tensor([1.0]), torch.tensor(4.0)), "multiplication")
    'The output layer raises cell 0 to the power 1.00; the product is multiplied by exp(α) = 4.00.'
    """
    verb, how = ("raises", "to the power") if operation == "multiplication" else ("multiplies", "by")
    parts = [f"cell {k} {how} {factor:z.2f}" for k, factor in enumerate(gates.head.tolist())]
    scaled = "" if gates.scale is None else f"; the product is multiplied by exp(α) = {gates.scale:.2f}"
    return f"The output layer {verb} {listed(parts)}{scaled}."


def role(o: Tensor, factor: float) -> str:
    """The role of a cell, by its output gate (2,) before and at the last step and by its factor there.

    >>> role(torch.tensor([0.0, 1.0]), factor=1.0), role(torch.tensor([0.0, 1.0]), factor=0.0)
    ('accumulator', 'trash')
    """
    before, last = (value > 0.5 for value in o.tolist())
    if last and abs(factor) < NOTICED:
        return "trash"
    return {(True, False): "trash", (False, True): "accumulator", (True, True): "passage"}.get(
        (before, last), "store"
    )


def inputs(shares: Tensor) -> str:
    """A sum in words: shares (M,) of the inputs, near 1 without a factor."""
    terms = [
        f"x{k + 1}" if share > 1 - NOTICED else f"{share:.2f} x{k + 1}"
        for k, share in enumerate(shares.tolist())
        if share > NOTICED
    ]
    return " + ".join(terms) or "nothing"


def moves(row: Tensor, cell: int) -> str:
    """Where the mass of a cell goes: its row (K,) of R."""
    handed = [
        f"{share:.2f} to cell {j}" for j, share in enumerate(row.tolist()) if j != cell and share > NOTICED
    ]
    return f"hands on {listed(handed)}" if handed else "keeps its mass"


def gate(value: Tensor) -> str:
    opened = float(value)
    word = "open" if opened > 0.9 else "closed" if opened < 0.1 else "partly open"
    return f"{word} ({opened:.2f})"


def listed(parts: Sequence[str]) -> str:
    """Commas and an and.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
