"""Who is timed: our backends and their peers, on the same inputs and, if MC-LSTMs, with the same weights."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from mclstm.nn.gates import GateOptions
from mclstm.nn.layer import MCLSTM
from mclstm.ops.native.library import status
from mclstm_paper.bench.eager import EagerMCLSTM
from mclstm_paper.bench.lstms import PythonLSTM, torch_lstm
from mclstm_paper.bench.peer import neuralhydrology_cell
from mclstm_paper.bench.sizes import Sizes
from mclstm_paper.bench.unavailable import Unavailable

__all__ = ["CANDIDATES", "Candidate", "Problem", "built", "problem"]

SEED = 0


class Problem(NamedTuple):
    """One batch of sequences, the form of MC-LSTM that runs through it, and the gradient of the outflow."""

    sizes: Sizes
    options: GateOptions
    x: Tensor  # (T, B, M)
    a: Tensor  # (T, B, A)
    s: Tensor  # (B, S)
    every: Tensor  # (T, B, A + S), for those who know no static inputs
    dh: Tensor  # (T, B, K), at every step: from the last one alone, gradients would fade to denormal numbers


class Candidate(NamedTuple):
    """A module and how it is called: () -> (T, B, K)."""

    module: nn.Module
    outflow: Callable[[], Tensor]

    def forward(self) -> None:
        """The forward pass, as for a prediction: nothing is kept for gradients."""
        with torch.no_grad():
            self.outflow()

    def both(self, dh: Tensor) -> None:
        """Forward and backward, to the gradients of all parameters: dh (T, B, K)."""
        self.module.zero_grad(set_to_none=True)
        torch.autograd.backward(self.outflow(), dh)


def problem(sizes: Sizes, options: GateOptions) -> Problem:
    """Random inputs of these sizes, always the same."""
    source = torch.Generator().manual_seed(SEED)
    B, T, M, A, S, K = sizes
    x = torch.rand(T, B, M, generator=source)
    a, s = torch.randn(T, B, A, generator=source), torch.randn(B, S, generator=source)
    every = torch.cat([a, s.expand(T, B, S)], dim=-1)
    return Problem(sizes, options, x, a, s, every, torch.randn(T, B, K, generator=source))


def layer_of(given: Problem, backend: str) -> MCLSTM:
    """Our layer with the weights that every candidate gets."""
    torch.manual_seed(SEED)
    sizes = given.sizes
    options: GateOptions = {**given.options, "static_size": sizes.S}
    return MCLSTM(sizes.M, sizes.A, sizes.K, backend=backend, **options)


def ours(given: Problem, backend: str) -> Candidate:
    found = status()
    if backend == "native" and not found.available:  # the layer would fall back to `torch`
        raise Unavailable(str(found.reason))
    layer = layer_of(given, backend)
    return Candidate(layer, lambda: layer(given.x, given.a, static=given.s)[0])


def eager(given: Problem) -> Candidate:
    module = EagerMCLSTM(layer_of(given, "reference"))
    return Candidate(module, lambda: module(given.x, given.every)[0])


def neuralhydrology(given: Problem) -> Candidate:
    cell = neuralhydrology_cell(layer_of(given, "reference"))
    return Candidate(cell, lambda: cell(given.x, given.every)[0])


def lstm(given: Problem) -> Candidate:
    torch.manual_seed(SEED)
    z = torch.cat([given.x, given.every], dim=-1)
    module = torch_lstm(z.shape[-1], given.sizes.K)
    return Candidate(module, lambda: module(z)[0])


def python_lstm(given: Problem) -> Candidate:
    torch.manual_seed(SEED)
    z = torch.cat([given.x, given.every], dim=-1)
    module = PythonLSTM(z.shape[-1], given.sizes.K)
    return Candidate(module, lambda: module(z))


CANDIDATES: dict[str, Callable[[Problem], Candidate]] = {
    "mclstm-native": partial(ours, backend="native"),
    "mclstm-torch": partial(ours, backend="torch"),
    "mclstm-reference": partial(ours, backend="reference"),
    "mclstm-eager": eager,
    "neuralhydrology": neuralhydrology,
    "lstm": lstm,
    "lstm-python": python_lstm,
}


def built(names: tuple[str, ...], given: Problem, missing: dict[str, str]) -> dict[str, Candidate]:
    """The candidates that can run here; of the others, `missing` gets the reason."""
    found = {}
    for name in names:
        try:
            found[name] = CANDIDATES[name](given)
        except Unavailable as reason:
            missing[name] = str(reason)
    return found
